"""Whether a control plane can do without one of its machines."""

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
    """Whether a member is a machine of a control plane."""
    return CONTROL_PLANE in objects.labels(member)


def quorum_violation(
    uid: str,
    crew: ReplicaGroup,
    registry: Registry,
    mended: Collection[str] = (),
) -> str | None:
    """Return why a control plane would lose its quorum without this Machine.

    The remaining members keep its data, and have to agree by majority.

    :param mended: UIDs of other members that will be replaced.
    """
    others = [
        member
        for member in crew.members
        if objects.uid(member) != uid
        and is_voter(member)
        and members.is_active(member)
    ]
    if not others:
        return (
            "it is the only machine of its control plane, whose data would "
            "go with it"
        )
    current = sum(
        objects.uid(member) in mended or members.is_current(registry, member)
        for member in others
    )
    if 2 * current > len(others):
        return None
    return (
        f"only {current} of the {len(others)} other machine(s) of its "
        "control plane are current, and most of them have to be"
    )


def deletion_blocked_reason(
    crews: Iterable[ReplicaGroup], uids: Collection[str], registry: Registry
) -> str | None:
    """Return why a control plane Machine must not be deleted now, or None.

    A rollout or another client may already be deleting another Machine, and
    the state of the others may have changed since the selection.

    :param uids: of the Machines; deleted ones block no longer.
    """
    for crew in crews:
        voters = [member for member in crew.members if is_voter(member)]
        for member in voters:
            uid = objects.uid(member)
            if uid not in uids or not members.is_active(member):
                continue
            keeper = ObjectRef.of(crew.keeper)
            if going := [m for m in voters if not members.is_active(m)]:
                return f"{keeper}: {ObjectRef.of(going[0])} is going"
            wanted = members.desired_count(crew.keeper, registry)
            if wanted is not None and len(voters) != wanted:
                return f"{keeper}: {len(voters)} of {wanted} machine(s) there"
            if why := quorum_violation(uid, crew, registry):
                return f"{ObjectRef.of(member)}: {why}"
    return None
