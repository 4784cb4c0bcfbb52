"""Roll back an operation that ended early, or the last change."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.engine import kubernetes_versions
from tacker_k8s_cr.engine.set_replicas import ScaleTarget
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm import scale
from tacker_k8s_cr.lcm import terminate
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.execution import recreate_members
from tacker_k8s_cr.lcm.execution import restore
from tacker_k8s_cr.lcm.execution import template_retention
from tacker_k8s_cr.lcm.execution import undo
from tacker_k8s_cr.lcm.healing import pending_members
from tacker_k8s_cr.lcm.preparation import permissions_check
from tacker_k8s_cr.lcm.preparation import prepare
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.scaling import machine_annotations
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import claims
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.inventory import MemberRef
from tacker_k8s_cr.plan.inventory import Phase


def roll_back(
    request: Request,
    *,
    package: Package | None = None,
) -> Report:
    """Roll back the operation that ended early, or else the last change.

    An instantiation: all that it created is deleted, and the record. A scale:
    the objects get the former replica counts. A change of package: the former
    manifests are applied again and waited for, and what the change created is
    deleted, Clusters and definitions too. A heal: only its progress is undone;
    members that it deleted and no controller recreates are created again. A
    termination cannot be rolled back.

    A repetition has no effect: the former state is removed from the record
    when it has been restored.

    :param package: the package that an instance at rest is to have afterwards.
        An instance that has it already is left unchanged; without this
        parameter the last change is rolled back, whatever that was.

    Raises RollbackIncomplete for what could not be restored, when all else has
    been. A repetition then retries, and comes to rest in any case.
    """
    op = Session("rollback", request)
    op.ledger.read()
    entry = op.ledger.entry
    if entry is None:
        return terminate.terminate_recorded(
            op, request.registry, keeping=False
        )
    inventory = execute.recovered_inventory(op)
    if inventory.phase is Phase.INSTANTIATING:
        return terminate.terminate_recorded(
            op, request.registry, keeping=False
        )
    if inventory.phase is Phase.TERMINATING:
        if inventory.owned and inventory.journal.operation != op.name:
            raise errors.InstanceStateConflict(
                request.instance, inventory.phase.value
            )
        return terminate.terminate_recorded(
            op, request.registry, keeping=False
        )
    if inventory.phase is Phase.SCALING:
        return _unscaled(op, inventory, request.registry)
    if inventory.phase is Phase.HEALING:
        return _unhealed(op, inventory, request.registry)
    if inventory.phase is Phase.INSTANTIATED and not _undoable(
        inventory, package
    ):
        op.use_registry(request.registry)
        return op.report()
    return _unchanged(op, inventory, request.registry)


def _undoable(inventory: Inventory, package: Package | None) -> bool:
    """Return whether an instance at rest has a change to roll back."""
    if package is None or package.digest == inventory.digest:
        return package is None and inventory.previous_package is not None
    if (
        inventory.previous_package
        and inventory.previous_package.digest == package.digest
    ):
        return True
    raise errors.RequestInvalid(
        f"rollback: the instance {inventory.instance} was not of the package "
        f"{package.name} before its last change"
    )


def _told(op: Session, inventory: Inventory) -> bool:
    """Whether an earlier try said what it could not restore."""
    journal = inventory.journal
    return journal.operation == op.name and (
        errors.NOT_RESTORED in journal.error
    )


def _forget(
    op: Session, inventory: Inventory, marked: tuple[MemberRef, ...]
) -> None:
    """Record the instance at rest, with nothing left to roll back.

    :param marked: Machines whose annotations could not be removed.
    """
    op.ledger.save_idle(
        dataclasses.replace(
            inventory,
            previous_package=None,
            healing=None,
            former_limits={},
            machines_to_delete=marked,
        )
    )


# -- Of a heal ---------------------------------------------------------------


def _unhealed(op: Session, inventory: Inventory, registry: Registry) -> Report:
    """No member comes back, but one that went is made again."""
    known = prepare.registry_for(op.cluster, registry, inventory)
    op.use_registry(known)
    refs = [goer.ref for goer in pending_members.standalone_members(inventory)]
    found = results_or_raise(
        op.cluster.map_parallel(op.cluster.get_metadata, refs)
    )
    there = {objects.uid(obj): obj for _, obj in found if obj is not None}
    owed = pending_members.members_to_recreate(inventory, there)
    # A repetition can report what cannot be restored.
    told = _told(op, inventory)
    lost: dict[ObjectRef, str] = {}
    with op.locked():
        marked = machine_annotations.remove_annotations(op, inventory)
        after = inventory
        if owed:
            op.ledger.write(inventory.with_journal(op.name, "", ()))
            try:
                lost = recreate_members.recreate_members(
                    op, owed, there, registry, lenient=True
                )
                op.wait_applied()
            except execute.REFUSALS as error:
                lost = {goer.ref: error.sentence() for goer in owed}
            if lost and not told:
                raise errors.RollbackIncomplete(lost)
            after = op.inventory
        _forget(op, after, marked)
    return op.report(dict.fromkeys(lost, Action.RETAINED), lost)


# -- Of a scale --------------------------------------------------------------


def _unscaled(op: Session, inventory: Inventory, registry: Registry) -> Report:
    op.use_registry(scale.registry_of(op, registry, inventory))
    told = _told(op, inventory)
    lost: dict[ObjectRef, str] = {}
    targets: list[ScaleTarget] = []
    for ref, number in inventory.former_replicas.items():
        if number is None:
            lost[ref] = "its number before could not be read"
            continue
        try:
            strategy = scale.strategy_for(op, inventory, ref)
            targets.append(strategy.restore(ref, number))
        except scale.REFUSALS as error:
            lost[ref] = scale.short_reason(error)
    with op.locked():
        op.ledger.write(inventory.with_journal(op.name, "replicas", ()))
        refused = scale.try_set_replicas(op, targets)
        lost.update(refused)
        scale.settle(op, [t for t in targets if t.ref not in refused])
        # The number is back: without a mark before, another would go.
        marked = machine_annotations.remove_annotations(op, op.inventory)
        if lost and not told:
            raise errors.RollbackIncomplete(lost)
        _forget(op, op.inventory, marked)
    return op.report(dict.fromkeys(lost, Action.RETAINED), lost)


# -- Of a change -------------------------------------------------------------


def _unchanged(op: Session, now: Inventory, registry: Registry) -> Report:
    former = now.previous_package
    if former is None:  # no change leaves such a record
        raise errors.PreviousPackageMissing(now.instance)
    # A repetition can report what cannot be restored.
    told = _told(op, now)
    manifests, stay = kubernetes_versions.with_live_versions(
        op.cluster, former.manifests, former.live_names
    )
    wanted = dataclasses.replace(former, manifests=manifests)
    op.report_checking(len(manifests))
    ready = prepare.prepare_from_record(
        op,
        wanted,
        now,
        lenient=True,
        # The change has already recreated these, as the user requested.
        recreate={
            ref
            for ref, uid in former.owned.items()
            if now.owned.get(ref, uid) != uid
        },
    )
    op.use_registry(ready.registry)
    named = {item.ref for item in ready.items} | ready.refused.keys()
    new = {
        ref: uid
        for ref, uid in now.owned.items()
        if ref not in former.owned and ref not in named
    }
    others = now.preexisting | now.transferred_in.keys()
    taken = {ref: uid for ref, uid in new.items() if ref in others}
    made = {ref: uid for ref, uid in new.items() if ref not in others}
    used = execute.shared_with_others(
        op, made, manifest_annotations.manifests(now)
    )
    used.update(restore.needed(op, ready.refused, made.keys() - used.keys()))
    used.update(
        template_retention.templates_in_use(op.cluster, ready.items, made)
    )
    used.update(claims.volumes_in_use(op, made.keys() - used.keys(), made))
    made = {ref: uid for ref, uid in made.items() if ref not in used}
    permissions_check.require_delete(
        op.cluster, made, wanted=op.options.check_permissions
    )
    execute.refuse_foreign_deletion(op, made)
    back = dataclasses.replace(
        wanted,
        phase=Phase.CHANGING,
        owned=now.owned,
        shared=tuple(sorted(ready.owners.shared)),
        preexisting=now.preexisting,
        transferred_in=now.transferred_in,
        receipts=now.receipts,
        previous_package=former,
        claim_rules=now.claim_rules,
    )
    with op.locked():
        marked = machine_annotations.remove_annotations(op, now)
        back = dataclasses.replace(back, machines_to_delete=marked)
        op.ledger.write(back.with_journal(op.name, "", ()))
        restore.restore(
            op, ready, made, manifest_annotations.recorded_order(now)
        )
        lost = {**stay, **ready.refused, **restore.not_restored(op, ready)}
        given = undo.release_adopted(op, taken)
        op.ledger.remove_owned(taken)
        if lost and not told:
            raise errors.RollbackIncomplete({**lost, **given})
        _forget(op, op.inventory, marked)
    used.update(claims.claims_left(op))
    op.notes.update({ref: (why,) for ref, why in stay.items()})
    return op.report(
        {
            **dict.fromkeys(ready.refused, Action.RETAINED),
            **dict.fromkeys(used, Action.RETAINED),
            **dict.fromkeys(taken, Action.ORPHANED),
        },
        {**lost, **given, **used},
    )
