"""What an author meant by a kind that the server does not serve: pure."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import contextlib
import difflib

from tacker_k8s_cr.kinds.removed_versions import REMOVED
from tacker_k8s_cr.model.errors import ClusterError
from tacker_k8s_cr.model.errors import KindNotServed
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Resource

SHOWN = 3
"""Versions that are offered."""


def suggest(
    unknown: Sequence[KindNotServed],
    resources: Callable[[], Iterable[Resource]],
) -> None:
    """Add to each error what to write instead, as far as that is known.

    :param resources: asks the server for all that it serves; many requests,
        so only where the error itself does not name other versions.
    """
    for error in unknown:
        error.hint = removed(error.group_kind, error.version)
    open_ = [e for e in unknown if not e.hint and not e.served]
    if not open_:
        return
    # The reason is known: if the server fails now, there is no suggestion.
    with contextlib.suppress(ClusterError):
        served = tuple(resources())
        for error in open_:
            error.hint = elsewhere(error.group_kind, served)


def removed(group_kind: GroupKind, version: str) -> str:
    """Return since when a version is removed and what to use, or nothing."""
    return str(REMOVED.get((group_kind, version), ""))


def elsewhere(group_kind: GroupKind, served: Iterable[Resource]) -> str:
    """Return where the server has the kind, or one of a similar name."""
    kinds: dict[str, list[Resource]] = {}
    for resource in served:
        kinds.setdefault(resource.kind, []).append(resource)
    found = kinds.get(group_kind.kind, [])
    if found:
        names = sorted({resource.api_version for resource in found})
    else:
        names = _similar(group_kind, kinds)
    return f"did you mean {' or '.join(names[:SHOWN])}?" if names else ""


def _similar(
    group_kind: GroupKind, kinds: dict[str, list[Resource]]
) -> list[str]:
    """Return similar kinds; those of the same group come first."""
    lower = {kind.lower(): kind for kind in kinds}
    near = difflib.get_close_matches(
        group_kind.kind.lower(), lower, n=SHOWN, cutoff=0.8
    )
    found = [resource for name in near for resource in kinds[lower[name]]]
    same = [r for r in found if r.group == group_kind.group]
    return [f"{r.kind} of {r.api_version}" for r in same or found]
