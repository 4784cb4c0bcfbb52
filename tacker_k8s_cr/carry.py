"""Carry out the plan of a package, or take back what was carried out."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib

from tacker_k8s_cr import errors
from tacker_k8s_cr import plan
from tacker_k8s_cr import prepare
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.operation import Operation
from tacker_k8s_cr.prepare import Prepared
from tacker_k8s_cr.report import Action


def namespace(name: str) -> ObjectRef:
    return ObjectRef("", "Namespace", "", name)


def record_namespace(
    op: Operation, planned: plan.Plan
) -> dict[ObjectRef, str]:
    """Make the namespace of the record, if the package brings it.

    It is a stage of its own, before there can be a record. Its label and
    manager are what a later run knows it by.
    """
    ref = namespace(op.namespace)
    steps = [
        step
        for stage in planned.stages
        for step in stage.steps
        if step.ref == ref and isinstance(step, plan.Apply)
    ]
    if steps:
        op.bring_in(steps, "namespace of the record")
        return {ref: op.progress.awaited[ref].uid}
    if op.cluster.get_metadata(ref) is None:
        raise errors.NamespaceAbsent(
            {op.namespace: [f"the record of {op.instance}"]}
        )
    return {}


def bring_in(
    op: Operation,
    planned: plan.Plan,
    ready: Prepared,
    inventory: Inventory,
) -> None:
    """Carry out the stages, and wait for all that they applied."""
    op.ledger.write(inventory)
    for stage in planned.stages:
        op.carry_out(stage)
        op.served(
            step.manifest
            for step in stage.steps
            if isinstance(step, plan.Apply)
        )
        if stage.name == plan.DEFINITIONS and ready.not_yet:
            prepare.again(
                op.cluster,
                ready,
                op.instance,
                force=op.options.conflict == "take",
            )
    op.settle()


def take_back(op: Operation) -> None:
    """Remove what this operation made; the lock is held."""
    last = namespace(op.namespace)
    made = {
        ref: uid
        for ref, uid in op.inventory.owned.items()
        if op.actions.get(ref) is Action.CREATED
    }
    with contextlib.suppress(errors.Error):
        stages = plan.terminate(made, op.progress.registry, last).stages
        for stage in stages:
            if last not in stage.refs:
                op.carry_out(stage)
        if last not in made:
            op.ledger.retire()


def take_back_namespace(op: Operation, made: Mapping[ObjectRef, str]) -> None:
    """Remove the record's namespace, if this operation made it."""
    op.ledger.forget()
    steps = [
        plan.Delete(ref, uid)
        for ref, uid in made.items()
        if op.actions.get(ref) is Action.CREATED
    ]
    if steps and op.remaining() == [namespace(op.namespace)]:
        with contextlib.suppress(errors.Error):
            op.take_away(steps, "namespace")
