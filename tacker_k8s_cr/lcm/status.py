"""Report the state of an instance's objects. Writes nothing."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.preparation import kind_handlers
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.errors import problems
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan import deletion_plan
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
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
        kind_handlers.registry_for(op.cluster, request.registry, inventory)
    )
    op.snapshot(inventory.owned)
    now = request.deadline.now
    terminating = [
        errors.PendingObject(ref, verdict, 0.0)
        for ref, verdict in op.progress.verdicts(now).items()
        if verdict.state is State.TERMINATING
    ]
    for item in explain.with_explanations(
        op.cluster, op.progress.registry, terminating, op.deadline.remaining
    ):
        op.notes[item.ref] = item.notes
    op.warn(_describe_unfinished(inventory))
    report = op.report(dict.fromkeys(inventory.shared, Action.SHARED))
    metadata = op.cluster.map_parallel(
        op.cluster.get_metadata, inventory.shared
    )
    missing_shared = {
        ref for ref, obj in results_or_raise(metadata) if obj is None
    }
    owner_removed = Verdict(
        State.FAILED, "it is shared, and its owner deleted it"
    )
    record_namespace = ObjectRef("", "Namespace", "", op.record_namespace)
    deleted = (
        _find_deleted(inventory, request.registry, record_namespace)
        & op.progress.deleted
    )
    deleted_verdict = Verdict(
        State.CURRENT,
        f"deleted by the {inventory.journal.operation} of this instance",
    )
    rows = (
        dataclasses.replace(
            row,
            verdict=owner_removed
            if row.ref in missing_shared
            else deleted_verdict
            if row.ref in deleted
            else row.verdict,
            action=Action.DELETED if row.ref in deleted else row.action,
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
    warnings = [
        f"{journal.operation} has not completed" + (why and f": {why}")
    ]
    if inventory.phase in (Phase.INSTANTIATING, Phase.CHANGING):
        now = dataclasses.replace(inventory, phase=Phase.INSTANTIATED)
        known = {*inventory.owned, *inventory.shared}
        if unwritten := sorted(
            manifest_annotations.manifests(now).keys() - known
        ):
            listed = problems.join_first(unwritten, 5)
            warnings.append(
                f"not written yet: {len(unwritten)} object(s): {listed}"
            )
    return tuple(warnings)


def _find_deleted(
    inventory: Inventory, registry: Registry, record_namespace: ObjectRef
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
        stages = deletion_plan.terminate(
            inventory.owned,
            registry,
            record_namespace,
            manifest_annotations.recorded_order(inventory),
        ).stages
        warnings = [stage for stage in stages if stage.name == journal.stage]
        return frozenset(warnings[0].refs if warnings else ())
    if inventory.phase is Phase.CHANGING:
        now = dataclasses.replace(inventory, phase=Phase.INSTANTIATED)
        return (
            frozenset(inventory.owned)
            - manifest_annotations.manifests(now).keys()
        )
    return frozenset()
