"""One operation on one instance: what all operations share."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import logging
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr import inventory as inventories
from tacker_k8s_cr import kinds
from tacker_k8s_cr import objects
from tacker_k8s_cr import wait
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
from tacker_k8s_cr.progress import Awaited
from tacker_k8s_cr.progress import Goal
from tacker_k8s_cr.progress import Progress
from tacker_k8s_cr.recording.ledger import Ledger
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report
from tacker_k8s_cr.report import Row

LOG = logging.getLogger(__name__)

DEFAULT_NAMESPACE = "default"

Listen = Callable[[Progress], None]


class Operation:
    """The machine that every operation is: ledger, stages and progress.

    Stages are announced in the ledger before their first request is sent.

    :ivar answered: what was sent that the server answers and does not keep.
    :ivar wrote: whether anything but the record was written.
    :ivar redefined: kinds whose definition was sent.
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
        self.wrote = False
        self.redefined: set[GroupKind] = set()
        self.actions: dict[ObjectRef, Action] = {}
        self.settled: dict[ObjectRef, float] = {}
        self.notes: dict[ObjectRef, tuple[str, ...]] = {}
        self.warnings: tuple[str, ...] = ()
        self.answered: list[Row] = []
        self.places: Mapping[ObjectRef, str] = {}
        self.progress = Progress(
            kinds.BUILT_IN,
            dwell=options.dwell,
            patient=options.on_failed == "settle",
        )
        self._listen = listen
        self.expected: set[GroupKind] = set()

    def knowing(self, registry: Registry) -> None:
        """Judge objects by these handlers."""
        self.progress = dataclasses.replace(self.progress, registry=registry)

    @property
    def registry(self) -> Registry:
        return self.progress.registry

    def expecting(self, kinds: Iterable[GroupKind]) -> None:
        """Learn of these kinds how they are served when they are there."""
        self.expected = set(kinds)

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
                error.places = self.places or error.places
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
        error.places = self.places or error.places
        error.written = tuple(self.remaining())
        error.begun = bool(error.written) or self.uncertain

    def warn(self, warnings: Iterable[str]) -> None:
        """Log what the author of the package should know, and report it."""
        self.warnings = tuple(warnings)
        for warning in self.warnings:
            LOG.warning("%s: %s: %s", self.instance, self.name, warning)

    def report_checking(self, count: int) -> None:
        """Tell that objects are looked at, before anything is written."""
        some = f"{count} object" if count == 1 else f"{count} objects"
        how = " (dry run)" if self.options.dry_run else ""
        self.listen(
            dataclasses.replace(
                self.progress, activity=f"checking {some}{how}"
            )
        )

    # -- Objects -------------------------------------------------------------

    def taken_in(
        self, ref: ObjectRef, obj: Manifest, action: Action, name: str
    ) -> None:
        """Wait for one object that was written in a way of its own."""
        now = self.deadline.now
        self.actions[ref] = action
        self.progress = self.progress.awaiting({ref: awaited(obj, now)}, name)
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

    def settle(self) -> None:
        """Wait until all that was applied is current.

        What is owned by then is stored before the wait: it may be long, and
        at its end there is little left to write.
        """
        if not self.progress.settled:
            self.ledger.write(self.inventory.entering(self.name, "wait", ()))
        self.wait()

    def wait(self, **until: Any) -> None:
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

    def held(self, refs: Iterable[ObjectRef]) -> bool:
        """Return whether one of these is not written yet, or not current."""
        progress = self.progress
        return any(
            ref not in progress.awaited or progress.is_open(ref)
            for ref in refs
        )

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
        # Nearly all that there is to know of many objects at rest.
        open_ = set(progress.unsettled) if progress.left else ()
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
            (*rows, *self.answered),
            now - self.begun,
            self.cluster.requests - self.requests,
            known.phase.value if known else "",
            self.home,
            self.warnings,
        )


def awaited(obj: Manifest, now: float, *, former: bool = False) -> Awaited:
    return Awaited(
        objects.uid(obj),
        objects.generation(obj),
        now,
        former,
        objects.version(obj),
    )
