"""Undo an operation: delete what it created and return what it adopted."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses
import logging

from tacker_k8s_cr.engine import apply_object
from tacker_k8s_cr.engine import claim_retention as retentions
from tacker_k8s_cr.engine import orphan
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import claim_cleanup
from tacker_k8s_cr.lcm.stages import claim_rules
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.lcm.transfer import adopt_from
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan import deletion_plan
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.steps import Delete
from tacker_k8s_cr.state import other_instances

LOG = logging.getLogger(__name__)


def undo(op: Session) -> None:
    """Delete what this operation created; the lock is held.

    The record is deleted too, unless it has to list remaining objects. The
    error that ended the operation is the one to raise: what prevents the undo
    is logged, and a rollback completes it.
    """
    if op.ledger.entry is None:
        op.ledger.delete()
        return
    try:
        _undo(op)
    except errors.Error as error:
        LOG.warning(
            "%s: %s: not undone: %s", op.instance, op.name, error.summary()
        )


def _undo(op: Session) -> None:
    record_namespace = placement.namespace_ref(op.record_namespace)
    inventory = execute.recovered_inventory(op)
    # Every write was a creation: the instance had nothing before, except
    # what it was to adopt.
    created = {
        ref: uid
        for ref, uid in inventory.owned.items()
        if ref not in inventory.preexisting
        and op.actions.get(ref, Action.CREATED) is Action.CREATED
    }
    preexisting = inventory.owned.keys() & inventory.preexisting
    if preexisting:
        op.ledger.write(inventory)
        release_adopted(op, {ref: inventory.owned[ref] for ref in preexisting})
        op.ledger.write(inventory.without_owned(preexisting))
        op.actions = {
            r: a for r, a in op.actions.items() if r not in preexisting
        }
    retention = retentions.on_rollback(inventory.policy, op.options)
    rules = claim_rules.load_rules(op, inventory, retention)
    inventory = dataclasses.replace(inventory, claim_rules=rules)
    cleanup = claim_cleanup.create_cleanup(
        op, inventory, retention, preexisting
    )
    found = cleanup.find()
    retained = found.required_objects(created)
    stages = deletion_plan.terminate(
        {ref: uid for ref, uid in created.items() if ref not in retained},
        op.progress.registry,
        record_namespace,
        manifest_annotations.recorded_order(op.inventory),
    ).stages
    for stage, due in cleanup.interleave(stages):
        found = found.merge(cleanup.delete(due))
        retained = found.required_objects(created)
        if stage and record_namespace not in stage.refs:
            stage_runner.run_stage(op, stage.without(retained))
    orphan.orphan(
        op.ledger.fenced_cluster,
        {ref: created[ref] for ref in retained},
        op.manager,
        op.ledger.guard,
    )
    all_retained = {**found.remaining(()), **retained}
    op.actions.update(dict.fromkeys(all_retained, Action.RETAINED))
    if [
        ref
        for ref in op.written_objects()
        if ref not in (record_namespace, *all_retained)
    ]:
        return
    if record_namespace not in created or record_namespace in retained:
        op.ledger.delete()
    op.ledger.forget()
    op.uncertain = False


def delete_created_namespace(
    op: Session, namespaces: Mapping[ObjectRef, str]
) -> None:
    """Delete the record's namespace, if this operation created it."""
    created = {
        ref: uid
        for ref, uid in namespaces.items()
        if op.actions.get(ref) is Action.CREATED
    }
    with contextlib.suppress(errors.Error):
        delete_record_namespace(op, created)
        op.uncertain = False


def find_labelled_objects(
    op: Session,
) -> tuple[dict[ObjectRef, str], frozenset[ObjectRef]]:
    """Find the objects with the label of an instance without a record.

    Returns those that it provably created, with UIDs, and the doubtful ones.
    Both are empty if another namespace has a record of that name, or if that
    cannot be determined.
    """
    if other_instances.has_record(op.cluster, op.instance):
        return {}, frozenset()
    selector = f"{objects.INSTANCE}={op.instance}"
    manager = objects.MANAGER + op.instance
    owned = {}
    doubtful = set()
    kinds = [
        resource.group_kind
        for resource in op.cluster.resources()
        if {"list", "delete"} <= resource.verbs
    ]
    for _, listed in op.cluster.map_parallel(
        lambda kind: tuple(op.cluster.list_metadata(kind, "", selector)),
        kinds,
    ):
        # Objects that may not be listed are not deleted.
        for obj in () if isinstance(listed, errors.Error) else listed:
            if ownership.has_instance_label(obj, op.instance):
                owned[ObjectRef.of(obj)] = objects.uid(obj)
            elif ownership.applied_by(obj, manager):
                doubtful.add(ObjectRef.of(obj))
    return owned, frozenset(doubtful)


def delete_record_namespace(
    op: Session, owned: Mapping[ObjectRef, str]
) -> None:
    """Delete the record's namespace, and the record and Lease in it."""
    steps = [Delete(ref, uid) for ref, uid in owned.items()]
    if steps:
        stage_runner.delete_stage(op, steps, "namespace of the record")


def release_adopted(
    op: Session, adopted: Mapping[ObjectRef, str]
) -> dict[ObjectRef, str]:
    """Release adopted objects that still exist; return what became of them.

    Fields that only this instance set are removed, unless no other manager has
    set any: then the object does not change.
    """
    transfers = {
        ref: transfer
        for ref, transfer in op.inventory.transferred_in.items()
        if adopted.get(ref) == transfer.uid
    }
    returned = adopt_from.return_objects(op, transfers)
    released = set()
    to_orphan = {}
    for ref, uid in adopted.items():
        if ref in returned:
            continue
        obj = op.cluster.get(ref)
        if obj is None or objects.uid(obj) != uid:
            continue
        if ref in transfers:
            adopt_from.rename_field_manager(op, ref, transfers[ref])
            to_orphan[ref] = uid
            continue
        if not ownership.has_other_managers(obj, op.manager):
            to_orphan[ref] = uid
            continue
        try:
            apply_object.release_fields(
                op.ledger.fenced_cluster, obj, op.manager, uid
            )
        except errors.Rejected:
            to_orphan[ref] = (
                uid  # it is invalid without the fields that we set
            )
        except errors.Conflict:
            continue  # deleted, or no longer owned
        else:
            released.add(ref)
    released |= orphan.orphan(op.ledger.fenced_cluster, to_orphan, op.manager)
    why = "adopted from another owner; released without an owner"
    returned_reasons = {
        r: f"returned to the instance {i}" for r, i in returned.items()
    }
    return {**dict.fromkeys(sorted(released), why), **returned_reasons}
