"""Suggest what to use instead of a kind that is not served; pure."""

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
"""Maximum number of suggestions."""


def add_hints(
    unserved: Sequence[KindNotServed],
    resources: Callable[[], Iterable[Resource]],
) -> None:
    """Add to each error what to write instead, where that is known.

    :param resources: reads all kinds that the server serves; many requests, so
        only called where an error does not list other versions.
    """
    for error in unserved:
        error.hint = hint_removed(error.group_kind, error.version)
    without_hint = [e for e in unserved if not e.hint and not e.served]
    if not without_hint:
        return
    # The reason is known: if the server fails now, there is no suggestion.
    with contextlib.suppress(ClusterError):
        served = tuple(resources())
        for error in without_hint:
            error.hint = hint_served(error.group_kind, served)


def hint_removed(group_kind: GroupKind, version: str) -> str:
    """Return since when a version is removed and what to use, or nothing."""
    return str(REMOVED.get((group_kind, version), ""))


def hint_served(group_kind: GroupKind, served: Iterable[Resource]) -> str:
    """Return where the server has the kind, or one of a similar name."""
    kinds: dict[str, list[Resource]] = {}
    for resource in served:
        kinds.setdefault(resource.kind, []).append(resource)
    same_kind = kinds.get(group_kind.kind, [])
    if same_kind:
        names = sorted({resource.api_version for resource in same_kind})
    else:
        names = _similar_kinds(group_kind, kinds)
    return f"did you mean {' or '.join(names[:SHOWN])}?" if names else ""


def _similar_kinds(
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
