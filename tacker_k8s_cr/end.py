"""Remove an instance with all that it made."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr import carry
from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr import plan
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.operation import DEFAULT
from tacker_k8s_cr.operation import Listen
from tacker_k8s_cr.operation import Operation
from tacker_k8s_cr.operation import Options
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report


def terminate(
    cluster: Cluster,
    instance: str,
    *,
    namespace: str = "default",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
    options: Options = DEFAULT,
    listen: Listen | None = None,
) -> Report:
    """Remove all that the instance made, and its record.

    What it took over from others by name is given up, and stays.

    Refuses, before anything is deleted, if objects of others would go with
    a definition or a namespace of the instance.
    """
    op = Operation(
        "terminate", cluster, instance, namespace, deadline, options, listen
    )
    op.ledger.read()
    return ended(op, registry)


def ended(op: Operation, registry: Registry) -> Report:
    """Remove the instance whose record the operation has read."""
    op.knowing(registry)
    last = carry.namespace(op.namespace)
    if op.ledger.entry is None:
        return _ended_without_record(op)
    inventory = dataclasses.replace(carry.taken_up(op), phase=Phase.ENDING)
    met = {r: u for r, u in inventory.owned.items() if r in inventory.met}
    carry.refuse_losses(op, inventory.without(met).owned)
    left: dict[ObjectRef, str] = {}
    with op.locked():
        op.ledger.write(inventory.entering(op.name, "", ()))
        if met:
            left = carry.released(op, met)
            inventory = inventory.without(met)
            op.ledger.write(inventory.entering(op.name, "", ()))
        stages = plan.terminate(
            inventory.owned, registry, last, carry.order(inventory)
        ).stages
        for stage in stages:
            if last not in stage.refs:
                op.carry_out(stage)
        if last not in inventory.owned:
            op.ledger.retire()
    op.ledger.forget()
    if last in inventory.owned:
        with op.telling():
            carry.take_namespace(op, {last: inventory.owned[last]})
    return op.report(dict.fromkeys(left, Action.RELEASED), left)


def _ended_without_record(op: Operation) -> Report:
    """Remove what bears our mark, where a record was lost or never made.

    A run may have died before there was one, or somebody removed it. What
    the mark does not prove to be ours is left, and named.
    """
    last = carry.namespace(op.namespace)
    with op.ledger.unrecorded(op.deadline), op.telling():
        ours, doubtful = carry.marked(op)
        if not ours and not doubtful:
            raise errors.InstanceUnknown(op.instance, op.namespace)
        carry.refuse_losses(op, ours)
        home = {ref: ours.pop(ref) for ref in (last,) if ref in ours}
        for stage in plan.terminate(ours, op.progress.registry).stages:
            steps = [s for s in stage.steps if isinstance(s, plan.Delete)]
            op.take_away(steps, stage.name)
    with op.telling():
        carry.take_namespace(op, home)
        if doubtful:
            named = ", ".join(map(str, sorted(doubtful)))
            raise errors.InstanceExists(
                op.instance,
                f"has no record, and may have made what is left: {named}",
            )
    return op.report()
