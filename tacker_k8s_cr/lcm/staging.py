"""Stages of an operation, carried out: writing, waiting, deleting.

Each is announced in the ledger before its first request is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import logging
import time

from tacker_k8s_cr import errors
from tacker_k8s_cr import wait
from tacker_k8s_cr.applying import apply
from tacker_k8s_cr.applying import check
from tacker_k8s_cr.applying import trial
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.lcm import create_only
from tacker_k8s_cr.lcm import operation
from tacker_k8s_cr.lcm import topologies
from tacker_k8s_cr.lcm import unsent
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.pending_applies import PendingApplies
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning.plan import Apply
from tacker_k8s_cr.planning.plan import Delete
from tacker_k8s_cr.planning.plan import Stage
from tacker_k8s_cr.planning.plan import Submit
from tacker_k8s_cr.progress import Awaited
from tacker_k8s_cr.progress import Goal
from tacker_k8s_cr.progress import Progress
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.terminating import finalizers
from tacker_k8s_cr.terminating import grace
from tacker_k8s_cr.terminating import remove
from tacker_k8s_cr.terminating.hanging import Hanging

LOG = logging.getLogger(__name__)

LONG = 2.0
"""Seconds of a pause from which on it is worth to watch meanwhile."""


def carry_out(op: Operation, stage: Stage) -> None:
    """One stage: journal, requests, and the wait that it asks for."""
    LOG.info(
        "%s: %s: %s, %d object(s)",
        op.instance,
        op.name,
        stage.name,
        len(stage.steps),
    )
    applies = [step for step in stage.steps if isinstance(step, Apply)]
    deletes = [step for step in stage.steps if isinstance(step, Delete)]
    op.ledger.announce(entering(op, stage, op.inventory))
    if applies:
        bring_in(op, applies, stage.name)
    submits = [step for step in stage.steps if isinstance(step, Submit)]
    if submits:
        op.wrote = True
        create_only.send(op, submits)
    if stage.barrier:
        topologies.settled(op)
    if deletes:
        take_away(op, deletes, stage.name)


def entering(op: Operation, stage: Stage, inventory: Inventory) -> Inventory:
    """Return the inventory with the journal of a stage.

    Only objects that the stage may create are pending: a step with a UID
    creates none.
    """
    pending = [
        step.ref
        for step in stage.steps
        if isinstance(step, Apply) and not step.uid
    ]
    return inventory.entering(op.name, stage.name, pending)


# -- Writing -----------------------------------------------------------------


def bring_in(
    op: Operation,
    steps: Iterable[Apply],
    name: str,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Apply, and take what was written into the inventory's owned."""
    op.listen(dataclasses.replace(op.progress, stage=name, activity=""))
    steps = unsent.taken_in(op, tuple(steps), name)
    if not steps:
        return
    op.wrote = True
    op.redefined |= set(placing.defines(s.manifest for s in steps).values())
    pending = PendingApplies(op, steps)

    def ready(step: Apply) -> bool:
        return not op.held(step.after)

    dependents = [step for step in steps if step.after]

    def held() -> int:
        return sum(not ready(step) for step in dependents)

    def pause(seconds: float) -> None:
        before = held()
        _pause(op, seconds, lambda: held() < before, sleep)

    try:
        apply.applied(
            op.ledger.writing,
            steps,
            op.manager,
            op.deadline,
            conflict=op.options.conflict,
            guard=op.ledger.guard,
            ready=ready,
            took=lambda written: _take_in(op, written, name),
            on_unwritten=pending.update,
            sleep=pause,
            brought=_brought(op, steps),
        )
        pending.clear()
    except apply.Halted as error:
        # A request whose answer is lost may have been carried out.
        lost = (errors.Unavailable, errors.Unreachable)
        op.uncertain = op.uncertain or isinstance(error.cause, lost)
        if isinstance(error.cause, errors.NotYet):
            pending.raise_not_current(error.cause)
        raise error.cause from error


def _brought(
    op: Operation, steps: Iterable[Apply]
) -> frozenset[tuple[str, str]]:
    """Return the names of all objects that the instance applies or applied."""
    entry = op.ledger.entry
    refs = {step.ref for step in steps}
    if entry:
        refs.update(entry.inventory.owned)
        refs.update(map(ObjectRef.of, entry.inventory.manifests))
    return trial.names(refs)


def _pause(
    op: Operation,
    seconds: float,
    enough: Callable[[], bool],
    sleep: Callable[[float], None],
) -> None:
    """Let time pass, and see what becomes of the objects meanwhile.

    What is owned by then is stored before a pause that may be long. Where
    no object moves there is none to watch, and the lock is looked at.
    """
    if op.progress.settled or seconds < LONG:
        sleep(min(seconds, apply.LONGEST))
        op.ledger.check()
        return
    if seconds > apply.LONGEST and op.ledger.entry:
        op.ledger.write(op.inventory)
    op.wait(enough=lambda progress: enough(), seconds=seconds)


def _take_in(
    op: Operation, written: Collection[apply.Written], name: str
) -> None:
    if not written:
        return
    if new := op.expected & {item.ref.group_kind for item in written}:
        found = {k: op.cluster.resource(k).subresources for k in new}
        op.knowing(check.judged(op.registry, found))
        op.expected -= new
    now = op.deadline.now
    awaited = {}
    views = []
    for item in written:
        # What an earlier step of the operation has written was written.
        if item.action is not Action.UNCHANGED or item.ref not in op.actions:
            op.actions[item.ref] = item.action
        if item.left:
            op.notes[item.ref] = (item.note,)
        former = item.action is Action.UNCHANGED
        awaited[item.ref] = operation.awaited(item.obj, now, former=former)
        views.append(item.obj)
    op.progress = op.progress.awaiting(awaited, name)
    op.listen(op.progress.observed(views, now))
    op.ledger.own({ref: found.uid for ref, found in awaited.items()})
    op.ledger.applied(views)


# -- Deleting ----------------------------------------------------------------


def take_away(
    op: Operation,
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
    going = Progress(op.registry, Goal.GONE, stage=name).awaiting(
        {step.ref: Awaited(step.uid, 0, now) for step in steps}
    )
    op.uncertain = op.wrote = True
    asked = remove.requested(
        op.ledger.writing,
        steps,
        grace_seconds=op.options.grace_seconds,
        guard=op.ledger.guard,
    )
    for ref in asked.gone:
        op.actions[ref] = Action.DELETED
    _hasten(op, steps, asked)
    going = going.vanished(asked.gone).observed(asked.going.values(), now)
    waiting = Hanging(
        op.cluster,
        op.deadline,
        op.listen,
        op.ledger.check,
        op.options.dwell,
        op.progress.patient,
    )
    going = wait.until_settled(
        op.cluster,
        going,
        op.instance if labelled else "",
        op.deadline,
        listen=waiting.listen,
        guard=waiting.guard,
        since=op.begun,
    )
    for step in steps:
        op.actions[step.ref] = Action.DELETED
    op.ledger.disown(going.awaited)


def _hasten(
    op: Operation, steps: Iterable[Delete], asked: remove.Requested
) -> None:
    """Do to what is going what was asked for so that it goes sooner."""
    seconds = op.options.grace_seconds
    writing, guard = op.ledger.writing, op.ledger.guard
    if seconds is not None:
        going = {step.ref: step.uid for step in steps}
        grace.shortened(writing, going, seconds, guard)
    named = op.options.remove_finalizers
    taken = finalizers.removed(writing, asked.going, named, op.manager, guard)
    for ref, names in taken.items():
        op.notes[ref] = (f"finalizers removed: {', '.join(names)}",)
