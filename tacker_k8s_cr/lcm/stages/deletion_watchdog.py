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

SHOWN = 5
"""Objects of which it is said."""

LOOK = 5.0
"""Seconds until the controllers of finalizers are first checked."""

SELDOM = 30.0
"""Maximum seconds between two checks while a controller is missing."""

QUIET = 2
"""How often the interval doubles while all controllers run."""

CHECKED = 20
"""Maximum number of objects to check; each costs a request."""

STALL = 300.0
"""Seconds of the stall timeout by default."""


@dataclasses.dataclass(frozen=True)
class Stuck:
    """An object with a finalizer that no running controller removes.

    :param sign: changes when a controller works on the object.
    :param since: when that was first found.
    :param limit: when the operation gives up.
    """

    why: str
    sign: tuple[Any, ...]
    since: float
    limit: float


class DeletionWatchdog:
    """Listens to a wait, and is called every few seconds of it.

    A deadline may be half an hour away; who reads the log can act before.

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
        self._look = self._begun + LOOK
        self._quiet = 0
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
        if self._last and now >= self._look:
            self._check(self._last, now)
            pause = min(max(self._stall / 10, LOOK), SELDOM)
            self._quiet = 0 if self._stuck else min(self._quiet + 1, QUIET)
            interval = backoff.Backoff(pause, SELDOM * 2**QUIET)
            self._look = now + interval.delay(self._quiet + 1)
        since = now - self._begun
        due = backoff.DELETION_REPORT.delay(self._reports + 1)
        if self._last and since >= due:
            self._reports += 1
            self._tell(self._last, since)

    # -- Finalizers that no controller removes -------------------------------

    def _check(self, progress: WaitState, now: float) -> None:
        objs = self._held(progress.unsettled[:CHECKED])
        if not objs and not self._stuck:
            return
        found = dict(self._found(objs, thorough=False))
        before, self._stuck = self._stuck, self._after(objs, found, now)
        if _whys(before) != _whys(self._stuck):
            self.listen(progress)
        for ref, stuck in self._stuck.items():
            if ref not in before:
                LOG.warning(
                    "%s: %s; %s",
                    ref,
                    stuck.why,
                    blocking_finalizers.describe_remedy(ref),
                )
        over = [ref for ref, it in self._stuck.items() if now >= it.limit]
        if self._patient and len(over) < len(progress.unsettled):
            return
        if over:
            self._end(progress, {ref: objs[ref] for ref in over}, now)

    def _held(
        self, refs: Collection[ObjectRef]
    ) -> Mapping[ObjectRef, Manifest]:
        """Return those with a finalizer that is not Kubernetes' own."""
        brief = self._brief()
        return {
            ref: obj
            for ref, obj in brief.map_parallel(brief.get, refs)
            if isinstance(obj, Mapping) and _is_held(obj)
        }

    def _found(
        self, objs: Mapping[ObjectRef, Manifest], *, thorough: bool
    ) -> Iterator[tuple[ObjectRef, str]]:
        """Yield objects whose finalizer no running controller removes: why."""
        held = FinalizerDiagnosis(self._brief(), thorough)
        for ref, obj in objs.items():
            staying = [
                hold for hold in held.find_blocking(obj) if hold.is_permanent
            ]
            if staying:
                yield ref, str(staying[0])

    def _after(
        self,
        objs: Mapping[ObjectRef, Manifest],
        found: Mapping[ObjectRef, str],
        now: float,
    ) -> Mapping[ObjectRef, Stuck]:
        """Return what is stuck, and since when."""
        after = {}
        for ref, why in found.items():
            sign = _sign(objs[ref])
            last = self._stuck.get(ref)
            same = last is not None and last.sign == sign
            since = last.since if last and same else now
            own = observation.stall_timeout(objs[ref])
            limit = since + (self._stall if own is None else own)
            after[ref] = Stuck(why, sign, since, limit)
        return after

    def _end(
        self,
        progress: WaitState,
        objs: Mapping[ObjectRef, Manifest],
        now: float,
    ) -> None:
        """Raise Failed, unless a more thorough check finds a controller."""
        over = dict(self._found(objs, thorough=True))
        if not over:
            return
        bad = [
            PendingObject(
                ref, self._verdict(progress, ref, why, now), now - since
            )
            for ref, why in over.items()
            for since in [progress.awaited[ref].since]
        ]
        rest = [
            PendingObject(ref, progress.verdict(ref, now), now - self._begun)
            for ref in progress.unsettled
            if ref not in over
        ]
        raise errors.ObjectsFailed(
            explain.with_explanations(
                self._cluster,
                progress.registry,
                [*bad, *rest],
                self._deadline.remaining,
            ),
            now - self._begun,
        )

    def _verdict(
        self, progress: WaitState, ref: ObjectRef, why: str, now: float
    ) -> Verdict:
        said = progress.verdict(ref, now).reason
        for_long = f"(unchanged for {now - self._stuck[ref].since:.0f} s)"
        return Verdict(State.BLOCKED, f"{said}; {why} {for_long}")

    def _brief(self) -> Cluster:
        seconds = min(explain.TIMEOUT, self._deadline.remaining)
        return self._cluster.with_deadline(Deadline.after(seconds))

    # -- What is logged from time to time ------------------------------------

    def _tell(self, progress: WaitState, since: float) -> None:
        now = self._deadline.now
        items = [
            PendingObject(ref, progress.verdict(ref, now), since)
            for ref in progress.unsettled
        ]
        found = explain.with_explanations(
            self._cluster,
            progress.registry,
            items[:SHOWN],
            self._deadline.remaining,
        )
        for item in found:
            LOG.warning("not gone yet: %s", item)
        if len(items) > SHOWN:
            LOG.warning("not gone yet: and %d more", len(items) - SHOWN)


def _is_held(obj: Manifest) -> bool:
    names = objects.field(obj, ("metadata", "finalizers"), ())
    going = objects.field(obj, ("metadata", "deletionTimestamp"))
    return bool(going and set(names) - BUILT_IN_FINALIZERS.keys())


def _sign(obj: Manifest) -> tuple[Any, ...]:
    """Return what changes when a controller works on the object."""
    names = objects.field(obj, ("metadata", "finalizers"), ())
    return (
        objects.uid(obj),
        tuple(names),
        *observation.progress_fingerprint(obj),
    )


def _whys(stuck: Mapping[ObjectRef, Stuck]) -> dict[ObjectRef, str]:
    return {ref: one.why for ref, one in stuck.items()}
