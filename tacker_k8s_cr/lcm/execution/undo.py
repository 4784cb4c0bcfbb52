"""Undo an operation: delete what it created and return what it adopted."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr.engine import apply
from tacker_k8s_cr.engine import claim_retention as retentions
from tacker_k8s_cr.engine import orphan
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import claims
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.lcm.transfer import adopt_from
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.state import other_instances


def undo(op: Session) -> None:
    """Remove what this operation made; the lock is held.

    The record goes too, if nothing is left that it has to tell of.
    """
    if op.ledger.entry is None:
        op.ledger.delete()
        return
    last = execute.namespace(op.home)
    with contextlib.suppress(errors.Error):
        inventory = execute.recovered_inventory(op)
        # Every write was a creation: the instance had nothing before, except
        # what it was to adopt.
        made = {
            ref: uid
            for ref, uid in inventory.owned.items()
            if ref not in inventory.preexisting
            and op.actions.get(ref, Action.CREATED) is Action.CREATED
        }
        met = inventory.owned.keys() & inventory.preexisting
        if met:
            op.ledger.write(inventory)
            release_adopted(op, {ref: inventory.owned[ref] for ref in met})
            op.ledger.write(inventory.without_owned(met))
            op.actions = {r: a for r, a in op.actions.items() if r not in met}
        retention = retentions.on_rollback(inventory.policy, op.options)
        rules = claims.load_rules(op, inventory, retention)
        inventory = dataclasses.replace(inventory, claim_rules=rules)
        cleanup = claims.cleanup(op, inventory, retention, met)
        found = cleanup.find()
        kept = found.required_objects(made)
        stages = plan.terminate(
            {ref: uid for ref, uid in made.items() if ref not in kept},
            op.progress.registry,
            last,
            manifest_annotations.recorded_order(op.inventory),
        ).stages
        for stage, due in cleanup.interleave(stages):
            found = found.merge(cleanup.delete(due))
            kept = found.required_objects(made)
            if stage and last not in stage.refs:
                stage_runner.run_stage(op, stage.without(kept))
        orphan.orphan(
            op.ledger.fenced_cluster,
            {ref: made[ref] for ref in kept},
            op.manager,
            op.ledger.guard,
        )
        stay = {**found.remaining(()), **kept}
        op.actions.update(dict.fromkeys(stay, Action.RETAINED))
        if [ref for ref in op.still_written() if ref not in (last, *stay)]:
            return
        if last not in made or last in kept:
            op.ledger.delete()
        op.ledger.forget()
        op.uncertain = False


def take_back_namespace(op: Session, made: Mapping[ObjectRef, str]) -> None:
    """Remove the record's namespace, if this operation made it."""
    created = {
        ref: uid
        for ref, uid in made.items()
        if op.actions.get(ref) is Action.CREATED
    }
    with contextlib.suppress(errors.Error):
        take_namespace(op, created)
        op.uncertain = False


def labelled_objects(
    op: Session,
) -> tuple[dict[ObjectRef, str], frozenset[ObjectRef]]:
    """Find the objects with the mark of an instance without a record.

    Returns those that it provably created, with UIDs, and the rest. Both are
    empty where another namespace has a record of that name, or where that
    cannot be determined.
    """
    if other_instances.has_record(op.cluster, op.instance):
        return {}, frozenset()
    selector = f"{objects.INSTANCE}={op.instance}"
    manager = objects.MANAGER + op.instance
    ours = {}
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
        # What may not be listed may not be deleted by us either.
        for obj in () if isinstance(listed, errors.Error) else listed:
            if ownership.has_instance_label(obj, op.instance):
                ours[ObjectRef.of(obj)] = objects.uid(obj)
            elif ownership.applied_by(obj, manager):
                doubtful.add(ObjectRef.of(obj))
    return ours, frozenset(doubtful)


def take_namespace(op: Session, owned: Mapping[ObjectRef, str]) -> None:
    """Remove the record's namespace; the record and the Lease go with it."""
    steps = [plan.Delete(ref, uid) for ref, uid in owned.items()]
    if steps:
        stage_runner.delete_stage(op, steps, "namespace of the record")


def release_adopted(
    op: Session, taken: Mapping[ObjectRef, str]
) -> dict[ObjectRef, str]:
    """Release the adopted objects that are left: by object, why.

    Fields that only this instance set are removed, unless no other manager has
    set any: then the object stays unchanged.
    """
    gifts = {
        ref: gift
        for ref, gift in op.inventory.transferred_in.items()
        if taken.get(ref) == gift.uid
    }
    back = adopt_from.return_objects(op, gifts)
    there = set()
    alone = {}
    for ref, uid in taken.items():
        if ref in back:
            continue
        obj = op.cluster.get(ref)
        if obj is None or objects.uid(obj) != uid:
            continue
        if ref in gifts:
            adopt_from.rename_field_manager(op, ref, gifts[ref])
            alone[ref] = uid
            continue
        if not ownership.set_by_others(obj, op.manager):
            alone[ref] = uid
            continue
        try:
            apply.release_fields(
                op.ledger.fenced_cluster, obj, op.manager, uid
            )
        except errors.Rejected:
            alone[ref] = uid  # it cannot be without what we have set
        except errors.Conflict:
            continue  # deleted, or no longer owned
        else:
            there.add(ref)
    there |= orphan.orphan(op.ledger.fenced_cluster, alone, op.manager)
    why = "it was taken over from others, and is left to nobody"
    told = {
        r: f"it was given back to the instance {i}" for r, i in back.items()
    }
    return {**dict.fromkeys(sorted(there), why), **told}
