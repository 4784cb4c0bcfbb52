"""Objects that cannot be changed in place, and may be made again.

Only those that somebody named: what such an object held is lost.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import logging

from tacker_k8s_cr import objects
from tacker_k8s_cr.applying import trial
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.errors import Error
from tacker_k8s_cr.errors import Rejected
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning.placing import Placed

LOG = logging.getLogger(__name__)

ANNOTATION = "recreate"

_FIXED = frozenset(
    {
        placing.DEFINITION,
        GroupKind("apiregistration.k8s.io", "APIService"),
    }
)
"""Kinds whose objects cannot have any other name."""


def named(
    items: Sequence[Placed], asked: Collection[ObjectRef], registry: Registry
) -> frozenset[ObjectRef]:
    """Objects that may be made again, if there is no other way.

    Never a Cluster: what the package has beside it would go with it.
    """
    return frozenset(
        item.ref
        for item in items
        if not registry[item.ref.group_kind].alone
        and (
            item.ref in asked
            or objects.annotation(item.manifest, ANNOTATION) == "true"
        )
    )


def needed(
    cluster: Cluster,
    items: Sequence[Placed],
    instance: str,
    refusals: Mapping[ObjectRef, Error],
    allowed: Collection[ObjectRef],
) -> dict[ObjectRef, str]:
    """Which of those that are refused are to be made again: why.

    One that would be refused as a new object too is left as it is.
    """
    tried = [
        item
        for item in items
        if item.ref in allowed and isinstance(refusals.get(item.ref), Rejected)
    ]
    found = {}
    for item, refused in raised(
        cluster.each(lambda item: _refused(cluster, item, instance), tried)
    ):
        if refused is None:
            said = refusals[item.ref].sentence()
            found[item.ref] = said.removeprefix(f"{item.ref}: ")
        else:
            LOG.info("%s: cannot be made again: %s", item.ref, refused)
    return found


def _refused(cluster: Cluster, item: Placed, instance: str) -> Error | None:
    """Why the server would not have it as a new object, if it would not.

    It is asked about one of another name: its own is taken.
    """
    if item.ref.group_kind in _FIXED:
        return None
    checked = trial.dry_run(
        cluster,
        [_renamed(item)],
        instance,
        {},
        later=(),
        absent=(),
    )
    return next(iter(checked.refusals.values()), None)


def _renamed(item: Placed) -> Placed:
    digest = hashlib.sha256(str(item.ref).encode()).hexdigest()[:10]
    name = f"{item.ref.name[:40].rstrip('.-')}-{digest}"
    metadata = {**item.manifest["metadata"], "name": name}
    manifest: Manifest = {**item.manifest, "metadata": metadata}
    return dataclasses.replace(
        item, ref=ObjectRef.of(manifest), manifest=manifest
    )
