"""One operation on one instance: what all operations share."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import logging
import time
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr import inventory as inventories
from tacker_k8s_cr import kinds
from tacker_k8s_cr import objects
from tacker_k8s_cr import wait
from tacker_k8s_cr.applying import apply
from tacker_k8s_cr.applying import check
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning.plan import Apply
from tacker_k8s_cr.planning.plan import Delete
from tacker_k8s_cr.planning.plan import Stage
from tacker_k8s_cr.progress import Awaited
from tacker_k8s_cr.progress import Goal
from tacker_k8s_cr.progress import Progress
from tacker_k8s_cr.recording.ledger import Ledger
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report
from tacker_k8s_cr.report import Row
from tacker_k8s_cr.terminating import finalizers
from tacker_k8s_cr.terminating import grace
from tacker_k8s_cr.terminating import remove
from tacker_k8s_cr.terminating.hanging import Hanging

LOG = logging.getLogger(__name__)

LONG = 2.0
"""Seconds of a pause from which on it is worth to watch meanwhile."""

DEFAULT_NAMESPACE = "default"

Listen = Callable[[Progress], None]


class Operation:
    """The machine that every operation is: ledger, stages and progress.

    Stages are announced in the ledger before their first request is sent.
    """

    def __init__(
        self,
        name: str,
        cluster: Cluster,
        instance: str,
        namespace: str,
        deadline: Deadline,
        options: Options,
        listen: Listen | None,
        record_namespace: str = "",
    ):
        self.name = name
        self.cluster = cluster.until(deadline)
        self.instance = inventories.checked_name(instance)
        self.home = record_namespace or namespace or DEFAULT_NAMESPACE
        self.deadline = deadline
        self.options = options
        self.manager = objects.MANAGER + instance
        self.begun = deadline.now
        self.requests = cluster.requests
        if not record_namespace:
            namespace = self.home
        self.ledger = Ledger(self.cluster, self.instance, self.home, namespace)
        self.uncertain = False
        self.actions: dict[ObjectRef, Action] = {}
        self.settled: dict[ObjectRef, float] = {}
        self.notes: dict[ObjectRef, tuple[str, ...]] = {}
        self.progress = Progress(
            kinds.BUILT_IN,
            dwell=options.dwell,
            patient=options.on_failed == "settle",
        )
        self._listen = listen
        self._expected: set[GroupKind] = set()

    def knowing(self, registry: Registry) -> None:
        """Judge objects by these handlers."""
        self.progress = dataclasses.replace(self.progress, registry=registry)

    def expecting(self, kinds: Iterable[GroupKind]) -> None:
        """Learn of these kinds how they are served when they are there."""
        self._expected = set(kinds)

    @property
    def inventory(self) -> Inventory:
        return self.ledger.inventory

    @property
    def elsewhere(self) -> str:
        """The namespace of the record, if it is not the instance's."""
        return "" if self.home == self.namespace else self.home

    @property
    def namespace(self) -> str:
        """That of the instance, as its record says once it is read."""
        return self.ledger.namespace or DEFAULT_NAMESPACE

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock; an error is noted in the journal too."""
        with self.ledger.locked(self.deadline), self.telling():
            try:
                yield
            except errors.Error as error:
                self.ledger.note(error, self.deadline)
                raise

    @contextlib.contextmanager
    def telling(self) -> Iterator[None]:
        """Let an error say how far the operation came."""
        try:
            yield
        except errors.Error as error:
            self.tell(error)
            raise

    def tell(self, error: errors.Error) -> None:
        error.written = tuple(self.remaining())
        error.begun = bool(error.written) or self.uncertain

    # -- Stages --------------------------------------------------------------

    def carry_out(self, stage: Stage) -> None:
        """One stage: journal, requests, and the wait that it asks for."""
        LOG.info(
            "%s: %s: %s, %d object(s)",
            self.instance,
            self.name,
            stage.name,
            len(stage.steps),
        )
        applies = [step for step in stage.steps if isinstance(step, Apply)]
        deletes = [step for step in stage.steps if isinstance(step, Delete)]
        pending = [step.ref for step in applies]
        self.ledger.write(
            self.inventory.entering(self.name, stage.name, pending)
        )
        if applies:
            self.bring_in(applies, stage.name)
        if stage.barrier:
            self.settle()
        if deletes:
            self.take_away(deletes, stage.name)

    def bring_in(self, steps: Iterable[Apply], name: str) -> None:
        """Apply, and take what was written into the inventory's owned."""
        steps = tuple(steps)
        self.listen(dataclasses.replace(self.progress, stage=name))

        def ready(step: Apply) -> bool:
            return not any(map(self._is_open, step.after))

        dependents = [step for step in steps if step.after]

        def held() -> int:
            return sum(not ready(step) for step in dependents)

        def sleep(seconds: float) -> None:
            before = held()
            self._pause(seconds, lambda: held() < before)

        try:
            apply.applied(
                self.ledger.writing,
                steps,
                self.manager,
                self.deadline,
                conflict=self.options.conflict,
                guard=self.ledger.guard,
                ready=ready,
                took=lambda written: self._take_in(written, name),
                sleep=sleep,
            )
        except apply.Halted as error:
            # A request whose answer is lost may have been carried out.
            lost = (errors.Unavailable, errors.Unreachable)
            self.uncertain = self.uncertain or isinstance(error.cause, lost)
            raise error.cause from error

    def _is_open(self, ref: ObjectRef) -> bool:
        """Whether an object is not written yet, or not current."""
        progress = self.progress
        return ref not in progress.awaited or progress.is_open(ref)

    def _pause(self, seconds: float, enough: Callable[[], bool]) -> None:
        """Let time pass, and see what becomes of the objects meanwhile.

        What is owned by then is stored before a pause that may be long.
        """
        if self.progress.settled or seconds < LONG:
            time.sleep(seconds)
            return
        if seconds > apply.LONGEST and self.ledger.entry:
            self.ledger.write(self.inventory)
        self._wait(enough=lambda progress: enough(), seconds=seconds)

    def _take_in(self, written: Collection[apply.Written], name: str) -> None:
        if not written:
            return
        if new := self._expected & {item.ref.group_kind for item in written}:
            found = {k: self.cluster.resource(k).subresources for k in new}
            self.knowing(check.judged(self.progress.registry, found))
            self._expected -= new
        now = self.deadline.now
        awaited = {}
        views = []
        for item in written:
            self.actions[item.ref] = item.action
            if item.left:
                self.notes[item.ref] = (item.note,)
            former = item.action is Action.UNCHANGED
            awaited[item.ref] = dataclasses.replace(
                _awaited(item.obj, now), former=former
            )
            views.append(item.obj)
        self.progress = self.progress.awaiting(awaited, name)
        self.listen(self.progress.observed(views, now))
        self.ledger.own({ref: found.uid for ref, found in awaited.items()})

    def taken_in(
        self, ref: ObjectRef, obj: Manifest, action: Action, name: str
    ) -> None:
        """Wait for one object that was written in a way of its own."""
        now = self.deadline.now
        self.actions[ref] = action
        self.progress = self.progress.awaiting({ref: _awaited(obj, now)}, name)
        self.listen(self.progress.observed([obj], now))

    def look(self, owned: Mapping[ObjectRef, str]) -> None:
        """See how these objects are now, without waiting for anything.

        One that may go by itself and has is no more to be seen.
        """
        now = self.deadline.now
        views = dict(raised(self.cluster.each(self.cluster.get, owned)))
        there = {
            ref: obj
            for ref, obj in views.items()
            if obj is not None and objects.uid(obj) == owned[ref]
        }
        registry = self.progress.registry
        awaited = {
            ref: Awaited(uid, 0, now)
            for ref, uid in owned.items()
            if ref in there or not registry[ref.group_kind].fleeting
        }
        progress = self.progress.awaiting(awaited)
        progress = progress.observed(there.values(), now)
        self.actions.update(dict.fromkeys(awaited, Action.OWNED))
        self.listen(progress.vanished(awaited.keys() - there.keys()))

    def take_away(self, steps: Iterable[Delete], name: str) -> None:
        """Delete, wait until all is gone, and own it no longer."""
        steps = tuple(steps)
        now = self.deadline.now
        going = Progress(
            self.progress.registry, Goal.GONE, stage=name
        ).awaiting({step.ref: Awaited(step.uid, 0, now) for step in steps})
        self.uncertain = True
        asked = remove.requested(
            self.ledger.writing,
            steps,
            grace_seconds=self.options.grace_seconds,
            guard=self.ledger.guard,
        )
        for ref in asked.gone:
            self.actions[ref] = Action.DELETED
        self._hasten(steps, asked)
        going = going.vanished(asked.gone).observed(asked.going.values(), now)
        waiting = Hanging(
            self.cluster, self.deadline, self.listen, self.ledger.check
        )
        going = wait.until_settled(
            self.cluster,
            going,
            self.instance,
            self.deadline,
            listen=waiting.listen,
            guard=waiting.guard,
            since=self.begun,
        )
        for step in steps:
            self.actions[step.ref] = Action.DELETED
        self.ledger.disown(going.awaited)

    def _hasten(
        self, steps: Iterable[Delete], asked: remove.Requested
    ) -> None:
        """Do to what is going what was asked for so that it goes sooner."""
        seconds = self.options.grace_seconds
        writing, guard = self.ledger.writing, self.ledger.guard
        if seconds is not None:
            going = {step.ref: step.uid for step in steps}
            grace.shortened(writing, going, seconds, guard)
        named = self.options.remove_finalizers
        taken = finalizers.removed(
            writing, asked.going, named, self.manager, guard
        )
        for ref, names in taken.items():
            self.notes[ref] = (f"finalizers removed: {', '.join(names)}",)

    def settle(self) -> None:
        """Wait until all that was applied is current.

        What is owned by then is stored before the wait: it may be long, and
        at its end there is little left to write.
        """
        if not self.progress.settled:
            self.ledger.write(self.inventory.entering(self.name, "wait", ()))
        self._wait()

    def _wait(self, **until: Any) -> None:
        """Wait for what was applied; ``until`` may end that earlier."""
        wait.until_settled(
            self.cluster,
            self.progress,
            self.instance,
            self.deadline,
            listen=self.listen,
            guard=self.ledger.check,
            since=self.begun,
            **until,
        )

    def served(self, manifests: Iterable[Manifest]) -> None:
        """Wait until the kinds that the manifests bring are served."""
        kinds = {
            kind: found.versions
            for kind, found in placing.brought(manifests).items()
        }
        if kinds:
            wait.until_served(self.cluster, kinds, self.deadline)

    def remaining(self) -> list[ObjectRef]:
        """What the operation wrote and has not removed again."""
        return [
            ref
            for ref, action in self.actions.items()
            if action not in (Action.DELETED, Action.UNCHANGED)
        ]

    # -- What came of it -----------------------------------------------------

    def listen(self, progress: Progress) -> None:
        """Remember when each object settled, and tell who listens."""
        if progress.goal is Goal.CURRENT:
            self.progress = progress
        now = self.deadline.now
        open_ = set(progress.unsettled)
        for ref in progress.awaited:
            if ref not in open_ and ref not in self.settled:
                self.settled[ref] = now - self.begun
        if self._listen:
            self._listen(progress)

    def report(
        self,
        others: Mapping[ObjectRef, Action] | None = None,
        why: Mapping[ObjectRef, str] | None = None,
    ) -> Report:
        """The outcome, with objects that were looked at but not written.

        :param why: the reason for what was done to one of them.
        """
        now = self.deadline.now
        known = self.ledger.entry and self.ledger.entry.inventory
        uids = known.owned if known else {}
        rows = [
            Row(
                ref,
                action,
                Verdict(State.CURRENT, "gone")
                if action is Action.DELETED
                else self.progress.verdict(ref, now),
                uids.get(ref, ""),
                self.settled.get(ref, 0.0),
                self.notes.get(ref, ()),
            )
            for ref, action in self.actions.items()
        ]
        rows += [
            Row(
                ref,
                action,
                Verdict(State.CURRENT, (why or {}).get(ref, action.value)),
                notes=self.notes.get(ref, ()),
            )
            for ref, action in (others or {}).items()
            if ref not in self.actions
        ]
        return Report(
            self.instance,
            self.namespace,
            self.name,
            tuple(rows),
            now - self.begun,
            self.cluster.requests - self.requests,
            known.phase.value if known else "",
            self.home,
        )


def _awaited(obj: Manifest, now: float) -> Awaited:
    return Awaited(objects.uid(obj), objects.generation(obj), now)
