"""Terminate an instance: delete its objects and its record."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr.engine import finalizers
from tacker_k8s_cr.engine import orphan
from tacker_k8s_cr.engine import retained_objects
from tacker_k8s_cr.kinds import policy as policies
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.execution import deletion_checks
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.execution import undo
from tacker_k8s_cr.lcm.machines import machine_annotations
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import claim_cleanup
from tacker_k8s_cr.lcm.stages import claim_rules
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.lcm.termination import retain
from tacker_k8s_cr.lcm.termination import workload_cleanup
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.model.selectors import Subject
from tacker_k8s_cr.plan import deletion_plan
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import waves
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.steps import Delete
from tacker_k8s_cr.plan.steps import Stage
from tacker_k8s_cr.state import stray_chunks

LOG = logging.getLogger(__name__)

CLEANUP = "cleanup"
"""Annotation of a Cluster: what to delete in its workload cluster first."""


def terminate(
    request: Request,
) -> Report:
    """Delete all that the instance created, and its record.

    Objects that it adopted are released and not deleted. Objects to retain are
    not deleted, with all that they depend on, nor are those that other
    instances use.

    Refuses, before anything is deleted, if objects of other owners would be
    deleted with a definition or a namespace of the instance.
    """
    op = Session("terminate", request)
    op.ledger.read()
    return terminate_recorded(op, request.registry)


def terminate_recorded(
    op: Session, registry: Registry, *, retaining: bool = True
) -> Report:
    """Delete the instance whose record the operation has read.

    :param retaining: do not delete objects that are to be retained. The
        rollback of an instantiation deletes these too.
    """
    op.use_registry(registry)
    if op.ledger.entry is None:
        return _terminate_unrecorded(op, retaining=retaining)
    record_namespace = placement.namespace_ref(op.record_namespace)
    inventory = dataclasses.replace(
        execute.recovered_inventory(op), phase=Phase.TERMINATING
    )
    preexisting = {
        r: u for r, u in inventory.owned.items() if r in inventory.preexisting
    }
    created = inventory.without_owned(preexisting)
    manifests = retain.read_manifests(op, inventory)
    # A repeated termination has resolved the policy before.
    retention = retain.retention(inventory.policy, op.options, retaining)
    choices: dict[ObjectRef, tuple[bool, str]] = {}
    if retaining:
        choices = retained_objects.retention_choices(
            created.owned,
            manifests,
            inventory.policy,
            op.options.on_terminate,
            op.options.on_terminate_default,
            repeated=op.inventory.phase is Phase.TERMINATING,
        )
        # A repeated termination retains the same objects, whatever its request
        # omits.
        resolved: dict[Subject, bool] = {
            **retention.by_claim,
            **{ref: is_retained for ref, (is_retained, _) in choices.items()},
        }
        policy = dataclasses.replace(inventory.policy, on_terminate=resolved)
        inventory = dataclasses.replace(inventory, policy=policy)
        created = dataclasses.replace(created, policy=policy)
    rules = claim_rules.load_rules(op, inventory, retention)
    inventory = dataclasses.replace(inventory, claim_rules=rules)
    created = dataclasses.replace(created, claim_rules=rules)
    retained, found = retain.find_retained_objects(
        op, inventory, retention, manifests, choices
    )
    deleted = created.without_owned(retained).owned
    cleanup = claim_cleanup.create_cleanup(
        op, inventory, retention, {*retained, *preexisting}
    )
    cleanup.check_permissions()
    _require_feasible(op, retained, deleted, found.decisions.requested)
    released: dict[ObjectRef, str] = {}
    with op.locked():
        # An annotation on a retained Machine would cause a deletion later.
        machine_annotations.remove_annotations(op, op.inventory)
        op.ledger.write(inventory.with_journal(op.name, "", ()))
        # From now on no instance begins to share objects; one may have before.
        retained, found = retain.find_retained_objects(
            op, inventory, retention, manifests, choices
        )
        deleted = created.without_owned(retained).owned
        if preexisting:
            released = undo.release_adopted(op, preexisting)
            op.ledger.write(created.with_journal(op.name, "", ()))
        stages = deletion_plan.terminate(
            deleted,
            registry,
            record_namespace,
            manifest_annotations.recorded_order(inventory),
        ).stages
        cleanup = claim_cleanup.create_cleanup(
            op, inventory, retention, {*retained, *preexisting}
        )
        for stage, due_rules in cleanup.interleave(stages):
            claims_found = cleanup.delete(due_rules)
            found = found.merge(claims_found)
            retained = retain.with_required(
                retained, claims_found, created.owned, manifests, choices
            )
            if stage and record_namespace not in stage.refs:
                _clean_up_workloads(op, stage, manifests)
                _recheck_foreign(op, stage.refs, deleted)
                stage_runner.run_stage(op, stage.without(retained))
        deleted = created.without_owned(retained).owned
        retained = retain.release(
            op, {ref: created.owned[ref] for ref in retained}, retained
        )
        _recheck_foreign(op, {record_namespace} & deleted.keys(), deleted)
        if record_namespace not in deleted:
            op.ledger.delete()
    op.ledger.forget()
    if record_namespace in deleted:
        with op.annotate_errors():
            undo.delete_record_namespace(
                op, {record_namespace: deleted[record_namespace]}
            )
    remaining_claims = found.remaining(deleted)
    actions = dict.fromkeys(released, Action.ORPHANED)
    actions.update(
        dict.fromkeys([*retained, *remaining_claims], Action.RETAINED)
    )
    return op.report(actions, {**released, **retained, **remaining_claims})


def _require_feasible(
    op: Session,
    retained: Mapping[ObjectRef, str],
    deleted: Mapping[ObjectRef, str],
    retained_claims: Collection[ObjectRef],
) -> None:
    """Refuse a request that cannot be fulfilled, before any delete.

    :param retained_claims: claims that have to be retained.
    """
    op.options = dataclasses.replace(
        op.options,
        remove_finalizers=finalizers.resolve_requested(
            op.cluster,
            op.options.remove_finalizers,
            deleted,
            op.instance,
            op.namespace,
        ),
    )
    not_deleted = {*retained, *retained_claims}
    if collected := orphan.find_collected_dependents(
        op.cluster, not_deleted, deleted
    ):
        raise errors.RetentionImpossible(collected)
    deletion_checks.refuse_foreign_deletion(op, deleted)


def _recheck_foreign(
    op: Session, refs: Collection[ObjectRef], deleted: Mapping[ObjectRef, str]
) -> None:
    """Check again for foreign objects that would be deleted too.

    Definitions and namespaces are deleted last, maybe half an hour after the
    first check.
    """
    collecting_kinds = (placement.DEFINITION, placement.NAMESPACE)
    if op.deadline.now - op.begun < execute.RECHECK_AFTER:
        return
    if any(ref.group_kind in collecting_kinds for ref in refs):
        deletion_checks.refuse_foreign_deletion(op, deleted, begun=True)


def _clean_up_workloads(
    op: Session,
    stage: Stage,
    manifests: Mapping[ObjectRef, Manifest],
) -> None:
    """Clean up workload clusters before their Clusters are deleted."""
    registry = op.progress.registry
    for ref in stage.refs:
        if not registry[ref.group_kind].delete_exclusively:
            continue
        requested = op.options.cleanup
        if requested is None:
            annotated = objects.annotation(manifests.get(ref, {}), CLEANUP)
            requested = frozenset([annotated] if annotated else ())
        if requested:
            try:
                workload_cleanup.clean_up(
                    op.cluster,
                    ref,
                    requested,
                    op.deadline,
                    listen=op.on_progress,
                    guard=op.ledger.check,
                )
            except errors.CleanupFailed as error:
                op.uncertain = op.uncertain or error.has_written
                raise


def _terminate_unrecorded(op: Session, *, retaining: bool) -> Report:
    """Delete objects with the label of an instance whose record is missing.

    A process may have died before writing the record, a user may have
    deleted it, or a write without an answer may have been carried out
    after the end. Objects that only have the label are reported, not deleted.
    """
    record_namespace = placement.namespace_ref(op.record_namespace)
    retained: dict[ObjectRef, str] = {}
    with op.ledger.lock_without_record(op.deadline), op.annotate_errors():
        created, doubtful = undo.find_labelled_objects(op)
        chunks = stray_chunks.remove(
            op.ledger.fenced_cluster, op.instance, op.record_namespace
        )
        if not created and not doubtful and not chunks:
            raise errors.InstanceNotFound(op.instance, op.record_namespace)
        live = dict(
            results_or_raise(op.cluster.map_parallel(op.cluster.get, created))
        )
        manifests = {ref: obj for ref, obj in live.items() if obj}
        choices = {}
        if retaining:
            choices = retained_objects.retention_choices(
                created,
                manifests,
                policies.DEFAULT,
                op.options.on_terminate,
                op.options.on_terminate_default,
            )
        retention = retain.retention(policies.DEFAULT, op.options, retaining)
        inventory = Inventory(
            op.instance,
            op.namespace,
            owned=created,
            claim_rules=claim_rules.derive_rules(op, live.values(), retention),
        )
        retained, found = retain.find_retained_objects(
            op, inventory, retention, manifests, choices
        )
        deleted = {
            ref: uid for ref, uid in created.items() if ref not in retained
        }
        cleanup = claim_cleanup.create_cleanup(
            op, inventory, retention, retained
        )
        cleanup.check_permissions()
        _require_feasible(op, retained, deleted, found.decisions.requested)
        namespaces = {
            ref: deleted.pop(ref)
            for ref in (record_namespace,)
            if ref in deleted
        }
        # The objects also record the order that their authors specified.
        order = waves.recorded_order(manifests)
        registry = op.progress.registry
        stages = deletion_plan.terminate(deleted, registry, order=order).stages
        # Without a record, claims are known only as long as their
        # StatefulSets exist.
        cleanup.request_deletion(found)
        for stage, due_rules in cleanup.interleave(stages):
            claims_found = cleanup.delete(due_rules)
            found = found.merge(claims_found)
            retained = retain.with_required(
                retained, claims_found, created, manifests, choices
            )
            if stage:
                _clean_up_workloads(op, stage, manifests)
                all_steps = stage.without(retained).steps
                steps = [s for s in all_steps if isinstance(s, Delete)]
                stage_runner.delete_stage(op, steps, stage.name)
        retained = retain.release(
            op, {ref: created[ref] for ref in retained}, retained
        )
    with op.annotate_errors():
        undo.delete_record_namespace(op, namespaces)
        if doubtful:
            raise errors.RecordMissing(op.instance, sorted(doubtful))
    retained = {**retained, **found.remaining(namespaces)}
    return op.report(dict.fromkeys(retained, Action.RETAINED), retained)
