"""Whether a control plane can do without one of its machines."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable

from tacker_k8s_cr import objects
from tacker_k8s_cr.healing import members
from tacker_k8s_cr.healing.members import Crew
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef

CONTROL_PLANE = "cluster.x-k8s.io/control-plane"
"""Label of Cluster API on the Machines of a control plane."""


def is_voter(member: Manifest) -> bool:
    """Whether a member is a machine of a control plane."""
    return CONTROL_PLANE in objects.labels(member)


def needed(
    uid: str, crew: Crew, registry: Registry, mended: Collection[str] = ()
) -> str | None:
    """Why a control plane would not live on without this machine.

    The others keep its data, and have to agree by majority.

    :param mended: UIDs of others in whose places there will be new ones.
    """
    others = [
        member
        for member in crew.members
        if objects.uid(member) != uid
        and is_voter(member)
        and members.works(member)
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


def hindered(
    crews: Iterable[Crew], uids: Collection[str], registry: Registry
) -> str | None:
    """Why a machine of a control plane must not go now; None if it may.

    Another may be going already, by a rollout or by somebody else, and how
    the others are may have changed since they were chosen.

    :param uids: of the machine; what is gone already is hindered no more.
    """
    for crew in crews:
        voters = [member for member in crew.members if is_voter(member)]
        for member in voters:
            uid = objects.uid(member)
            if uid not in uids or not members.works(member):
                continue
            keeper = ObjectRef.of(crew.keeper)
            if going := [m for m in voters if not members.works(m)]:
                return f"{keeper}: {ObjectRef.of(going[0])} is going"
            wanted = members.number(crew.keeper, registry)
            if wanted is not None and len(voters) != wanted:
                return f"{keeper}: {len(voters)} of {wanted} machine(s) there"
            if why := needed(uid, crew, registry):
                return f"{ObjectRef.of(member)}: {why}"
    return None
