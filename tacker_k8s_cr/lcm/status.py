"""How the objects of an instance stand now: nothing is written."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.preparation import prepare
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.errors import problems
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.inventory import Phase
from tacker_k8s_cr.wait.diagnostics import explain


def status(
    request: Request,
) -> Report:
    """Return the state of every object of the instance. Writes nothing.

    For an object whose deletion is requested and that still exists, it reports
    which controllers hold it.
    """
    op = Session("status", request)
    op.ledger.read()
    inventory = op.inventory
    op.use_registry(
        prepare.registry_for(op.cluster, request.registry, inventory)
    )
    op.snapshot(inventory.owned)
    now = request.deadline.now
    going = [
        errors.PendingObject(ref, verdict, 0.0)
        for ref, verdict in op.progress.verdicts(now).items()
        if verdict.state is State.TERMINATING
    ]
    for item in explain.with_explanations(
        op.cluster, op.progress.registry, going, op.deadline.remaining
    ):
        op.notes[item.ref] = item.notes
    op.warn(_describe_unfinished(inventory))
    report = op.report(dict.fromkeys(inventory.shared, Action.SHARED))
    metadata = op.cluster.map_parallel(
        op.cluster.get_metadata, inventory.shared
    )
    gone = {ref for ref, obj in results_or_raise(metadata) if obj is None}
    lost = Verdict(State.FAILED, "it is shared, and its owner removed it")
    home = ObjectRef("", "Namespace", "", op.home)
    away = (
        _find_deleted(inventory, request.registry, home) & op.progress.deleted
    )
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
        for row in report.objects
    )
    return dataclasses.replace(report, objects=tuple(rows))


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
        if absent := sorted(
            manifest_annotations.manifests(now).keys() - known
        ):
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
    if inventory.phase is Phase.TERMINATING:
        stages = plan.terminate(
            inventory.owned,
            registry,
            home,
            manifest_annotations.recorded_order(inventory),
        ).stages
        found = [stage for stage in stages if stage.name == journal.stage]
        return frozenset(found[0].refs if found else ())
    if inventory.phase is Phase.CHANGING:
        now = dataclasses.replace(inventory, phase=Phase.INSTANTIATED)
        return (
            frozenset(inventory.owned)
            - manifest_annotations.manifests(now).keys()
        )
    return frozenset()
