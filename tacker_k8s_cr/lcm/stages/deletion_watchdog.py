"""Report what keeps objects from being deleted, and give up on some."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import logging
from typing import Any

from tacker_k8s_cr.kinds import observation
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import backoff
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import PendingObject
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.wait.diagnostics import blocking_finalizers
from tacker_k8s_cr.wait.diagnostics import explain
from tacker_k8s_cr.wait.diagnostics.finalizer_owners import BUILT_IN_FINALIZERS
from tacker_k8s_cr.wait.diagnostics.finalizer_owners import FinalizerDiagnosis
from tacker_k8s_cr.wait.progress import WaitState

LOG = logging.getLogger(__name__)

MAX_LOGGED = 5
"""Maximum number of objects in the log."""

FIRST_CHECK = 5.0
"""Seconds until the controllers of finalizers are first checked."""

MAX_INTERVAL = 30.0
"""Maximum seconds between two checks while a controller is missing."""

MAX_DOUBLINGS = 2
"""How often the interval doubles while all controllers run."""

MAX_CHECKED = 20
"""Maximum number of objects to check; each costs a request."""

STALL = 300.0
"""Seconds of the stall timeout by default."""


@dataclasses.dataclass(frozen=True)
class Stuck:
    """An object with a finalizer that no running controller removes.

    :param fingerprint: changes when a controller works on the object.
    :param since: when that was first found.
    :param give_up_at: when the operation gives up on it.
    """

    why: str
    fingerprint: tuple[Any, ...]
    since: float
    give_up_at: float


class DeletionWatchdog:
    """Receives the progress of a wait, and is called every few seconds.

    The deadline may be half an hour away; the log lets the user act before.

    :param stall: seconds for which a finalizer may be without a running
        controller. A controller that restarts runs again by then.
    :param patient: give up only when no other object can be deleted.
    """

    def __init__(
        self,
        cluster: Cluster,
        deadline: Deadline,
        listen: Callable[[WaitState], None],
        guard: Callable[[], None],
        stall: float = STALL,
        patient: bool = False,
    ):
        self._cluster = cluster
        self._deadline = deadline
        self._listen = listen
        self._guard = guard
        self._stall = stall
        self._patient = patient
        self._last: WaitState | None = None
        self._begun = deadline.now
        self._reports = 0
        self._next_check = self._begun + FIRST_CHECK
        self._doublings = 0
        self._stuck: Mapping[ObjectRef, Stuck] = {}

    def listen(self, progress: WaitState) -> None:
        self._last = progress
        causes = {
            ref: stuck.why
            for ref, stuck in self._stuck.items()
            if ref not in progress.deleted
        }
        self._listen(dataclasses.replace(progress, causes=causes))

    def guard(self) -> None:
        """Raise Failed for objects whose finalizer no controller removes."""
        self._guard()
        now = self._deadline.now
        if self._last and now >= self._next_check:
            self._check(self._last, now)
            pause = min(max(self._stall / 10, FIRST_CHECK), MAX_INTERVAL)
            self._doublings = (
                0 if self._stuck else min(self._doublings + 1, MAX_DOUBLINGS)
            )
            interval = backoff.Backoff(pause, MAX_INTERVAL * 2**MAX_DOUBLINGS)
            self._next_check = now + interval.delay(self._doublings + 1)
        since = now - self._begun
        due = backoff.DELETION_REPORT.delay(self._reports + 1)
        if self._last and since >= due:
            self._reports += 1
            self._log_pending(self._last, since)

    # -- Finalizers that no controller removes -------------------------------

    def _check(self, progress: WaitState, now: float) -> None:
        objs = self._read_held(progress.unsettled[:MAX_CHECKED])
        if not objs and not self._stuck:
            return
        found = dict(self._find_stuck(objs, thorough=False))
        before, self._stuck = (
            self._stuck,
            self._update_stuck(objs, found, now, progress.registry),
        )
        if _reasons(before) != _reasons(self._stuck):
            self.listen(progress)
        for ref, stuck in self._stuck.items():
            if ref not in before:
                LOG.warning(
                    "%s: %s; %s",
                    ref,
                    stuck.why,
                    blocking_finalizers.describe_remedy(ref),
                )
        expired_ = [
            ref for ref, it in self._stuck.items() if now >= it.give_up_at
        ]
        if self._patient and len(expired_) < len(progress.unsettled):
            return
        if expired_:
            self._give_up(progress, {ref: objs[ref] for ref in expired_}, now)

    def _read_held(
        self, refs: Collection[ObjectRef]
    ) -> Mapping[ObjectRef, Manifest]:
        """Return those with a finalizer that is not built into Kubernetes."""
        brief = self._brief()
        return {
            ref: obj
            for ref, obj in brief.map_parallel(brief.get, refs)
            if isinstance(obj, Mapping) and _is_held(obj)
        }

    def _find_stuck(
        self, objs: Mapping[ObjectRef, Manifest], *, thorough: bool
    ) -> Iterator[tuple[ObjectRef, str]]:
        """Yield objects with a finalizer that no controller removes."""
        held = FinalizerDiagnosis(self._brief(), thorough)
        for ref, obj in objs.items():
            permanent = [
                hold for hold in held.find_blocking(obj) if hold.is_permanent
            ]
            if permanent:
                yield ref, str(permanent[0])

    def _update_stuck(
        self,
        objs: Mapping[ObjectRef, Manifest],
        found: Mapping[ObjectRef, str],
        now: float,
        registry: Registry,
    ) -> Mapping[ObjectRef, Stuck]:
        """Return what is stuck, and since when."""
        after = {}
        for ref, why in found.items():
            fingerprint = _fingerprint_of(objs[ref])
            last = self._stuck.get(ref)
            is_same = last is not None and last.fingerprint == fingerprint
            since = last.since if last and is_same else now
            own_timeout = observation.stall_timeout(
                objs[ref], registry.handler_for(ref)
            )
            give_up_at = since + (
                self._stall if own_timeout is None else own_timeout
            )
            after[ref] = Stuck(why, fingerprint, since, give_up_at)
        return after

    def _give_up(
        self,
        progress: WaitState,
        objs: Mapping[ObjectRef, Manifest],
        now: float,
    ) -> None:
        """Raise Failed, unless a more thorough check finds a controller."""
        expired_ = dict(self._find_stuck(objs, thorough=True))
        if not expired_:
            return
        stuck_objects = [
            PendingObject(
                ref, self._verdict(progress, ref, why, now), now - since
            )
            for ref, why in expired_.items()
            for since in [progress.awaited[ref].since]
        ]
        pending = [
            PendingObject(ref, progress.verdict(ref, now), now - self._begun)
            for ref in progress.unsettled
            if ref not in expired_
        ]
        raise errors.ObjectsFailed(
            explain.with_explanations(
                self._cluster,
                progress.registry,
                [*stuck_objects, *pending],
                self._deadline.remaining,
            ),
            now - self._begun,
        )

    def _verdict(
        self, progress: WaitState, ref: ObjectRef, why: str, now: float
    ) -> Verdict:
        reason = progress.verdict(ref, now).reason
        duration = f"(unchanged for {now - self._stuck[ref].since:.0f} s)"
        return Verdict(State.BLOCKED, f"{reason}; {why} {duration}")

    def _brief(self) -> Cluster:
        seconds = min(explain.TIMEOUT, self._deadline.remaining)
        return self._cluster.with_deadline(Deadline.after(seconds))

    # -- The log --------------------------------------------------------------

    def _log_pending(self, progress: WaitState, since: float) -> None:
        now = self._deadline.now
        items = [
            PendingObject(ref, progress.verdict(ref, now), since)
            for ref in progress.unsettled
        ]
        found = explain.with_explanations(
            self._cluster,
            progress.registry,
            items[:MAX_LOGGED],
            self._deadline.remaining,
        )
        for item in found:
            LOG.warning("not deleted yet: %s", item)
        if len(items) > MAX_LOGGED:
            LOG.warning("not deleted yet: %d more", len(items) - MAX_LOGGED)


def _is_held(obj: Manifest) -> bool:
    names = objects.field(obj, ("metadata", "finalizers"), ())
    is_deleted = objects.field(obj, ("metadata", "deletionTimestamp"))
    return bool(is_deleted and set(names) - BUILT_IN_FINALIZERS.keys())


def _fingerprint_of(obj: Manifest) -> tuple[Any, ...]:
    """Return what changes when a controller works on the object."""
    names = objects.field(obj, ("metadata", "finalizers"), ())
    return (
        objects.uid(obj),
        tuple(names),
        *observation.progress_fingerprint(obj),
    )


def _reasons(stuck: Mapping[ObjectRef, Stuck]) -> dict[ObjectRef, str]:
    return {ref: entry.why for ref, entry in stuck.items()}
