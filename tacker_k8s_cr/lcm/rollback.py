"""Roll back an operation that ended early, or the last change."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.engine import kubernetes_versions
from tacker_k8s_cr.engine.set_replicas import ScaleTarget
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm import scale
from tacker_k8s_cr.lcm import terminate
from tacker_k8s_cr.lcm.execution import deletion_checks
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.execution import recreate_members
from tacker_k8s_cr.lcm.execution import restore
from tacker_k8s_cr.lcm.execution import template_retention
from tacker_k8s_cr.lcm.execution import undo
from tacker_k8s_cr.lcm.healing import pending_members
from tacker_k8s_cr.lcm.machines import machine_annotations
from tacker_k8s_cr.lcm.preparation import kind_handlers
from tacker_k8s_cr.lcm.preparation import permissions_check
from tacker_k8s_cr.lcm.preparation import prepare_from_record
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import remaining_claims
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import MemberRef
from tacker_k8s_cr.plan.journal import Phase


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

    :param package: the package that an idle instance is to have afterwards. An
        instance that has it already is not changed; without this parameter
        the last change is rolled back, whatever it was.

    Raises RollbackIncomplete for objects that could not be restored, after all
    others have been. A repetition retries, and completes in any case.
    """
    op = Session("rollback", request)
    op.ledger.read()
    entry = op.ledger.entry
    if entry is None:
        return terminate.terminate_recorded(
            op, request.registry, retaining=False
        )
    inventory = execute.recovered_inventory(op)
    if inventory.phase is Phase.INSTANTIATING:
        return terminate.terminate_recorded(
            op, request.registry, retaining=False
        )
    if inventory.phase is Phase.TERMINATING:
        if inventory.owned and inventory.journal.operation != op.name:
            raise errors.InstanceStateConflict(
                request.instance, inventory.phase.value
            )
        return terminate.terminate_recorded(
            op, request.registry, retaining=False
        )
    if inventory.phase is Phase.SCALING:
        return _roll_back_scale(op, inventory, request.registry)
    if inventory.phase is Phase.HEALING:
        return _roll_back_heal(op, inventory, request.registry)
    if inventory.phase is Phase.INSTANTIATED and not _has_change_to_roll_back(
        inventory, package
    ):
        op.use_registry(request.registry)
        return op.report()
    return _roll_back_change(op, inventory, request.registry)


def _has_change_to_roll_back(
    inventory: Inventory, package: Package | None
) -> bool:
    """Return whether an idle instance has a change to roll back."""
    if package is None or package.digest == inventory.digest:
        return package is None and inventory.previous_package is not None
    if (
        inventory.previous_package
        and inventory.previous_package.digest == package.digest
    ):
        return True
    raise errors.RequestInvalid(
        f"rollback: {package.name} was not the previous package of the "
        f"instance {inventory.instance}"
    )


def _is_reported(op: Session, inventory: Inventory) -> bool:
    """Return whether an earlier attempt reported what is not restored."""
    journal = inventory.journal
    return journal.operation == op.name and (
        errors.NOT_RESTORED in journal.error
    )


def _save_rolled_back(
    op: Session, inventory: Inventory, annotated: tuple[MemberRef, ...]
) -> None:
    """Record the instance as idle, with nothing to roll back.

    :param annotated: Machines whose annotations could not be removed.
    """
    op.ledger.save_idle(
        dataclasses.replace(
            inventory,
            previous_package=None,
            healing=None,
            former_limits={},
            machines_to_delete=annotated,
        )
    )


# -- Rollback of a heal ------------------------------------------------------


def _roll_back_heal(
    op: Session, inventory: Inventory, registry: Registry
) -> Report:
    """Recreate members that were deleted and that no controller recreates."""
    known = kind_handlers.registry_for(op.cluster, registry, inventory)
    op.use_registry(known)
    refs = [
        member.ref for member in pending_members.standalone_members(inventory)
    ]
    found = results_or_raise(
        op.cluster.map_parallel(op.cluster.get_metadata, refs)
    )
    existing = {objects.uid(obj): obj for _, obj in found if obj is not None}
    to_recreate = pending_members.members_to_recreate(inventory, existing)
    # A repetition can report what cannot be restored.
    is_reported = _is_reported(op, inventory)
    not_restored: dict[ObjectRef, str] = {}
    with op.locked():
        annotated = machine_annotations.remove_annotations(op, inventory)
        after = inventory
        if to_recreate:
            op.ledger.write(inventory.with_journal(op.name, "", ()))
            try:
                not_restored = recreate_members.recreate_members(
                    op, to_recreate, existing, registry, lenient=True
                )
                op.wait_applied()
            except execute.REFUSALS as error:
                not_restored = {
                    member.ref: error.sentence() for member in to_recreate
                }
            if not_restored and not is_reported:
                raise errors.RollbackIncomplete(not_restored)
            after = op.inventory
        _save_rolled_back(op, after, annotated)
    return op.report(
        dict.fromkeys(not_restored, Action.RETAINED), not_restored
    )


# -- Rollback of a scale -----------------------------------------------------


def _roll_back_scale(
    op: Session, inventory: Inventory, registry: Registry
) -> Report:
    op.use_registry(scale.registry_for(op, registry, inventory))
    is_reported = _is_reported(op, inventory)
    not_restored: dict[ObjectRef, str] = {}
    targets: list[ScaleTarget] = []
    for ref, number in inventory.former_replicas.items():
        if number is None:
            not_restored[ref] = "its former replica count could not be read"
            continue
        try:
            strategy = scale.strategy_for(op, inventory, ref)
            targets.append(strategy.restore(ref, number))
        except scale.REFUSALS as error:
            not_restored[ref] = scale.short_reason(error)
    with op.locked():
        op.ledger.write(inventory.with_journal(op.name, "replicas", ()))
        refused = scale.try_set_replicas(op, targets)
        not_restored.update(refused)
        scale.wait_scaled(op, [t for t in targets if t.ref not in refused])
        # Only now that the count is restored: without the annotation another
        # Machine would have been deleted.
        annotated = machine_annotations.remove_annotations(op, op.inventory)
        if not_restored and not is_reported:
            raise errors.RollbackIncomplete(not_restored)
        _save_rolled_back(op, op.inventory, annotated)
    return op.report(
        dict.fromkeys(not_restored, Action.RETAINED), not_restored
    )


# -- Rollback of a change ----------------------------------------------------


def _roll_back_change(
    op: Session, now: Inventory, registry: Registry
) -> Report:
    former = now.previous_package
    if former is None:  # no change writes such a record
        raise errors.PreviousPackageMissing(now.instance)
    # A repetition can report what cannot be restored.
    is_reported = _is_reported(op, now)
    manifests, not_downgraded = kubernetes_versions.with_live_versions(
        op.cluster, former.manifests, former.live_names
    )
    wanted = dataclasses.replace(former, manifests=manifests)
    op.report_checking(len(manifests))
    ready = prepare_from_record.prepare_from_record(
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
    packaged = {item.ref for item in ready.items} | ready.refused.keys()
    new_objects = {
        ref: uid
        for ref, uid in now.owned.items()
        if ref not in former.owned and ref not in packaged
    }
    foreign = now.preexisting | now.transferred_in.keys()
    adopted = {ref: uid for ref, uid in new_objects.items() if ref in foreign}
    created = {
        ref: uid for ref, uid in new_objects.items() if ref not in foreign
    }
    in_use = deletion_checks.find_shared(
        op, created, manifest_annotations.manifests(now)
    )
    in_use.update(
        restore.find_needed(op, ready.refused, created.keys() - in_use.keys())
    )
    in_use.update(
        template_retention.find_templates_in_use(
            op.cluster, ready.items, created
        )
    )
    in_use.update(
        remaining_claims.find_volumes_in_use(
            op, created.keys() - in_use.keys(), created
        )
    )
    created = {ref: uid for ref, uid in created.items() if ref not in in_use}
    permissions_check.require_delete(
        op.cluster, created, wanted=op.options.check_permissions
    )
    deletion_checks.refuse_foreign_deletion(op, created)
    target = dataclasses.replace(
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
        annotated = machine_annotations.remove_annotations(op, now)
        target = dataclasses.replace(target, machines_to_delete=annotated)
        op.ledger.write(target.with_journal(op.name, "", ()))
        restore.restore(
            op, ready, created, manifest_annotations.recorded_order(now)
        )
        not_restored = {
            **not_downgraded,
            **ready.refused,
            **restore.find_not_restored(op, ready),
        }
        release_reasons = undo.release_adopted(op, adopted)
        op.ledger.remove_owned(adopted)
        if not_restored and not is_reported:
            raise errors.RollbackIncomplete(
                {**not_restored, **release_reasons}
            )
        _save_rolled_back(op, op.inventory, annotated)
    in_use.update(remaining_claims.find_remaining_claims(op))
    op.notes.update({ref: (why,) for ref, why in not_downgraded.items()})
    return op.report(
        {
            **dict.fromkeys(ready.refused, Action.RETAINED),
            **dict.fromkeys(in_use, Action.RETAINED),
            **dict.fromkeys(adopted, Action.ORPHANED),
        },
        {**not_restored, **release_reasons, **in_use},
    )
