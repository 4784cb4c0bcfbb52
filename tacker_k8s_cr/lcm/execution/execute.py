"""Run a plan: its stages, in order, and the wait for its objects."""

from __future__ import annotations

import contextlib
import dataclasses

from tacker_k8s_cr.engine import dry_run
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm.execution import deletion_checks
from tacker_k8s_cr.lcm.preparation import existing_objects
from tacker_k8s_cr.lcm.preparation.prepared import Prepared
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.lcm.stages import wait_topology
from tacker_k8s_cr.lcm.transfer import adopt_from
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.steps import Apply
from tacker_k8s_cr.plan.steps import Delete
from tacker_k8s_cr.plan.steps import Plan
from tacker_k8s_cr.plan.steps import Stage

REFUSALS = (
    errors.Rejected,
    errors.FieldConflict,
    errors.DryRunFailed,
    errors.OwnedByOther,
    errors.Forbidden,
    errors.KindNotServed,
)
"""Errors that waiting cannot resolve: the operation is undone."""


def create_record_namespace(
    op: Session, planned: Plan
) -> dict[ObjectRef, str]:
    """Create the namespace of the record, if the package contains it.

    This is a separate stage, before a record can exist. A later run identifies
    the namespace by its label and field manager.
    """
    ref = placement.namespace_ref(op.record_namespace)
    steps = [
        # Without its dependencies: no record can exist before it.
        dataclasses.replace(step, after=frozenset())
        for stage in planned.stages
        for step in stage.steps
        if step.ref == ref and isinstance(step, Apply)
    ]
    if steps:
        stage_runner.apply_stage(op, steps, "namespace of the record")
        return {ref: op.progress.awaited[ref].uid}
    if any(
        ref.namespace == op.record_namespace for ref in op.source_locations
    ):
        return {}  # checked with the namespaces of all objects
    # If reading it is forbidden, writing the Lease reveals its absence.
    with contextlib.suppress(errors.Forbidden):
        if op.cluster.get_metadata(ref) is None:
            raise errors.NamespaceNotFound(
                {op.record_namespace: [f"the record of {op.instance}"]},
                op.record_namespace,
            )
    return {}


def execute(
    op: Session,
    planned: Plan,
    ready: Prepared,
    inventory: Inventory,
) -> dict[ObjectRef, str]:
    """Run the stages, and wait for all applied objects.

    Returns objects that are retained because other instances began to share
    them meanwhile, with the reason.
    """
    retained: dict[ObjectRef, str] = {}
    if planned.stages:
        # With the journal of the first stage, which follows at once.
        inventory = stage_runner.with_stage_journal(
            op, planned.stages[0], inventory
        )
    op.ledger.write(inventory)
    before = (
        inventory.previous_package.shared if inventory.previous_package else ()
    )
    existing_objects.confirm_shared_owners(
        op.cluster, ready.owners.shared.difference(before)
    )
    op.expect_kinds(ready.expected)
    not_yet = ready.not_yet
    for stage in planned.stages:
        if not_yet and stage.name != plan.DEFINITIONS:
            not_yet = _repeat_dry_run(
                op.cluster,
                ready,
                not_yet,
                stage,
                op.instance,
                op.options.field_conflicts,
            )
        retained.update(_find_newly_shared(op, stage, inventory))
        stage_runner.run_stage(op, stage.without(retained))
        not_yet -= set(stage.refs)
        wait_served(op, stage)
    wait_topology.wait_topology(op)
    return retained


RECHECK_AFTER = 10.0
"""Seconds after which objects of other owners are checked again before any
deletion."""


def _find_newly_shared(
    op: Session, stage: Stage, inventory: Inventory
) -> dict[ObjectRef, str]:
    """Return objects to delete that instances share by now, and by whom."""
    before = inventory.previous_package
    deleted = {
        step.ref: step.uid for step in stage.steps if isinstance(step, Delete)
    }
    if not deleted or not before or op.deadline.now - op.begun < RECHECK_AFTER:
        return {}
    found = deletion_checks.find_shared(
        op, deleted, manifest_annotations.manifests(before)
    )
    remaining = {ref: uid for ref, uid in deleted.items() if ref not in found}
    deletion_checks.refuse_foreign_deletion(op, remaining, begun=True)
    return found


def _repeat_dry_run(
    cluster: Cluster,
    before: Prepared,
    not_yet: frozenset[ObjectRef],
    stage: Stage,
    instance: str,
    field_conflicts: str,
) -> frozenset[ObjectRef]:
    """Repeat the dry run of objects that could not be checked before.

    :param stage: the next one. Objects of later stages, or that depend on
        other objects, may still be rejected because those do not exist.

    Returns objects that still cannot be checked: the apply checks them, and
    retries.
    """
    checked = dry_run.dry_run(
        cluster,
        [item for item in before.items if item.ref in not_yet],
        instance,
        before.owners.live,
        dry_run.DryRunContext(
            waiting={
                ref
                for ref in not_yet
                if ref in before.order.needs or ref not in stage.refs
            },
            packaged=dry_run.names_of(item.ref for item in before.items),
        ),
        field_conflicts=field_conflicts,
    )
    checked.check_refusals()
    return checked.not_yet


def wait_served(op: Session, stage: Stage) -> None:
    """Wait until the kinds that a stage defined are served."""
    op.wait_served(
        step.manifest for step in stage.steps if isinstance(step, Apply)
    )


def recovered_inventory(op: Session) -> Inventory:
    """Return the inventory with objects written right before a crash."""
    unrecorded = existing_objects.recover_unrecorded(op.cluster, op.inventory)
    return adopt_from.resolve_interrupted(
        op.cluster, op.inventory.with_owned(unrecorded)
    )
