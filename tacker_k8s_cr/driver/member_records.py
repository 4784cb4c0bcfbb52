"""Pods and Machines as Tacker's database has them, for both APIs: pure."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping

from tacker_k8s_cr.lcm.healing import pending_members
from tacker_k8s_cr.lcm.healing.members import Member
from tacker_k8s_cr.plan.inventory import Inventory

Members = Mapping[str, Iterable[Member]]
"""Pods or Machines by VDU."""


def healable(found: Members, inventory: Inventory) -> frozenset[str]:
    """Return the UIDs of the members that a heal can select.

    These exist, or the record lists them: a heal that ended early deleted
    them, or only a heal recreates them. Others were already replaced by their
    controller.
    """
    live = {member.uid for members in found.values() for member in members}
    return frozenset(live | pending_members.recorded_members(inventory).keys())


def metadata(member: Member) -> dict[str, str]:
    """Return what a VNFC stores of its member beside the id."""
    values = {
        "kind": member.ref.kind,
        "namespace": member.ref.namespace,
        "uid": member.uid,
        "owner": member.owner.name,
        "node": member.node,
    }
    return {key: value for key, value in values.items() if value}
