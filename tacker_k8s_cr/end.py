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
from tacker_k8s_cr.operation import DEFAULT
from tacker_k8s_cr.operation import Listen
from tacker_k8s_cr.operation import Operation
from tacker_k8s_cr.operation import Options
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
        left = carry.left_namespace(op)
        if not left:
            raise errors.InstanceUnknown(op.instance, op.namespace)
        carry.refuse_losses(op, left)
        with op.telling():
            carry.take_namespace(op, left)
        return op.report()
    inventory = dataclasses.replace(carry.taken_up(op), phase=Phase.ENDING)
    carry.refuse_losses(op, inventory.owned)
    with op.locked():
        op.ledger.write(inventory.entering(op.name, "", ()))
        for stage in plan.terminate(inventory.owned, registry, last).stages:
            if last not in stage.refs:
                op.carry_out(stage)
        if last not in inventory.owned:
            op.ledger.retire()
    op.ledger.forget()
    if last in inventory.owned:
        with op.telling():
            carry.take_namespace(op, {last: inventory.owned[last]})
    return op.report()
