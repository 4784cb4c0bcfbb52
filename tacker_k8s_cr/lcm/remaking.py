"""Make members again that no controller makes again: from the record."""

from __future__ import annotations

from collections.abc import Collection

from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm import staging
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import plan
from tacker_k8s_cr.planning.plan import Delete

THEIRS = "somebody else has made one of that name"
"""Why what is there already is not the instance's."""


def made_again(
    op: Operation,
    direct: Collection[Goer],
    there: Collection[str],
    registry: Registry,
    *,
    lenient: bool = False,
) -> dict[ObjectRef, str]:
    """Replace what the instance owns directly, from the record.

    What went with it, such as what a Machine was started from, is made
    again too.

    :param there: UIDs of members that are there; they go first.
    :param lenient: leave out what cannot be made, and return why.
    """
    going = tuple(
        Delete(goer.ref, goer.uid) for goer in direct if goer.uid in there
    )
    if going:
        staging.carry_out(op, plan.Stage("members", going))
        # Until there is another the record tells of the one that went:
        # whatever comes next, it shows as missing, and can be healed.
        op.ledger.own({step.ref: step.uid for step in going})
    inventory = op.inventory
    ready = prepare.recorded(
        op.cluster, inventory, inventory, registry, op.options, lenient=lenient
    )
    missing = [
        item for item in ready.items if item.ref not in ready.owners.live
    ]
    stages = plan.instantiate(
        missing,
        ready.registry,
        going=ready.owners.going,
        order=ready.order,
    ).stages
    for stage in stages:
        staging.carry_out(op, stage)
    theirs = {goer.ref for goer in direct} & ready.owners.shared
    return {**ready.refused, **dict.fromkeys(theirs, THEIRS)}
