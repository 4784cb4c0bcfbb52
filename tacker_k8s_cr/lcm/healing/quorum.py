"""Check whether deleting a control plane Machine preserves the quorum."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable

from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.lcm.healing.members import ReplicaGroup
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

CONTROL_PLANE = "cluster.x-k8s.io/control-plane"
"""Label of Cluster API on the Machines of a control plane."""


def is_voter(member: Manifest) -> bool:
    """Return whether a member is a control plane Machine."""
    return CONTROL_PLANE in objects.labels(member)


def quorum_violation(
    uid: str,
    group: ReplicaGroup,
    registry: Registry,
    replaced: Collection[str] = (),
) -> str | None:
    """Return why a control plane would lose its quorum without this Machine.

    The remaining members have its data, and need a majority.

    :param replaced: UIDs of other members that will be replaced.
    """
    remaining = [
        member
        for member in group.members
        if objects.uid(member) != uid
        and is_voter(member)
        and members.is_active(member)
    ]
    if not remaining:
        return (
            "it is the only Machine of its control plane; deleting it would "
            "destroy the data of etcd"
        )
    current = sum(
        objects.uid(member) in replaced or members.is_current(registry, member)
        for member in remaining
    )
    if 2 * current > len(remaining):
        return None
    return (
        f"only {current} of the {len(remaining)} other Machine(s) of its "
        "control plane are current, and a majority is required"
    )


def deletion_blocked_reason(
    groups: Iterable[ReplicaGroup], uids: Collection[str], registry: Registry
) -> str | None:
    """Return why a control plane Machine must not be deleted now, or None.

    A rollout or another client may already be deleting another Machine, and
    the state of the others may have changed since the selection.

    :param uids: of the Machines; already deleted ones are ignored.
    """
    for group in groups:
        voters = [member for member in group.members if is_voter(member)]
        for member in voters:
            uid = objects.uid(member)
            if uid not in uids or not members.is_active(member):
                continue
            controller = ObjectRef.of(group.controller)
            if terminating := [m for m in voters if not members.is_active(m)]:
                deleted = ObjectRef.of(terminating[0])
                return f"{controller}: {deleted} is being deleted"
            wanted = members.desired_count(group.controller, registry)
            if wanted is not None and len(voters) != wanted:
                return (
                    f"{controller}: {len(voters)} of {wanted} Machine(s) exist"
                )
            if why := quorum_violation(uid, group, registry):
                return f"{ObjectRef.of(member)}: {why}"
    return None
