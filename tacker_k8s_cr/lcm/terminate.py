"""Remove an instance with all that it made."""

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
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.execution import undo
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.scaling import machine_annotations
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import claims
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
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan import waves
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.inventory import Phase
from tacker_k8s_cr.state import stray_chunks

LOG = logging.getLogger(__name__)

CLEANUP = "cleanup"
"""Annotation of a Cluster: what is removed in its cluster before deletion."""


def terminate(
    request: Request,
) -> Report:
    """Delete all that the instance created, and its record.

    Objects that it adopted are released and stay, as do objects to be retained
    with all that they depend on, and those that other instances use.

    Refuses, before anything is deleted, if objects of other owners would be
    deleted with a definition or a namespace of the instance.
    """
    op = Session("terminate", request)
    op.ledger.read()
    return terminate_recorded(op, request.registry)


def terminate_recorded(
    op: Session, registry: Registry, *, keeping: bool = True
) -> Report:
    """Delete the instance whose record the operation has read.

    :param keeping: leave objects that are to be retained after the instance.
        The rollback of an instantiation deletes these too.
    """
    op.use_registry(registry)
    if op.ledger.entry is None:
        return _ended_without_record(op, keeping=keeping)
    last = execute.namespace(op.home)
    inventory = dataclasses.replace(
        execute.recovered_inventory(op), phase=Phase.TERMINATING
    )
    met = {
        r: u for r, u in inventory.owned.items() if r in inventory.preexisting
    }
    ours = inventory.without_owned(met)
    manifests = retain.manifests(op, inventory)
    # A repeated termination has resolved the policy before.
    retention = retain.retention(inventory.policy, op.options, keeping)
    said: dict[ObjectRef, tuple[bool, str]] = {}
    if keeping:
        said = retained_objects.retention_choices(
            ours.owned,
            manifests,
            inventory.policy,
            op.options.on_terminate,
            op.options.on_terminate_default,
            repeated=op.inventory.phase is Phase.TERMINATING,
        )
        # A repeated end keeps the same, whatever its request leaves out.
        settled: dict[Subject, bool] = {
            **retention.by_claim,
            **{ref: stays for ref, (stays, _) in said.items()},
        }
        policy = dataclasses.replace(inventory.policy, on_terminate=settled)
        inventory = dataclasses.replace(inventory, policy=policy)
        ours = dataclasses.replace(ours, policy=policy)
    rules = claims.load_rules(op, inventory, retention)
    inventory = dataclasses.replace(inventory, claim_rules=rules)
    ours = dataclasses.replace(ours, claim_rules=rules)
    kept, found = retain.find(op, inventory, retention, manifests, said)
    going = ours.without_owned(kept).owned
    cleanup = claims.cleanup(op, inventory, retention, {*kept, *met})
    cleanup.check_permissions()
    _check(op, kept, going, found.decisions.requested)
    left: dict[ObjectRef, str] = {}
    with op.locked():
        # What stays is not to go first, nor to be replaced, years later.
        machine_annotations.remove_annotations(op, op.inventory)
        op.ledger.write(inventory.with_journal(op.name, "", ()))
        # No instance begins to share from now on; one may have before.
        kept, found = retain.find(op, inventory, retention, manifests, said)
        going = ours.without_owned(kept).owned
        if met:
            left = undo.release_adopted(op, met)
            op.ledger.write(ours.with_journal(op.name, "", ()))
        stages = plan.terminate(
            going,
            registry,
            last,
            manifest_annotations.recorded_order(inventory),
        ).stages
        cleanup = claims.cleanup(op, inventory, retention, {*kept, *met})
        for stage, due in cleanup.interleave(stages):
            late = cleanup.delete(due)
            found = found.merge(late)
            kept = retain.with_required(
                kept, late, ours.owned, manifests, said
            )
            if stage and last not in stage.refs:
                _clear(op, stage, manifests)
                _look_again(op, stage.refs, going)
                stage_runner.run_stage(op, stage.without(kept))
        going = ours.without_owned(kept).owned
        kept = retain.leave(op, {ref: ours.owned[ref] for ref in kept}, kept)
        _look_again(op, {last} & going.keys(), going)
        if last not in going:
            op.ledger.delete()
    op.ledger.forget()
    if last in going:
        with op.annotate_errors():
            undo.take_namespace(op, {last: going[last]})
    stay = found.remaining(going)
    done = dict.fromkeys(left, Action.ORPHANED)
    done.update(dict.fromkeys([*kept, *stay], Action.RETAINED))
    return op.report(done, {**left, **kept, **stay})


def _check(
    op: Session,
    kept: Mapping[ObjectRef, str],
    going: Mapping[ObjectRef, str],
    claims_kept: Collection[ObjectRef],
) -> None:
    """Refuse a request that cannot be fulfilled, before any delete.

    :param claims_kept: claims that have to be retained.
    """
    op.options = dataclasses.replace(
        op.options,
        remove_finalizers=finalizers.resolve_requested(
            op.cluster,
            op.options.remove_finalizers,
            going,
            op.instance,
            op.namespace,
        ),
    )
    stay = {*kept, *claims_kept}
    if along := orphan.find_collected_dependents(op.cluster, stay, going):
        raise errors.RetentionImpossible(along)
    execute.refuse_foreign_deletion(op, going)


def _look_again(
    op: Session, refs: Collection[ObjectRef], going: Mapping[ObjectRef, str]
) -> None:
    """Refuse what others have made since the first look, and would go along.

    What takes others along goes last, be it half an hour after that look.
    """
    along = (placement.DEFINITION, placement.NAMESPACE)
    if op.deadline.now - op.begun < execute.AGAIN:
        return
    if any(ref.group_kind in along for ref in refs):
        execute.refuse_foreign_deletion(op, going, begun=True)


def _clear(
    op: Session,
    stage: plan.Stage,
    manifests: Mapping[ObjectRef, Manifest],
) -> None:
    """Remove in workload clusters what their Clusters would leave behind."""
    registry = op.progress.registry
    for ref in stage.refs:
        if not registry[ref.group_kind].delete_exclusively:
            continue
        what = op.options.cleanup
        if what is None:
            said = objects.annotation(manifests.get(ref, {}), CLEANUP)
            what = frozenset([said] if said else ())
        if what:
            try:
                workload_cleanup.clean_up(
                    op.cluster,
                    ref,
                    what,
                    op.deadline,
                    listen=op.on_progress,
                    guard=op.ledger.check,
                )
            except errors.CleanupFailed as error:
                op.uncertain = op.uncertain or error.begun
                raise


def _ended_without_record(op: Session, *, keeping: bool) -> Report:
    """Delete objects with the label of an instance whose record is missing.

    A process may have died before writing the record, a user may have
    deleted it, or a write without an answer may have been carried out
    after the end. Objects that only have the label are left and named.
    """
    last = execute.namespace(op.home)
    kept: dict[ObjectRef, str] = {}
    with op.ledger.lock_without_record(op.deadline), op.annotate_errors():
        ours, doubtful = undo.labelled_objects(op)
        pieces = stray_chunks.remove(
            op.ledger.fenced_cluster, op.instance, op.home
        )
        if not ours and not doubtful and not pieces:
            raise errors.InstanceNotFound(op.instance, op.home)
        live = dict(
            results_or_raise(op.cluster.map_parallel(op.cluster.get, ours))
        )
        manifests = {ref: obj for ref, obj in live.items() if obj}
        said = {}
        if keeping:
            said = retained_objects.retention_choices(
                ours,
                manifests,
                policies.DEFAULT,
                op.options.on_terminate,
                op.options.on_terminate_default,
            )
        retention = retain.retention(policies.DEFAULT, op.options, keeping)
        inventory = Inventory(
            op.instance,
            op.namespace,
            owned=ours,
            claim_rules=claims.derive_rules(op, live.values(), retention),
        )
        kept, found = retain.find(op, inventory, retention, manifests, said)
        going = {ref: uid for ref, uid in ours.items() if ref not in kept}
        cleanup = claims.cleanup(op, inventory, retention, kept)
        cleanup.check_permissions()
        _check(op, kept, going, found.decisions.requested)
        home = {ref: going.pop(ref) for ref in (last,) if ref in going}
        # The objects also record the order that their authors specified.
        order = waves.recorded_order(manifests)
        registry = op.progress.registry
        stages = plan.terminate(going, registry, order=order).stages
        # Without a record, claims are known only as long as their
        # StatefulSets exist.
        cleanup.request_deletion(found)
        for stage, due in cleanup.interleave(stages):
            late = cleanup.delete(due)
            found = found.merge(late)
            kept = retain.with_required(kept, late, ours, manifests, said)
            if stage:
                _clear(op, stage, manifests)
                rest = stage.without(kept).steps
                steps = [s for s in rest if isinstance(s, plan.Delete)]
                stage_runner.delete_stage(op, steps, stage.name)
        kept = retain.leave(op, {ref: ours[ref] for ref in kept}, kept)
    with op.annotate_errors():
        undo.take_namespace(op, home)
        if doubtful:
            raise errors.RecordMissing(op.instance, sorted(doubtful))
    kept = {**kept, **found.remaining(home)}
    return op.report(dict.fromkeys(kept, Action.RETAINED), kept)
