"""Take back what an operation made, and give back what it took over."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import ownership
from tacker_k8s_cr.applying import apply
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import claims
from tacker_k8s_cr.lcm import staging
from tacker_k8s_cr.lcm import taking
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import authored
from tacker_k8s_cr.planning import plan
from tacker_k8s_cr.recording import neighbours
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.terminating import leave
from tacker_k8s_cr.terminating import retention as retentions


def take_back(op: Operation) -> None:
    """Remove what this operation made; the lock is held.

    The record goes too, if nothing is left that it has to tell of.
    """
    if op.ledger.entry is None:
        op.ledger.retire()
        return
    last = carry.namespace(op.home)
    with contextlib.suppress(errors.Error):
        inventory = carry.taken_up(op)
        # Every write was a creation: the instance had nothing before, but
        # for what it was to take over.
        made = {
            ref: uid
            for ref, uid in inventory.owned.items()
            if ref not in inventory.met
            and op.actions.get(ref, Action.CREATED) is Action.CREATED
        }
        met = inventory.owned.keys() & inventory.met
        if met:
            op.ledger.write(inventory)
            released(op, {ref: inventory.owned[ref] for ref in met})
            op.ledger.write(inventory.without(met))
            op.actions = {r: a for r, a in op.actions.items() if r not in met}
        retention = retentions.of_rollback(inventory.policy, op.options)
        rules = claims.load_rules(op, inventory, retention)
        inventory = dataclasses.replace(inventory, claim_rules=rules)
        cleanup = claims.cleanup(op, inventory, retention, met)
        found = cleanup.find()
        kept = found.required_objects(made)
        stages = plan.terminate(
            {ref: uid for ref, uid in made.items() if ref not in kept},
            op.progress.registry,
            last,
            authored.order(op.inventory),
        ).stages
        for stage, due in cleanup.interleave(stages):
            found = found.merge(cleanup.delete(due))
            kept = found.required_objects(made)
            if stage and last not in stage.refs:
                staging.carry_out(op, stage.without(kept))
        leave.left(
            op.ledger.writing,
            {ref: made[ref] for ref in kept},
            op.manager,
            op.ledger.guard,
        )
        stay = {**found.remaining(()), **kept}
        op.actions.update(dict.fromkeys(stay, Action.KEPT))
        if [ref for ref in op.remaining() if ref not in (last, *stay)]:
            return
        if last not in made or last in kept:
            op.ledger.retire()
        op.ledger.forget()
        op.uncertain = False


def take_back_namespace(op: Operation, made: Mapping[ObjectRef, str]) -> None:
    """Remove the record's namespace, if this operation made it."""
    created = {
        ref: uid
        for ref, uid in made.items()
        if op.actions.get(ref) is Action.CREATED
    }
    with contextlib.suppress(errors.Error):
        take_namespace(op, created)
        op.uncertain = False


def marked(
    op: Operation,
) -> tuple[dict[ObjectRef, str], frozenset[ObjectRef]]:
    """What bears the mark of an instance without a record.

    Returns what is proved to be made by it, with UIDs, and the rest. Both
    are empty where another namespace has a record of that name, or where
    that cannot be told.
    """
    if neighbours.alive(op.cluster, op.instance):
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
    for _, listed in op.cluster.each(
        lambda kind: tuple(op.cluster.list_metadata(kind, "", selector)),
        kinds,
    ):
        # What may not be listed may not be deleted by us either.
        for obj in () if isinstance(listed, errors.Error) else listed:
            if ownership.ours(obj, op.instance):
                ours[ObjectRef.of(obj)] = objects.uid(obj)
            elif ownership.applied_by(obj, manager):
                doubtful.add(ObjectRef.of(obj))
    return ours, frozenset(doubtful)


def take_namespace(op: Operation, owned: Mapping[ObjectRef, str]) -> None:
    """Remove the record's namespace; the record and the Lease go with it."""
    steps = [plan.Delete(ref, uid) for ref, uid in owned.items()]
    if steps:
        staging.take_away(op, steps, "namespace of the record")


def released(
    op: Operation, taken: Mapping[ObjectRef, str]
) -> dict[ObjectRef, str]:
    """Give up what was taken over from others, and is left: by object, why.

    Fields that only we set go, unless nobody else has set any: it stays.
    """
    gifts = {
        ref: gift
        for ref, gift in op.inventory.taken.items()
        if taken.get(ref) == gift.uid
    }
    back = taking.given_back(op, gifts)
    there = set()
    alone = {}
    for ref, uid in taken.items():
        if ref in back:
            continue
        obj = op.cluster.get(ref)
        if obj is None or objects.uid(obj) != uid:
            continue
        if ref in gifts:
            taking.renamed(op, ref, gifts[ref])
            alone[ref] = uid
            continue
        if not ownership.set_by_others(obj, op.manager):
            alone[ref] = uid
            continue
        try:
            apply.given_up(op.ledger.writing, obj, op.manager, uid)
        except errors.Rejected:
            alone[ref] = uid  # it cannot be without what we have set
        except errors.Outdated:
            continue  # gone, or somebody else's by now
        else:
            there.add(ref)
    there |= leave.left(op.ledger.writing, alone, op.manager)
    why = "it was taken over from others, and is left to nobody"
    told = {
        r: f"it was given back to the instance {i}" for r, i in back.items()
    }
    return {**dict.fromkeys(sorted(there), why), **told}
