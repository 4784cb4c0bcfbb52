"""Members in the record that a heal still has to recreate."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Healing
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.inventory import MemberRef


def recorded(inventory: Inventory) -> dict[str, MemberRef]:
    """Return the members in the record by UID, whether they exist or not.

    These are those of the last heal, and those that the instance owns
    directly: no controller recreates the latter, but a heal does.
    """
    package = package_refs(inventory)
    owned = (
        MemberRef(ref, uid, ref)
        for ref, uid in inventory.owned.items()
        if ref.group_kind in members.NODES and ref in package
    )
    last = inventory.healing or Healing()
    return {goer.uid: goer for goer in (*last.members, *owned)}


def standalone_members(inventory: Inventory) -> tuple[MemberRef, ...]:
    """Return members of the last heal that only the instance recreates.

    Members that were recreated already and members that the package no longer
    contains are left out.
    """
    package = package_refs(inventory)
    last = inventory.healing or Healing()
    return tuple(
        goer
        for goer in last.members
        if goer.ref == goer.owner
        and goer.ref in package
        and inventory.owned.get(goer.ref, goer.uid) == goer.uid
    )


def members_to_recreate(
    inventory: Inventory, there: Mapping[str, Manifest]
) -> tuple[MemberRef, ...]:
    """What the last heal has deleted, and not made again.

    :param there: by UID the members that are there. One that was not asked
        to go is owed nothing.
    """
    return tuple(
        goer
        for goer in standalone_members(inventory)
        if goer.uid not in there
        or objects.field(
            there[goer.uid], ("metadata", "deletionTimestamp"), None
        )
    )


def package_refs(inventory: Inventory) -> set[ObjectRef]:
    """What the package of an instance holds, by the names in the cluster."""
    return {
        ref._replace(name=inventory.live_names.get(ref, ref.name))
        for ref in map(ObjectRef.of, inventory.manifests)
    }
