"""Plan a package against what an instance has, carry it out, take it back."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import ownership
from tacker_k8s_cr.applying import apply
from tacker_k8s_cr.applying import owners
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.lcm import preflight
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.prepare import Prepared
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package import numbers
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.planning import authored
from tacker_k8s_cr.planning import barriers
from tacker_k8s_cr.planning import needs
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning import plan
from tacker_k8s_cr.policy import Policy
from tacker_k8s_cr.recording import neighbours
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.terminating import leave
from tacker_k8s_cr.terminating import remove
from tacker_k8s_cr.terminating import staying

REFUSALS = (
    errors.Rejected,
    errors.Conflict,
    errors.Refused,
    errors.Owned,
    errors.Forbidden,
    errors.KindUnknown,
)
"""Errors that waiting cannot help: what was begun is taken back."""


def namespace(name: str) -> ObjectRef:
    return ObjectRef("", "Namespace", "", name)


def levels(package: Package, before: Inventory) -> dict[str, int]:
    """Scale levels to go on with: as they are, where the aspects still are."""
    if package.vnfd is None:
        return dict(before.scale_levels)
    first, _ = numbers.at_level(package.vnfd)
    return {
        aspect: min(
            before.scale_levels.get(aspect, level),
            package.vnfd.aspects[aspect].max_level,
        )
        for aspect, level in first.items()
    }


def planned(
    op: Operation, ready: Prepared, before: Inventory, policy: Policy
) -> plan.Plan:
    """The plan of a package in the place of what the instance has."""
    manifests = authored.manifests(before)
    asked = authored.asked_to_prune(before, policy)
    dropped = before.owned.keys() - {item.ref for item in ready.items}
    asked.update(dict.fromkeys(used(op, dropped, manifests), False))
    former = plan.Former(
        before.owned,
        namespace(op.namespace),
        asked,
        placing.defines(manifests.values()),
        needs.needs(manifests),
        barriers.recorded(manifests),
    )
    found = plan.change(
        ready.items,
        ready.registry,
        former,
        ready.owners.live,
        ready.owners.going,
        ready.order,
    )
    gone = {
        step.ref: step.uid
        for stage in found.stages
        for step in stage.steps
        if isinstance(step, plan.Delete)
    }
    preflight.deleting(op.cluster, gone, wanted=op.options.check_rights)
    refuse_losses(op, gone)
    return found


def used(
    op: Operation,
    refs: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
) -> Mapping[ObjectRef, str]:
    """Of what is to be deleted, what other instances share: by whom.

    With what serves it, as long as that is to be deleted, too.
    """
    found = stays(op, refs, manifests, {})
    op.notes.update({ref: (why,) for ref, why in found.items()})
    return found


def stays(
    op: Operation,
    refs: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
    said: Mapping[ObjectRef, tuple[bool, str]],
) -> dict[ObjectRef, str]:
    """What is not to be deleted, by object why: it is said, or used."""
    shared = {}
    if not op.options.lose_others:
        shared = neighbours.used(op.cluster, op.instance, refs)
    stay = {ref: (True, why) for ref, why in shared.items()}
    return staying.staying(refs, manifests, {**said, **stay})


def refuse_losses(op: Operation, going: Mapping[ObjectRef, str]) -> None:
    """Raise WouldBeLost for what would go along and is not the instance's."""
    if op.options.lose_others:
        return
    others = remove.foreign(op.cluster, going, op.instance)
    if others:
        raise errors.WouldBeLost(others)


def record_namespace(
    op: Operation, planned: plan.Plan
) -> dict[ObjectRef, str]:
    """Make the namespace of the record, if the package brings it.

    It is a stage of its own, before there can be a record. Its label and
    manager are what a later run knows it by.
    """
    ref = namespace(op.namespace)
    steps = [
        # It can wait for nothing: there is no record before it.
        dataclasses.replace(step, after=frozenset())
        for stage in planned.stages
        for step in stage.steps
        if step.ref == ref and isinstance(step, plan.Apply)
    ]
    if steps:
        op.bring_in(steps, "namespace of the record")
        return {ref: op.progress.awaited[ref].uid}
    if op.cluster.get_metadata(ref) is None:
        raise errors.NamespaceAbsent(
            {op.namespace: [f"the record of {op.instance}"]}
        )
    return {}


def bring_in(
    op: Operation,
    planned: plan.Plan,
    ready: Prepared,
    inventory: Inventory,
) -> None:
    """Carry out the stages, and wait for all that they applied."""
    op.ledger.write(inventory)
    op.expecting(ready.expected)
    not_yet = ready.not_yet
    for stage in planned.stages:
        if not_yet and stage.name != plan.DEFINITIONS:
            not_yet = prepare.again(
                op.cluster,
                ready,
                not_yet,
                stage,
                op.instance,
                op.options.conflict,
            )
        op.carry_out(stage)
        not_yet -= set(stage.refs)
        served(op, stage)
    op.settle()


def served(op: Operation, stage: plan.Stage) -> None:
    """Wait until the kinds that a stage brought are served."""
    op.served(
        step.manifest for step in stage.steps if isinstance(step, plan.Apply)
    )


def taken_up(op: Operation) -> Inventory:
    """The inventory, with what a crash left between a write and it."""
    return op.inventory.owning(owners.left_by_crash(op.cluster, op.inventory))


def take_back(op: Operation) -> None:
    """Remove what this operation made; the lock is held.

    The record goes too, if nothing is left that it has to tell of.
    """
    if op.ledger.entry is None:
        op.ledger.retire()
        return
    last = namespace(op.namespace)
    with contextlib.suppress(errors.Error):
        # Every write was a creation: the instance had nothing before.
        made = {
            ref: uid
            for ref, uid in taken_up(op).owned.items()
            if op.actions.get(ref, Action.CREATED) is Action.CREATED
        }
        stages = plan.terminate(
            made, op.progress.registry, last, authored.order(op.inventory)
        ).stages
        for stage in stages:
            if last not in stage.refs:
                op.carry_out(stage)
        left = [ref for ref in op.remaining() if ref != last]
        if left:
            return
        if last not in made:
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
        op.take_away(steps, "namespace of the record")


def released(
    op: Operation, taken: Mapping[ObjectRef, str]
) -> dict[ObjectRef, str]:
    """Give up what was taken over from others, and is left: by object, why.

    Fields that only we set go, unless nobody else has set any: it stays.
    """
    there = set()
    alone = {}
    for ref, uid in taken.items():
        obj = op.cluster.get(ref)
        if obj is None or objects.uid(obj) != uid:
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
    return dict.fromkeys(sorted(there), why)
