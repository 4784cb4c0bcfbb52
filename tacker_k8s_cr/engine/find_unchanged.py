"""Find the objects of an instance that need not be applied again."""

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
from tacker_k8s_cr.plan.steps import Apply
from tacker_k8s_cr.plan.steps import LiveObject
from tacker_k8s_cr.plan.unchanged import Unchanged

LOG = logging.getLogger(__name__)

WithReplicas = Callable[[PlacedManifest, Manifest], PlacedManifest]
"""Sets the live replica counts of its object in a manifest."""


def compare_live(
    cluster: Cluster,
    items: Iterable[PlacedManifest],
    before: Inventory,
    registry: Registry,
    with_replicas: WithReplicas,
) -> dict[ObjectRef, tuple[PlacedManifest, LiveObject]]:
    """Read the objects that an instance owns, and compare them.

    Returns each manifest as it would be sent, with the state of its object.
    Objects that are left out have to be read in another way: the inventory
    does not have them with that UID, or their label was removed.
    """
    owned = before.owned
    by_ref = {
        item.ref: item
        for item in items
        if item.ref in owned and item.ref not in before.transferred_in
    }

    def compare(
        ref: ObjectRef, obj: Manifest
    ) -> tuple[PlacedManifest, LiveObject] | None:
        terminating = objects.field(obj, ("metadata", "deletionTimestamp"))
        if terminating or objects.uid(obj) != owned[ref]:
            return None
        item = with_replicas(by_ref[ref], obj)
        version = objects.field(obj, ("metadata", "resourceVersion"), "")
        comparison = _compare(item.manifest, obj, before.instance, registry)
        return item, LiveObject(owned[ref], version, unchanged=comparison)

    manifests = {ref: item.manifest for ref, item in by_ref.items()}
    return bulk_read.read_instance_objects(
        cluster, manifests, before.instance, compare
    )


def compare_again(
    cluster: Cluster,
    steps: Collection[Apply],
    instance: str,
    registry: Registry,
) -> dict[ObjectRef, Unchanged]:
    """Read and compare the objects of some steps once more."""
    by_ref = {step.ref: step for step in steps}

    def compare(ref: ObjectRef, obj: Manifest) -> Unchanged | None:
        step = by_ref[ref]
        if objects.uid(obj) != step.uid:
            return None
        return _compare(step.manifest, obj, instance, registry)

    manifests = {ref: step.manifest for ref, step in by_ref.items()}
    return bulk_read.read_instance_objects(
        cluster, manifests, instance, compare
    )


def _compare(
    manifest: Manifest, obj: Manifest, instance: str, registry: Registry
) -> Unchanged | None:
    manager = objects.MANAGER + instance
    ref = ObjectRef.of(obj)
    if why := unchanged.difference(manifest, obj, manager):
        LOG.debug("%s: to be sent: %s", ref, why)
        return None
    observed = observation.observe(
        obj,
        registry[ref.group_kind],
        observation.UNSEEN,
        0.0,
        expected=True,
        override=registry.override_for(ref),
    )
    return Unchanged(objects.generation(obj), observed)


def select_unchanged(
    items: Collection[PlacedManifest],
    live: Mapping[ObjectRef, LiveObject],
    *,
    resend: bool,
) -> dict[ObjectRef, LiveObject]:
    """Return the live objects; those without ``unchanged`` are sent.

    An object whose definition is sent is sent as well: the definition may
    change the owner of a field, or its default.

    :param resend: send all of them.
    """
    sent = [
        item.manifest
        for item in items
        if resend or item.ref not in live or not live[item.ref].unchanged
    ]
    redefined = set(placement.kinds_by_crd(sent).values())
    return {
        ref: dataclasses.replace(live_object, unchanged=None)
        if resend or ref.group_kind in redefined
        else live_object
        for ref, live_object in live.items()
    }
