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
"""Kinds whose objects cannot have another name."""


def select_recreatable(
    items: Sequence[PlacedManifest],
    requested: Collection[ObjectRef],
    registry: Registry,
) -> frozenset[ObjectRef]:
    """Return objects that may be recreated if they cannot be changed.

    Never a Cluster: its deletion would include other objects of the package.
    """
    return frozenset(
        item.ref
        for item in items
        if not registry[item.ref.group_kind].delete_exclusively
        and (
            item.ref in requested
            or objects.annotation(item.manifest, ANNOTATION) == "true"
        )
    )


def find_recreate_reasons(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    instance: str,
    refusals: Mapping[ObjectRef, Error],
    allowed: Collection[ObjectRef],
) -> dict[ObjectRef, str]:
    """Return the refused objects to recreate, each with the reason.

    One that would be refused as a new object too is not recreated.
    """
    candidates = [
        item
        for item in items
        if item.ref in allowed and isinstance(refusals.get(item.ref), Rejected)
    ]
    reasons = {}
    for item, refusal in results_or_raise(
        cluster.map_parallel(
            lambda item: _find_refusal(cluster, item, instance), candidates
        )
    ):
        if refusal is None:
            reason = refusals[item.ref].sentence()
            reasons[item.ref] = reason.removeprefix(f"{item.ref}: ")
        else:
            LOG.info("%s: cannot be recreated: %s", item.ref, refusal)
    return reasons


def _find_refusal(
    cluster: Cluster, item: PlacedManifest, instance: str
) -> Error | None:
    """Return why the server would refuse it as a new object, or None.

    The dry run uses another name: the object with its own name exists.
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
