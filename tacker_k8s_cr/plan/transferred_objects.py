"""The inventory of an instance that transfers objects to another one."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Transfer


def with_transferred_out(
    inventory: Inventory, refs: Iterable[ObjectRef], to: str
) -> Inventory:
    """Return the inventory after a transfer to another instance.

    Neither a repeated apply of the manifests nor a rollback of the last
    change recreates the objects here.
    """
    refs = frozenset(refs)
    previous = inventory.previous_package and _without_objects(
        inventory.previous_package, refs
    )
    return dataclasses.replace(
        _without_objects(inventory, refs),
        previous_package=previous,
        transferred_out={
            **inventory.transferred_out,
            **dict.fromkeys(refs, to),
        },
    )


def with_returned(
    inventory: Inventory, transfers: Mapping[ObjectRef, Transfer]
) -> Inventory:
    """Return the inventory with objects that another instance returns.

    A rollback of the last change must not treat them as created by it.
    """
    previous = inventory.previous_package and _with_transferred(
        inventory.previous_package, transfers
    )
    transferred_out = {
        r: to
        for r, to in inventory.transferred_out.items()
        if r not in transfers
    }
    return dataclasses.replace(
        _with_transferred(inventory, transfers),
        previous_package=previous,
        transferred_out=transferred_out,
    )


def _with_transferred(
    inventory: Inventory, transfers: Mapping[ObjectRef, Transfer]
) -> Inventory:
    manifests = (transfer.manifest for transfer in transfers.values())
    preexisting = {
        ref for ref, transfer in transfers.items() if transfer.preexisting
    }
    uids = {ref: transfer.uid for ref, transfer in transfers.items()}
    return dataclasses.replace(
        inventory,
        owned={**inventory.owned, **uids},
        manifests=(*inventory.manifests, *(m for m in manifests if m)),
        preexisting=inventory.preexisting | preexisting,
    )


def _without_objects(
    inventory: Inventory, refs: frozenset[ObjectRef]
) -> Inventory:
    names = {
        author: author._replace(name=name)
        for author, name in inventory.live_names.items()
    }

    def is_retained(ref: ObjectRef) -> bool:
        return names.get(ref, ref) not in refs

    return dataclasses.replace(
        inventory.without_owned(refs),
        manifests=tuple(
            m for m in inventory.manifests if is_retained(ObjectRef.of(m))
        ),
        live_names={
            r: n for r, n in inventory.live_names.items() if is_retained(r)
        },
        claim_rules=tuple(
            one
            for one in inventory.claim_rules
            if is_retained(one.stateful_set)
        ),
        replica_overrides={
            r: n
            for r, n in inventory.replica_overrides.items()
            if topology_replicas.cluster_ref(r) not in refs
        },
    )
