"""Objects that cannot be changed in place, and may be recreated.

Only objects that the request names: the data of such an object is lost.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import logging

from tacker_k8s_cr.engine import dry_run
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.errors import Rejected
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.placement import PlacedManifest

LOG = logging.getLogger(__name__)

ANNOTATION = "recreate"

_FIXED = frozenset(
    {
        placement.DEFINITION,
        GroupKind("apiregistration.k8s.io", "APIService"),
    }
)
"""Kinds whose objects cannot have any other name."""


def recreatable(
    items: Sequence[PlacedManifest],
    asked: Collection[ObjectRef],
    registry: Registry,
) -> frozenset[ObjectRef]:
    """Objects that may be made again, if there is no other way.

    Never a Cluster: what the package has beside it would go with it.
    """
    return frozenset(
        item.ref
        for item in items
        if not registry[item.ref.group_kind].delete_exclusively
        and (
            item.ref in asked
            or objects.annotation(item.manifest, ANNOTATION) == "true"
        )
    )


def recreate_reasons(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
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
    for item, refused in results_or_raise(
        cluster.map_parallel(
            lambda item: _refused(cluster, item, instance), tried
        )
    ):
        if refused is None:
            said = refusals[item.ref].sentence()
            found[item.ref] = said.removeprefix(f"{item.ref}: ")
        else:
            LOG.info("%s: cannot be made again: %s", item.ref, refused)
    return found


def _refused(
    cluster: Cluster, item: PlacedManifest, instance: str
) -> Error | None:
    """Why the server would not have it as a new object, if it would not.

    It is asked about one of another name: its own is taken.
    """
    if item.ref.group_kind in _FIXED:
        return None
    checked = dry_run.dry_run(cluster, [_renamed(item)], instance, {})
    return next(iter(checked.refusals.values()), None)


def _renamed(item: PlacedManifest) -> PlacedManifest:
    digest = hashlib.sha256(str(item.ref).encode()).hexdigest()[:10]
    name = f"{item.ref.name[:40].rstrip('.-')}-{digest}"
    metadata = {**item.manifest["metadata"], "name": name}
    manifest: Manifest = {**item.manifest, "metadata": metadata}
    return dataclasses.replace(
        item, ref=ObjectRef.of(manifest), manifest=manifest
    )
