"""One operation on one instance: what all operations share."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import logging
from typing import Any

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import ObjectResult
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan import inventory as inventories
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.state.session import RecordSession
from tacker_k8s_cr.wait import served
from tacker_k8s_cr.wait import settled
from tacker_k8s_cr.wait.progress import AwaitedObject
from tacker_k8s_cr.wait.progress import Goal
from tacker_k8s_cr.wait.progress import WaitState

LOG = logging.getLogger(__name__)

DEFAULT_NAMESPACE = "default"


class Session:
    """The state of one running operation: record, lock, progress, actions.

    A stage is announced in the record before its first request is sent.

    :ivar create_only_results: of objects that the server does not store.
    :ivar wrote: whether anything but the record was written.
    :ivar redefined: kinds whose definition was applied.
    """

    def __init__(self, name: str, request: Request):
        self.name = name
        self.request = request
        self.cluster = request.cluster.with_deadline(request.deadline)
        self.instance = inventories.require_valid_name(request.instance)
        namespace = request.namespace
        self.record_namespace = (
            request.record_namespace or namespace or DEFAULT_NAMESPACE
        )
        self.deadline = request.deadline
        self.options = request.options
        self.manager = objects.MANAGER + request.instance
        self.begun = request.deadline.now
        self.requests = request.cluster.requests
        if not request.record_namespace:
            namespace = self.record_namespace
        self.ledger = RecordSession(
            self.cluster, self.instance, self.record_namespace, namespace
        )
        self.uncertain = False
        self.wrote = False
        self.redefined: set[GroupKind] = set()
        self.actions: dict[ObjectRef, Action] = {}
        self.settled: dict[ObjectRef, float] = {}
        self.notes: dict[ObjectRef, tuple[str, ...]] = {}
        self.warnings: tuple[str, ...] = ()
        self.create_only_results: list[ObjectResult] = []
        self.source_locations: Mapping[ObjectRef, str] = {}
        self.progress = WaitState(
            kinds.BUILT_IN,
            stall_timeout=request.options.stall_timeout,
            wait_all=request.options.on_failure == "wait_all",
        )
        self.expected: set[GroupKind] = set()

    def use_registry(self, registry: Registry) -> None:
        """Assess objects with these handlers."""
        self.progress = dataclasses.replace(self.progress, registry=registry)

    @property
    def registry(self) -> Registry:
        return self.progress.registry

    def expect_kinds(self, kinds: Iterable[GroupKind]) -> None:
        """Read how these kinds are served, as soon as they are."""
        self.expected = set(kinds)

    @property
    def inventory(self) -> Inventory:
        return self.ledger.inventory

    @property
    def separate_record_namespace(self) -> str:
        """Namespace of the record if it is not the instance's; else empty."""
        return (
            ""
            if self.record_namespace == self.namespace
            else self.record_namespace
        )

    @property
    def namespace(self) -> str:
        """Namespace of the instance, from its record once that is read."""
        return self.ledger.namespace or DEFAULT_NAMESPACE

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock; an error is noted in the journal too."""
        with self.ledger.locked(self.deadline), self.annotate_errors():
            try:
                yield
            except errors.Error as error:
                error.places = self.source_locations or error.places
                self.ledger.record_error(error, self.deadline)
                raise

    @contextlib.contextmanager
    def annotate_errors(self) -> Iterator[None]:
        """Add to an error what the operation has written."""
        try:
            yield
        except errors.Error as error:
            self.annotate_error(error)
            raise

    def annotate_error(self, error: errors.Error) -> None:
        error.places = self.source_locations or error.places
        error.written = tuple(self.written_objects())
        error.has_written = bool(error.written) or self.uncertain

    def warn(self, warnings: Iterable[str]) -> None:
        """Log what the author of the package should know, and report it."""
        self.warnings = tuple(warnings)
        for warning in self.warnings:
            LOG.warning("%s: %s: %s", self.instance, self.name, warning)

    def report_checking(self, count: int) -> None:
        """Report that objects are being checked, before the first write."""
        counted = f"{count} object" if count == 1 else f"{count} objects"
        suffix = " (dry run)" if self.options.dry_run else ""
        self.on_progress(
            dataclasses.replace(
                self.progress, activity=f"checking {counted}{suffix}"
            )
        )

    def require_supported(self, operation: str = "") -> None:
        """Raise NotSupported for an operation that the author excluded."""
        for inventory in (self.inventory, self.inventory.previous_package):
            if inventory and any(
                objects.annotation(manifest, manifest_annotations.OPERATIONS)
                for manifest in inventory.manifests
            ):
                manifest_annotations.require_supported(
                    self.inventory, operation or self.name
                )

    # -- Objects -------------------------------------------------------------

    def await_object(
        self, ref: ObjectRef, obj: Manifest, action: Action, name: str
    ) -> None:
        """Wait for one object that was not written by a stage."""
        now = self.deadline.now
        self.actions[ref] = action
        self.progress = self.progress.with_awaited(
            {ref: awaited_object(obj, now, self.registry)}, name
        )
        self.on_progress(self.progress.with_observed([obj], now))

    def snapshot(self, owned: Mapping[ObjectRef, str]) -> None:
        """Read the current state of these objects, without waiting.

        An ephemeral object that has been deleted is no longer observed.
        """
        now = self.deadline.now
        views = dict(
            results_or_raise(
                self.cluster.map_parallel(self.cluster.get, owned)
            )
        )
        existing = {
            ref: obj
            for ref, obj in views.items()
            if obj is not None and objects.uid(obj) == owned[ref]
        }
        registry = self.progress.registry
        awaited = {
            ref: AwaitedObject(uid, 0, now)
            for ref, uid in owned.items()
            if ref in existing or not registry[ref.group_kind].ephemeral
        }
        progress = self.progress.with_awaited(awaited)
        progress = progress.with_observed(existing.values(), now)
        self.actions.update(dict.fromkeys(awaited, Action.MANAGED))
        self.on_progress(
            progress.with_deleted(awaited.keys() - existing.keys())
        )

    def wait_applied(self) -> None:
        """Wait until all applied objects are current.

        The owned objects are recorded before the wait, which may be long.
        """
        if not self.progress.is_settled:
            self.ledger.write(
                self.inventory.with_journal(self.name, "wait", ())
            )
        self.wait()

    def wait(self, **until: Any) -> None:
        """Wait for applied objects; ``until`` may end the wait earlier."""
        waiting = settled.Waiting(
            self.cluster,
            self.instance,
            self.deadline,
            self.on_progress,
            self.ledger.check,
            self.begun,
        )
        settled.wait_settled(waiting, self.progress, **until)

    def wait_served(self, manifests: Iterable[Manifest]) -> None:
        """Wait until the kinds that the manifests define are served."""
        kinds = {
            kind: found.versions
            for kind, found in placement.packaged_kinds(manifests).items()
        }
        if kinds:
            served.wait_served(self.cluster, kinds, self.deadline)

    def has_unready(self, refs: Iterable[ObjectRef]) -> bool:
        """Return whether one of these is not written yet, or not current."""
        progress = self.progress
        return any(
            ref not in progress.awaited or progress.is_open(ref)
            for ref in refs
        )

    def written_objects(self) -> list[ObjectRef]:
        """Return what the operation wrote and has not deleted again."""
        return [
            ref
            for ref, action in self.actions.items()
            if action not in (Action.DELETED, Action.UNCHANGED)
        ]

    # -- The outcome ---------------------------------------------------------

    def on_progress(self, progress: WaitState) -> None:
        """Remember when each object settled, and call the listener."""
        if progress.goal is Goal.CURRENT:
            self.progress = progress
        now = self.deadline.now
        # A counter avoids work for many settled objects.
        unsettled = set(progress.unsettled) if progress.unsettled_count else ()
        for ref in progress.awaited:
            if ref not in unsettled and ref not in self.settled:
                self.settled[ref] = now - self.begun
        if self.request.on_progress:
            self.request.on_progress(progress)

    def report(
        self,
        not_written: Mapping[ObjectRef, Action] | None = None,
        why: Mapping[ObjectRef, str] | None = None,
    ) -> Report:
        """Return the report of the operation.

        :param not_written: objects that were only read, with the action.
        :param why: the reason for the action on one of them.
        """
        now = self.deadline.now
        known = self.ledger.entry and self.ledger.entry.inventory
        uids = known.owned if known else {}
        rows = [
            ObjectResult(
                ref,
                action,
                Verdict(State.CURRENT, "deleted")
                if action is Action.DELETED
                else self.progress.verdict(ref, now),
                uids.get(ref, ""),
                self.settled.get(ref, 0.0),
                self.notes.get(ref, ()),
            )
            for ref, action in self.actions.items()
        ]
        rows += [
            ObjectResult(
                ref,
                action,
                Verdict(State.CURRENT, (why or {}).get(ref, action.value)),
                notes=self.notes.get(ref, ()),
            )
            for ref, action in (not_written or {}).items()
            if ref not in self.actions
        ]
        return Report(
            self.instance,
            self.namespace,
            self.name,
            (*rows, *self.create_only_results),
            now - self.begun,
            self.cluster.requests - self.requests,
            known.phase.value if known else "",
            self.record_namespace,
            self.warnings,
        )


def awaited_object(
    obj: Manifest, now: float, registry: Registry, *, former: bool = False
) -> AwaitedObject:
    time_to_live = registry.handler_for(ObjectRef.of(obj)).time_to_live
    return AwaitedObject(
        objects.uid(obj),
        objects.generation(obj),
        now,
        former,
        objects.resource_version(obj),
        time_to_live=time_to_live(obj) if time_to_live else None,
    )
