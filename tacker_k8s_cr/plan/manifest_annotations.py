"""Annotations in the manifests of an instance."""

from __future__ import annotations

from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import waves
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.order import Order


def recorded_order(inventory: Inventory) -> Order:
    """Return the order of apply; deletion follows the reverse order."""
    return waves.recorded_order(manifests(inventory))


def manifests(inventory: Inventory) -> dict[ObjectRef, Manifest]:
    """Return the manifests of an instance by live object."""
    return {
        _live_ref(inventory, m): m
        for m in _manifests_before_and_after(inventory)
    }


def prune_annotations(
    inventory: Inventory, policy: Policy
) -> dict[ObjectRef, bool]:
    """Return the annotations on pruning, by live object.

    Annotations of the former manifests take precedence over the policy.
    """
    annotations = {
        ref: may
        for ref in inventory.owned
        if (may := policy.may_prune(ref)) is not None
    }
    for manifest in _manifests_before_and_after(inventory):
        ref = ObjectRef.of(manifest)
        live = _live_ref(inventory, manifest)
        annotation = objects.annotation(manifest, "prune")
        may = (
            policy.may_prune(ref)
            if annotation is None
            else annotation == "true"
        )
        if may is not None:
            annotations[live] = may
    return annotations


OPERATIONS = "operations"
"""Annotation of any manifest: the operations that the instance supports."""


def supported_operations(
    inventory: Inventory,
) -> tuple[ObjectRef, frozenset[str]] | None:
    """Return the annotated object and the operations that it allows.

    None for all. An existing instance can always be terminated. After a change
    that ended early the former package determines them.
    """
    changing = inventory.phase is Phase.CHANGING and inventory.previous_package
    for manifest in (changing or inventory).manifests:
        if annotations := objects.annotation(manifest, OPERATIONS):
            names = frozenset(name.strip() for name in annotations.split(","))
            always = {"instantiate", "terminate"}
            return _live_ref(inventory, manifest), names | always
    return None


def require_supported(inventory: Inventory, operation: str) -> None:
    """Raise NotSupported for an operation that the author excluded."""
    found = supported_operations(inventory)
    if found and operation not in found[1]:
        ref, names = found
        raise errors.NotSupported(
            operation, inventory.instance, sorted(names), ref
        )


def _live_ref(inventory: Inventory, manifest: Manifest) -> ObjectRef:
    """Return the object of a manifest with its name in the cluster."""
    ref = ObjectRef.of(manifest)
    name = inventory.live_names.get(ref)
    return ref if name is None else ref._replace(name=name)


def _manifests_before_and_after(inventory: Inventory) -> tuple[Manifest, ...]:
    """Return all manifests, during a change with those before it."""
    changing = inventory.phase is Phase.CHANGING and inventory.previous_package
    former = changing.manifests if changing else ()
    return (*former, *inventory.manifests)
