"""Recreate members from the record that no controller recreates."""

from __future__ import annotations

from collections.abc import Collection

from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm.preparation import prepare_from_record
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan.journal import MemberRef
from tacker_k8s_cr.plan.steps import Delete
from tacker_k8s_cr.plan.steps import Stage

FOREIGN = "another client has created an object of that name"
"""Why an existing object does not belong to the instance."""


def recreate_members(
    op: Session,
    standalone: Collection[MemberRef],
    existing: Collection[str],
    registry: Registry,
    *,
    lenient: bool = False,
) -> dict[ObjectRef, str]:
    """Replace members that the instance owns directly, from the record.

    Objects that were deleted with them, such as the bootstrap configuration
    of a Machine, are recreated too.

    :param existing: UIDs of members that exist; they are deleted first.
    :param lenient: skip what cannot be recreated, and return why.
    """
    deletions = tuple(
        Delete(member.ref, member.uid)
        for member in standalone
        if member.uid in existing
    )
    if deletions:
        stage_runner.run_stage(op, Stage("members", deletions))
        # Until the new member exists the record lists the deleted one: a later
        # operation finds it missing, and can heal it.
        op.ledger.add_owned({step.ref: step.uid for step in deletions})
    inventory = op.inventory
    ready = prepare_from_record.prepare_from_record(
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
    foreign = {member.ref for member in standalone} & ready.owners.shared
    return {**ready.refused, **dict.fromkeys(foreign, FOREIGN)}
