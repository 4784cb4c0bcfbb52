"""Run the stages of an operation: write, wait, delete.

Each stage is announced in the record before its first request is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import logging
import time

from tacker_k8s_cr.engine import apply
from tacker_k8s_cr.engine import apply_object
from tacker_k8s_cr.engine import delete
from tacker_k8s_cr.engine import dry_run
from tacker_k8s_cr.engine import finalizers
from tacker_k8s_cr.engine import grace_period
from tacker_k8s_cr.engine import kind_resolution
from tacker_k8s_cr.lcm import session
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import create_only
from tacker_k8s_cr.lcm.stages import skip_unchanged
from tacker_k8s_cr.lcm.stages import wait_topology
from tacker_k8s_cr.lcm.stages.deletion_watchdog import DeletionWatchdog
from tacker_k8s_cr.lcm.stages.pending_applies import PendingApplies
from tacker_k8s_cr.model import backoff
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.steps import Apply
from tacker_k8s_cr.plan.steps import Delete
from tacker_k8s_cr.plan.steps import Stage
from tacker_k8s_cr.plan.steps import Submit
from tacker_k8s_cr.wait import settled
from tacker_k8s_cr.wait.progress import AwaitedObject
from tacker_k8s_cr.wait.progress import Goal
from tacker_k8s_cr.wait.progress import WaitState

LOG = logging.getLogger(__name__)

WATCH_FROM = 2.0
"""Minimum seconds of a pause during which objects are watched."""


def run_stage(op: Session, stage: Stage) -> None:
    """Run one stage: journal, requests, and the wait of its barrier."""
    LOG.info(
        "%s: %s: %s, %d object(s)",
        op.instance,
        op.name,
        stage.name,
        len(stage.steps),
    )
    applies = [step for step in stage.steps if isinstance(step, Apply)]
    deletes = [step for step in stage.steps if isinstance(step, Delete)]
    op.ledger.announce(with_stage_journal(op, stage, op.inventory))
    if applies:
        apply_stage(op, applies, stage.name)
    submits = [step for step in stage.steps if isinstance(step, Submit)]
    if submits:
        op.wrote = True
        create_only.send_create_only(op, submits)
    if stage.barrier:
        wait_topology.wait_topology(op)
    if deletes:
        delete_stage(op, deletes, stage.name)


def with_stage_journal(
    op: Session, stage: Stage, inventory: Inventory
) -> Inventory:
    """Return the inventory with the journal of a stage.

    Only objects that the stage may create are pending: a step with a UID
    creates none.
    """
    pending = [
        step.ref
        for step in stage.steps
        if isinstance(step, Apply) and not step.uid
    ]
    return inventory.with_journal(op.name, stage.name, pending)


# -- Writing -----------------------------------------------------------------


def apply_stage(
    op: Session,
    steps: Iterable[Apply],
    name: str,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Apply manifests, and record the written objects as owned."""
    op.on_progress(dataclasses.replace(op.progress, stage=name, activity=""))
    steps = skip_unchanged.skip_unchanged(op, tuple(steps), name)
    if not steps:
        return
    op.wrote = True
    op.redefined |= set(
        placement.kinds_by_crd(s.manifest for s in steps).values()
    )
    pending = PendingApplies(op, steps)

    def is_ready(step: Apply) -> bool:
        return not op.has_unready(step.after)

    dependents = [step for step in steps if step.after]

    def count_held() -> int:
        return sum(not is_ready(step) for step in dependents)

    def pause(seconds: float) -> None:
        before = count_held()
        _pause(op, seconds, lambda: count_held() < before, sleep)

    try:
        apply.apply_all(
            op.ledger.fenced_cluster,
            steps,
            op.manager,
            op.deadline,
            apply.ApplyHooks(
                op.ledger.guard,
                is_ready,
                lambda written: _record_written(op, written, name),
                pending.update,
                pause,
            ),
            field_conflicts=op.options.field_conflicts,
            packaged=_applied_names(op, steps),
        )
        pending.clear()
    except apply.ApplyInterrupted as error:
        # A request without a response may have been carried out.
        lost = (errors.Unavailable, errors.Unreachable)
        op.uncertain = op.uncertain or isinstance(error.cause, lost)
        if isinstance(error.cause, errors.DependencyMissing):
            pending.raise_not_current(error.cause)
        raise error.cause from error


def _applied_names(
    op: Session, steps: Iterable[Apply]
) -> frozenset[tuple[str, str]]:
    """Return the names of all objects that the instance applies or applied."""
    entry = op.ledger.entry
    refs = {step.ref for step in steps}
    if entry:
        refs.update(entry.inventory.owned)
        refs.update(map(ObjectRef.of, entry.inventory.manifests))
    return dry_run.names_of(refs)


def _pause(
    op: Session,
    seconds: float,
    is_enough: Callable[[], bool],
    sleep: Callable[[float], None],
) -> None:
    """Pause, and watch the objects meanwhile.

    The owned objects are recorded before a pause that may be long. If all
    objects are settled there is nothing to watch; only the lock is checked.
    """
    if op.progress.is_settled or seconds < WATCH_FROM:
        sleep(min(seconds, backoff.APPLY.maximum))
        op.ledger.check()
        return
    if seconds > backoff.APPLY.maximum and op.ledger.entry:
        op.ledger.write(op.inventory)
    op.wait(is_enough=lambda progress: is_enough(), seconds=seconds)


def _record_written(
    op: Session, written: Collection[apply_object.ApplyResult], name: str
) -> None:
    if not written:
        return
    if newly_served := op.expected & {item.ref.group_kind for item in written}:
        subresources = {
            k: op.cluster.resource(k).subresources for k in newly_served
        }
        op.use_registry(
            kind_resolution.with_statusless_kinds(op.registry, subresources)
        )
        op.expected -= newly_served
    now = op.deadline.now
    awaited = {}
    views = []
    for item in written:
        # An earlier step of the operation may have written it.
        if item.action is not Action.UNCHANGED or item.ref not in op.actions:
            op.actions[item.ref] = item.action
        if item.foreign_fields:
            op.notes[item.ref] = (item.note,)
        former = item.action is Action.UNCHANGED
        awaited[item.ref] = session.awaited_object(
            item.obj, now, op.registry, former=former
        )
        views.append(item.obj)
    op.progress = op.progress.with_awaited(awaited, name)
    op.on_progress(op.progress.with_observed(views, now))
    op.ledger.add_owned(
        {ref: subresources.uid for ref, subresources in awaited.items()}
    )
    op.ledger.applied(views)


# -- Deleting ----------------------------------------------------------------


def delete_stage(
    op: Session,
    steps: Iterable[Delete],
    name: str,
    *,
    labelled: bool = True,
) -> None:
    """Delete objects, wait until they are deleted, and remove their ownership.

    :param labelled: the objects have the label of the instance, which
        selects the objects to watch.
    """
    steps = tuple(steps)
    now = op.deadline.now
    waiting_state = WaitState(
        op.registry, Goal.DELETED, stage=name
    ).with_awaited(
        {step.ref: AwaitedObject(step.uid, 0, now) for step in steps}
    )
    op.uncertain = op.wrote = True
    request = delete.request_deletion(
        op.ledger.fenced_cluster,
        steps,
        grace_seconds=op.options.grace_seconds,
        guard=op.ledger.guard,
    )
    for ref in request.deleted:
        op.actions[ref] = Action.DELETED
    _hasten(op, steps, request)
    waiting_state = waiting_state.with_deleted(request.deleted).with_observed(
        request.terminating.values(), now
    )
    watchdog = DeletionWatchdog(
        op.cluster,
        op.deadline,
        op.on_progress,
        op.ledger.check,
        op.options.stall_timeout,
        op.progress.wait_all,
    )
    waiting_state = settled.wait_settled(
        settled.Waiting(
            op.cluster,
            op.instance if labelled else "",
            op.deadline,
            watchdog.listen,
            watchdog.guard,
            op.begun,
        ),
        waiting_state,
    )
    for step in steps:
        op.actions[step.ref] = Action.DELETED
    op.ledger.remove_owned(waiting_state.awaited)


def _hasten(
    op: Session, steps: Iterable[Delete], request: delete.DeletionRequest
) -> None:
    """Apply the requested measures that speed up a running deletion."""
    seconds = op.options.grace_seconds
    writing, guard = op.ledger.fenced_cluster, op.ledger.guard
    if seconds is not None:
        waiting_state = {step.ref: step.uid for step in steps}
        grace_period.shorten_grace_periods(
            writing, waiting_state, seconds, guard
        )
    selected = op.options.remove_finalizers
    removed = finalizers.remove_finalizers(
        writing, request.terminating, selected, op.manager, guard
    )
    for ref, names in removed.items():
        op.notes[ref] = (f"finalizers removed: {', '.join(names)}",)
