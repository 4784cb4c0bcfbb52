"""Members that the record tells of, and what a heal of them has yet to do."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr import objects
from tacker_k8s_cr.healing import members
from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.inventory import Healing
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef


def recorded(inventory: Inventory) -> dict[str, Goer]:
    """Members that the record tells of, by UID, whether they are there or not.

    Those of the last heal, and those that the instance owns directly: no
    controller makes these again when they vanish, but a heal does.
    """
    package = held(inventory)
    owned = (
        Goer(ref, uid, ref)
        for ref, uid in inventory.owned.items()
        if ref.group_kind in members.NODES and ref in package
    )
    last = inventory.healing or Healing()
    return {goer.uid: goer for goer in (*last.goers, *owned)}


def direct(inventory: Inventory) -> tuple[Goer, ...]:
    """Of the last heal, what nobody but the instance makes again.

    What has been made again is not among them, nor what the package no
    longer holds.
    """
    package = held(inventory)
    last = inventory.healing or Healing()
    return tuple(
        goer
        for goer in last.goers
        if goer.ref == goer.owner
        and goer.ref in package
        and inventory.owned.get(goer.ref, goer.uid) == goer.uid
    )


def owed(
    inventory: Inventory, there: Mapping[str, Manifest]
) -> tuple[Goer, ...]:
    """What the last heal has deleted, and not made again.

    :param there: by UID the members that are there. One that was not asked
        to go is owed nothing.
    """
    return tuple(
        goer
        for goer in direct(inventory)
        if goer.uid not in there
        or objects.field(
            there[goer.uid], ("metadata", "deletionTimestamp"), None
        )
    )


def held(inventory: Inventory) -> set[ObjectRef]:
    """What the package of an instance holds, by the names in the cluster."""
    return {
        ref._replace(name=inventory.live_names.get(ref, ref.name))
        for ref in map(ObjectRef.of, inventory.manifests)
    }
