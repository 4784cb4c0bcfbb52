"""How the objects of an instance stand now: nothing is written."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr.causes import explain
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.errors import problems
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict
from tacker_k8s_cr.options import DEFAULT
from tacker_k8s_cr.planning import authored
from tacker_k8s_cr.planning import plan
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
    op.warn(_describe_unfinished(inventory))
    report = op.report(dict.fromkeys(inventory.shared, Action.SHARED))
    metadata = op.cluster.each(op.cluster.get_metadata, inventory.shared)
    gone = {ref for ref, obj in raised(metadata) if obj is None}
    lost = Verdict(State.FAILED, "it is shared, and its owner removed it")
    home = ObjectRef("", "Namespace", "", op.home)
    away = _find_deleted(inventory, registry, home) & op.progress.gone
    done = Verdict(
        State.CURRENT,
        f"deleted by the {inventory.journal.operation} of this instance",
    )
    rows = (
        dataclasses.replace(
            row,
            verdict=lost
            if row.ref in gone
            else done
            if row.ref in away
            else row.verdict,
            action=Action.DELETED if row.ref in away else row.action,
            seconds=None,
        )
        for row in report.rows
    )
    return dataclasses.replace(report, rows=tuple(rows))


def _describe_unfinished(inventory: Inventory) -> tuple[str, ...]:
    """Return what an operation that runs, or ended early, still has to do."""
    if inventory.phase is Phase.INSTANTIATED:
        return ()
    journal = inventory.journal
    why = journal.error.partition("\n")[0].rstrip(":")
    found = [f"{journal.operation} has not completed" + (why and f": {why}")]
    if inventory.phase in (Phase.INSTANTIATING, Phase.CHANGING):
        now = dataclasses.replace(inventory, phase=Phase.INSTANTIATED)
        known = {*inventory.owned, *inventory.shared}
        if absent := sorted(authored.manifests(now).keys() - known):
            listed = problems.listed(absent, 5)
            found.append(f"not written yet: {len(absent)} object(s): {listed}")
    return tuple(found)


def _find_deleted(
    inventory: Inventory, registry: Registry, home: ObjectRef
) -> frozenset[ObjectRef]:
    """Return what the running operation, or one that ended early, deletes.

    A termination that is stuck has requested the deletion of the objects of
    its stage; those of earlier stages are no longer owned. A change requests
    it for objects that the new package does not contain.
    """
    journal = inventory.journal
    if journal.pending or journal.stage in ("", "wait"):
        return frozenset()  # it writes, or waits for what it has written
    if inventory.phase is Phase.ENDING:
        stages = plan.terminate(
            inventory.owned, registry, home, authored.order(inventory)
        ).stages
        found = [stage for stage in stages if stage.name == journal.stage]
        return frozenset(found[0].refs if found else ())
    if inventory.phase is Phase.CHANGING:
        now = dataclasses.replace(inventory, phase=Phase.INSTANTIATED)
        return frozenset(inventory.owned) - authored.manifests(now).keys()
    return frozenset()
