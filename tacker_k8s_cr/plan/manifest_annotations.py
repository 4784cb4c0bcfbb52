"""What the manifests of an instance say on its objects."""

from __future__ import annotations

from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import waves
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.inventory import Phase
from tacker_k8s_cr.plan.order import Order


def order(inventory: Inventory) -> Order:
    """In which order the objects came, and go the other way round."""
    return waves.recorded(manifests(inventory))


def manifests(inventory: Inventory) -> dict[ObjectRef, Manifest]:
    """The manifests of an instance, by live object."""
    return {_live(inventory, m): m for m in _all(inventory)}


def prune_annotations(
    inventory: Inventory, policy: Policy
) -> dict[ObjectRef, bool]:
    """Return the annotations on pruning, by live object.

    Annotations of the former manifests take precedence over the policy.
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


def supported_operations(
    inventory: Inventory,
) -> tuple[ObjectRef, frozenset[str]] | None:
    """Return the operations that the package supports, and where it does so.

    None for all. An existing instance can always be terminated. After a change
    that ended early the former package determines them.
    """
    changing = inventory.phase is Phase.CHANGING and inventory.previous_package
    for manifest in (changing or inventory).manifests:
        if said := objects.annotation(manifest, OPERATIONS):
            names = frozenset(name.strip() for name in said.split(","))
            always = {"instantiate", "terminate"}
            return _live(inventory, manifest), names | always
    return None


def require_supported(inventory: Inventory, operation: str) -> None:
    """Raise NotSupported for an operation that the author excluded."""
    found = supported_operations(inventory)
    if found and operation not in found[1]:
        ref, names = found
        raise errors.NotSupported(
            operation, inventory.instance, sorted(names), ref
        )


def _live(inventory: Inventory, manifest: Manifest) -> ObjectRef:
    """The object of a manifest, by the name that it has in the cluster."""
    ref = ObjectRef.of(manifest)
    name = inventory.live_names.get(ref)
    return ref if name is None else ref._replace(name=name)


def _all(inventory: Inventory) -> tuple[Manifest, ...]:
    """Those of the instance, and of the running change those before it."""
    changing = inventory.phase is Phase.CHANGING and inventory.previous_package
    former = changing.manifests if changing else ()
    return (*former, *inventory.manifests)
