"""Members in the record that a heal still has to recreate."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Healing
from tacker_k8s_cr.plan.journal import MemberRef


def recorded_members(inventory: Inventory) -> dict[str, MemberRef]:
    """Return the members in the record by UID, whether they exist or not.

    These are those of the last heal, and those that the instance owns
    directly: no controller recreates the latter, but a heal does.
    """
    package = package_refs(inventory)
    standalone = (
        MemberRef(ref, uid, ref)
        for ref, uid in inventory.owned.items()
        if ref.group_kind in members.NODES and ref in package
    )
    healing = inventory.healing or Healing()
    return {member.uid: member for member in (*healing.members, *standalone)}


def standalone_members(inventory: Inventory) -> tuple[MemberRef, ...]:
    """Return members of the last heal that only the instance recreates.

    Members that were recreated already and members that the package no longer
    contains are left out.
    """
    package = package_refs(inventory)
    healing = inventory.healing or Healing()
    return tuple(
        member
        for member in healing.members
        if member.ref == member.owner
        and member.ref in package
        and inventory.owned.get(member.ref, member.uid) == member.uid
    )


def members_to_recreate(
    inventory: Inventory, existing: Mapping[str, Manifest]
) -> tuple[MemberRef, ...]:
    """Return members that the last heal deleted and did not recreate.

    :param existing: by UID the existing members. Those whose deletion was not
        requested are left out.
    """
    return tuple(
        member
        for member in standalone_members(inventory)
        if member.uid not in existing
        or objects.field(
            existing[member.uid], ("metadata", "deletionTimestamp"), None
        )
    )


def package_refs(inventory: Inventory) -> set[ObjectRef]:
    """Return the objects of an instance's package, by live names."""
    return {
        ref._replace(name=inventory.live_names.get(ref, ref.name))
        for ref in map(ObjectRef.of, inventory.manifests)
    }
