"""Find the objects of an instance that need not be sent again."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr import objects
from tacker_k8s_cr import views
from tacker_k8s_cr.applying import living
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning import unchanged
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.planning.plan import Apply
from tacker_k8s_cr.planning.plan import Live
from tacker_k8s_cr.planning.unchanged import Unchanged

LOG = logging.getLogger(__name__)

Numbered = Callable[[Placed, Manifest], Placed]
"""Set in a manifest the replicas that its object has and keeps."""


def looked_at(
    cluster: Cluster,
    items: Iterable[Placed],
    before: Inventory,
    registry: Registry,
    numbered: Numbered,
) -> dict[ObjectRef, tuple[Placed, Live]]:
    """Read the objects that an instance owns, and compare them.

    Returns each manifest as it would be sent, with what is known of its
    object. Objects that are left out have to be read in another way: the
    inventory does not have them with that UID, or their label was removed.
    """
    owned = before.owned
    by_ref = {
        item.ref: item
        for item in items
        if item.ref in owned and item.ref not in before.taken
    }

    def judge(ref: ObjectRef, obj: Manifest) -> tuple[Placed, Live] | None:
        going = objects.field(obj, ("metadata", "deletionTimestamp"))
        if going or objects.uid(obj) != owned[ref]:
            return None
        item = numbered(by_ref[ref], obj)
        version = objects.field(obj, ("metadata", "resourceVersion"), "")
        same = _judged(item.manifest, obj, before.instance, registry)
        return item, Live(owned[ref], version, unchanged=same)

    manifests = {ref: item.manifest for ref, item in by_ref.items()}
    return living.of_instance(cluster, manifests, before.instance, judge)


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
    return living.of_instance(cluster, manifests, instance, judge)


def _judged(
    manifest: Manifest, obj: Manifest, instance: str, registry: Registry
) -> Unchanged | None:
    manager = objects.MANAGER + instance
    ref = ObjectRef.of(obj)
    if why := unchanged.difference(manifest, obj, manager):
        LOG.debug("%s: to be sent: %s", ref, why)
        return None
    seen = views.seen(
        obj,
        registry[ref.group_kind],
        views.UNSEEN,
        0.0,
        wanted=True,
        asked=registry.asked(ref),
    )
    return Unchanged(objects.generation(obj), seen)


def settled(
    items: Collection[Placed],
    live: Mapping[ObjectRef, Live],
    *,
    resend: bool,
) -> dict[ObjectRef, Live]:
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
    redefined = set(placing.defines(sent).values())
    return {
        ref: dataclasses.replace(found, unchanged=None)
        if resend or ref.group_kind in redefined
        else found
        for ref, found in live.items()
    }
