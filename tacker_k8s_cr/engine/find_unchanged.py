"""Find the objects of an instance that need not be sent again."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr.engine import bulk_read
from tacker_k8s_cr.kinds import observation
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import unchanged
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.placement import PlacedManifest
from tacker_k8s_cr.plan.plan import Apply
from tacker_k8s_cr.plan.plan import LiveObject
from tacker_k8s_cr.plan.unchanged import Unchanged

LOG = logging.getLogger(__name__)

Numbered = Callable[[PlacedManifest, Manifest], PlacedManifest]
"""Set in a manifest the replicas that its object has and keeps."""


def looked_at(
    cluster: Cluster,
    items: Iterable[PlacedManifest],
    before: Inventory,
    registry: Registry,
    numbered: Numbered,
) -> dict[ObjectRef, tuple[PlacedManifest, LiveObject]]:
    """Read the objects that an instance owns, and compare them.

    Returns each manifest as it would be sent, with what is known of its
    object. Objects that are left out have to be read in another way: the
    inventory does not have them with that UID, or their label was removed.
    """
    owned = before.owned
    by_ref = {
        item.ref: item
        for item in items
        if item.ref in owned and item.ref not in before.transferred_in
    }

    def judge(
        ref: ObjectRef, obj: Manifest
    ) -> tuple[PlacedManifest, LiveObject] | None:
        going = objects.field(obj, ("metadata", "deletionTimestamp"))
        if going or objects.uid(obj) != owned[ref]:
            return None
        item = numbered(by_ref[ref], obj)
        version = objects.field(obj, ("metadata", "resourceVersion"), "")
        same = _judged(item.manifest, obj, before.instance, registry)
        return item, LiveObject(owned[ref], version, unchanged=same)

    manifests = {ref: item.manifest for ref, item in by_ref.items()}
    return bulk_read.of_instance(cluster, manifests, before.instance, judge)


def again(
    cluster: Cluster,
    steps: Collection[Apply],
    instance: str,
    registry: Registry,
) -> dict[ObjectRef, Unchanged]:
    """Read and compare the objects of some steps once more."""
    by_ref = {step.ref: step for step in steps}

    def judge(ref: ObjectRef, obj: Manifest) -> Unchanged | None:
        step = by_ref[ref]
        if objects.uid(obj) != step.uid:
            return None
        return _judged(step.manifest, obj, instance, registry)

    manifests = {ref: step.manifest for ref, step in by_ref.items()}
    return bulk_read.of_instance(cluster, manifests, instance, judge)


def _judged(
    manifest: Manifest, obj: Manifest, instance: str, registry: Registry
) -> Unchanged | None:
    manager = objects.MANAGER + instance
    ref = ObjectRef.of(obj)
    if why := unchanged.difference(manifest, obj, manager):
        LOG.debug("%s: to be sent: %s", ref, why)
        return None
    seen = observation.observe(
        obj,
        registry[ref.group_kind],
        observation.UNSEEN,
        0.0,
        wanted=True,
        asked=registry.override_for(ref),
    )
    return Unchanged(objects.generation(obj), seen)


def settled(
    items: Collection[PlacedManifest],
    live: Mapping[ObjectRef, LiveObject],
    *,
    resend: bool,
) -> dict[ObjectRef, LiveObject]:
    """Decide what is not sent.

    An object whose definition is sent is sent as well: the definition may
    change the owner of a field, or its default.

    :param resend: send all.
    """
    sent = [
        item.manifest
        for item in items
        if resend or item.ref not in live or not live[item.ref].unchanged
    ]
    redefined = set(placement.kinds_by_crd(sent).values())
    return {
        ref: dataclasses.replace(found, unchanged=None)
        if resend or ref.group_kind in redefined
        else found
        for ref, found in live.items()
    }
