"""Make members again that no controller makes again: from the record."""

from __future__ import annotations

from collections.abc import Collection

from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm.preparation import prepare
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan.inventory import MemberRef
from tacker_k8s_cr.plan.plan import Delete

THEIRS = "somebody else has made one of that name"
"""Why an existing object does not belong to the instance."""


def recreate_members(
    op: Session,
    direct: Collection[MemberRef],
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
        stage_runner.run_stage(op, plan.Stage("members", going))
        # Until the new member exists the record lists the deleted one: a later
        # operation finds it missing, and can heal it.
        op.ledger.add_owned({step.ref: step.uid for step in going})
    inventory = op.inventory
    ready = prepare.prepare_from_record(
        op, inventory, inventory, lenient=lenient
    )
    missing = [
        item for item in ready.items if item.ref not in ready.owners.live
    ]
    stages = plan.instantiate(
        missing,
        ready.registry,
        terminating=ready.owners.terminating,
        order=ready.order,
    ).stages
    for stage in stages:
        stage_runner.run_stage(op, stage)
    theirs = {goer.ref for goer in direct} & ready.owners.shared
    return {**ready.refused, **dict.fromkeys(theirs, THEIRS)}
