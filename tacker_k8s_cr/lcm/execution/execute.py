"""Plan a package against the objects of an instance, and run the plan."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr.engine import delete
from tacker_k8s_cr.engine import dry_run
from tacker_k8s_cr.engine import retained_objects
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm.execution import template_retention
from tacker_k8s_cr.lcm.preparation import existing_objects
from tacker_k8s_cr.lcm.preparation import permissions_check
from tacker_k8s_cr.lcm.preparation.prepared import Prepared
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import remaining_claims
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.lcm.stages import wait_topology
from tacker_k8s_cr.lcm.transfer import adopt_from
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan import prune
from tacker_k8s_cr.plan import references
from tacker_k8s_cr.plan import waves
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.state import other_instances

REFUSALS = (
    errors.Rejected,
    errors.FieldConflict,
    errors.DryRunFailed,
    errors.OwnedByOther,
    errors.Forbidden,
    errors.KindNotServed,
)
"""Errors that waiting cannot resolve: the operation is undone."""


PREEXISTING_REASON = "adopted from another owner; terminate does not delete it"
"""Why a change of package retains an object that it does not contain."""

RETAINED_REASON = "the package contains it in a file that was not selected"
"""The same for an object of ``Options.retain``."""


def namespace_ref(name: str) -> ObjectRef:
    return ObjectRef("", "Namespace", "", name)


def plan_change(
    op: Session, ready: Prepared, before: Inventory, policy: Policy
) -> plan.Plan:
    """Return the plan of a package that replaces what the instance has."""
    op.source_locations = {item.ref: item.where for item in ready.items}
    manifests = manifest_annotations.manifests(before)
    dropped = before.owned.keys() - {item.ref for item in ready.items}
    retained = find_shared(op, dropped, manifests)
    # This instance did not create them, so a change must not delete them.
    retained.update(
        dict.fromkeys(dropped & before.preexisting, PREEXISTING_REASON)
    )
    if contract.uses_cluster_api(dropped):
        retained.update(
            template_retention.find_templates_in_use(
                op.cluster, ready.items, dropped
            )
        )
    prune_annotations = manifest_annotations.prune_annotations(before, policy)
    pruned = {ref for ref in dropped if prune_annotations.get(ref)}
    retained.update(remaining_claims.find_volumes_in_use(op, dropped, pruned))
    selected = {
        ref
        for ref in dropped & op.options.retain
        if not prune_annotations.get(ref)
    }
    retained.update(dict.fromkeys(selected, RETAINED_REASON))
    former = prune.CurrentState(
        before.owned,
        namespace_ref(op.record_namespace),
        prune_annotations,
        placement.kinds_by_crd(manifests.values()),
        references.references(manifests),
        waves.recorded_order(manifests),
        retained,
        ready.recreated,
    )
    found = plan.change(
        ready.items,
        ready.registry,
        former,
        ready.owners.live,
        ready.owners.terminating,
        ready.order,
        ready.requests,
    )
    deleted = {
        step.ref: step.uid
        for stage in found.stages
        for step in stage.steps
        if isinstance(step, plan.Delete)
    }
    permissions_check.require_delete(
        op.cluster, deleted, wanted=op.options.check_permissions
    )
    refuse_foreign_deletion(op, deleted)
    return found


def find_shared(
    op: Session,
    refs: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
) -> dict[ObjectRef, str]:
    """Return objects to delete that other instances share, and by whom.

    Their dependencies are included if they are to be deleted too.
    """
    found = find_retained(op, refs, manifests, {})
    op.notes.update({ref: (why,) for ref, why in found.items()})
    return found


def find_retained(
    op: Session,
    refs: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
    choices: Mapping[ObjectRef, tuple[bool, str]],
) -> dict[ObjectRef, str]:
    """Return objects to retain: by choice, or because they are shared."""
    shared = {}
    if not op.options.delete_foreign_objects:
        shared = other_instances.shared_refs(
            op.cluster, op.instance, refs, op.record_namespace
        )
    shared_choices = {ref: (True, why) for ref, why in shared.items()}
    return retained_objects.find_retained(
        refs, manifests, {**choices, **shared_choices}
    )


def refuse_foreign_deletion(
    op: Session, deleted: Mapping[ObjectRef, str], *, begun: bool = False
) -> None:
    """Raise ForeignObjects if objects of other owners would be deleted too.

    :param begun: some of the objects have been deleted already.
    """
    if op.options.delete_foreign_objects:
        return
    entry = op.ledger.entry
    foreign = delete.find_foreign_dependents(
        op.cluster,
        deleted,
        op.instance,
        in_progress=begun,
        rules=entry.inventory.claim_rules if entry else (),
    )
    if foreign:
        raise errors.ForeignObjects(foreign)


def create_record_namespace(
    op: Session, planned: plan.Plan
) -> dict[ObjectRef, str]:
    """Create the namespace of the record, if the package contains it.

    This is a separate stage, before a record can exist. A later run identifies
    the namespace by its label and field manager.
    """
    ref = namespace_ref(op.record_namespace)
    steps = [
        # Without its dependencies: no record can exist before it.
        dataclasses.replace(step, after=frozenset())
        for stage in planned.stages
        for step in stage.steps
        if step.ref == ref and isinstance(step, plan.Apply)
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
    planned: plan.Plan,
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
    op: Session, stage: plan.Stage, inventory: Inventory
) -> dict[ObjectRef, str]:
    """Return objects to delete that instances share by now, and by whom."""
    before = inventory.previous_package
    deleted = {
        step.ref: step.uid
        for step in stage.steps
        if isinstance(step, plan.Delete)
    }
    if not deleted or not before or op.deadline.now - op.begun < RECHECK_AFTER:
        return {}
    found = find_shared(op, deleted, manifest_annotations.manifests(before))
    remaining = {ref: uid for ref, uid in deleted.items() if ref not in found}
    refuse_foreign_deletion(op, remaining, begun=True)
    return found


def _repeat_dry_run(
    cluster: Cluster,
    before: Prepared,
    not_yet: frozenset[ObjectRef],
    stage: plan.Stage,
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


def wait_served(op: Session, stage: plan.Stage) -> None:
    """Wait until the kinds that a stage defined are served."""
    op.wait_served(
        step.manifest for step in stage.steps if isinstance(step, plan.Apply)
    )


def recovered_inventory(op: Session) -> Inventory:
    """Return the inventory with objects written right before a crash."""
    unrecorded = existing_objects.recover_unrecorded(op.cluster, op.inventory)
    return adopt_from.resolve_interrupted(
        op.cluster, op.inventory.with_owned(unrecorded)
    )
