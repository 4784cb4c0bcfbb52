"""What the manifests of an instance say on its objects."""

from __future__ import annotations

from tacker_k8s_cr import objects
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import barriers
from tacker_k8s_cr.planning.order import Order
from tacker_k8s_cr.policy import Policy


def order(inventory: Inventory) -> Order:
    """In which order the objects came, and go the other way round."""
    return barriers.recorded(manifests(inventory))


def manifests(inventory: Inventory) -> dict[ObjectRef, Manifest]:
    """The manifests of an instance, by live object."""
    return {_live(inventory, m): m for m in _all(inventory)}


def asked_to_prune(
    inventory: Inventory, policy: Policy
) -> dict[ObjectRef, bool]:
    """What is said on pruning objects, by live object.

    What the manifests so far say on themselves goes before the policy.
    """
    said = {
        ref: may
        for ref in inventory.owned
        if (may := policy.may_prune(ref)) is not None
    }
    for manifest in _all(inventory):
        ref = ObjectRef.of(manifest)
        live = _live(inventory, manifest)
        own = objects.annotation(manifest, "prune")
        may = policy.may_prune(ref) if own is None else own == "true"
        if may is not None:
            said[live] = may
    return said


OPERATIONS = "operations"
"""Annotation of any manifest: what may be done with the instance."""


def supported(inventory: Inventory) -> tuple[ObjectRef, frozenset[str]] | None:
    """The operations that the package supports, and which object says so.

    None for all. An instance that came can always go. Of a change that
    ended early the package before it has the word.
    """
    changing = inventory.phase is Phase.CHANGING and inventory.before
    for manifest in (changing or inventory).manifests:
        if said := objects.annotation(manifest, OPERATIONS):
            names = frozenset(name.strip() for name in said.split(","))
            always = {"instantiate", "terminate"}
            return _live(inventory, manifest), names | always
    return None


def _live(inventory: Inventory, manifest: Manifest) -> ObjectRef:
    """The object of a manifest, by the name that it has in the cluster."""
    ref = ObjectRef.of(manifest)
    name = inventory.live_names.get(ref)
    return ref if name is None else ref._replace(name=name)


def _all(inventory: Inventory) -> tuple[Manifest, ...]:
    """Those of the instance, and of the running change those before it."""
    changing = inventory.phase is Phase.CHANGING and inventory.before
    former = changing.manifests if changing else ()
    return (*former, *inventory.manifests)
