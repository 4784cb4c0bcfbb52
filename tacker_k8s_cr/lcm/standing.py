"""How the objects of an instance stand now: nothing is written."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr.causes import explain
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict
from tacker_k8s_cr.options import DEFAULT
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report


def status(
    cluster: Cluster,
    instance: str,
    *,
    namespace: str = "",
    record_namespace: str = "",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
) -> Report:
    """How every object of the instance is now. Writes nothing.

    Of one that was asked to go and is still there it says who holds it.
    """
    op = Operation(
        "status",
        cluster,
        instance,
        namespace,
        deadline,
        DEFAULT,
        None,
        record_namespace,
    )
    op.ledger.read()
    inventory = op.inventory
    op.knowing(prepare.known(op.cluster, registry, inventory))
    op.look(inventory.owned)
    now = deadline.now
    going = [
        errors.Unsettled(ref, verdict, 0.0)
        for ref, verdict in op.progress.verdicts(now).items()
        if verdict.state is State.TERMINATING
    ]
    for item in explain.explained(
        op.cluster, op.progress.registry, going, op.deadline.left
    ):
        op.notes[item.ref] = item.notes
    report = op.report(dict.fromkeys(inventory.shared, Action.SHARED))
    metadata = op.cluster.each(op.cluster.get_metadata, inventory.shared)
    gone = {ref for ref, obj in raised(metadata) if obj is None}
    lost = Verdict(State.FAILED, "it is shared, and its owner removed it")
    rows = (
        dataclasses.replace(
            row,
            verdict=lost if row.ref in gone else row.verdict,
            seconds=None,
        )
        for row in report.rows
    )
    return dataclasses.replace(report, rows=tuple(rows))
