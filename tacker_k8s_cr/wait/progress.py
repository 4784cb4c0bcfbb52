"""The state of a wait: awaited objects, what was observed, and verdicts."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
import math

from tacker_k8s_cr.kinds import observation
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.observation import UNSEEN
from tacker_k8s_cr.kinds.observation import Observation
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.model.retries import Retry
from tacker_k8s_cr.wait.diagnostics import stalled
from tacker_k8s_cr.wait.diagnostics.stalled import ChildObservation
from tacker_k8s_cr.wait.diagnostics.stalled import ChildStatus
from tacker_k8s_cr.wait.diagnostics.stalled import StallState


class Goal(enum.Enum):
    """What a wait is for."""

    CURRENT = "current"
    DELETED = "deleted"


@dataclasses.dataclass(frozen=True)
class AwaitedObject:
    """An object that the operation wrote, or whose deletion it requested.

    :param generation: after the write; an older view is stale.
    :param version: the resourceVersion after the write. It identifies a stale
        view of a kind that has no generation.
    :param since: when, on the clock of the operation's deadline.
    :param unchanged: the write changed nothing, so that the first status of
        the object may precede it.
    :param time_to_live: seconds after which its controller deletes it when
        it has ended; None if it does not.
    """

    uid: str
    generation: int
    since: float
    unchanged: bool = False
    version: str = ""
    time_to_live: float | None = None


EXPIRED = Verdict(
    State.CURRENT,
    "deleted after its time to live, before its result was read",
)
"""The verdict on an object that ended and was deleted between two views."""


RefSet = Mapping[ObjectRef, None]
"""A set of objects in insertion order."""


@dataclasses.dataclass(frozen=True)
class WaitState:
    """A snapshot of a wait. Every observation creates a new one.

    :param children: the state of the children of stalled objects.
    :param stall_timeout: seconds after which an object counts as blocked if
        it, or one of its children, shows the same error and nothing changes.
    :param wait_all: continue to wait for the others when one failed or is
        blocked.
    :param stage: what the operation is doing, in a word or two.
    :param activity: the same, before there is anything to wait for.
    :param unsettled_count: objects that have not reached the goal yet. It is
        updated with each step, so that thousands of unchanged objects cost
        nothing.
    :param failing: those of them that failed, or show an error.
    :param unwritten: objects of the stage that are still to be written,
        because the server does not accept them yet or because they depend
        on others, with the reason and the end of the attempts.
    :param causes: the reasons why objects are not deleted.
    """

    registry: Registry
    goal: Goal = Goal.CURRENT
    awaited: Mapping[ObjectRef, AwaitedObject] = dataclasses.field(
        default_factory=dict
    )
    observations: Mapping[ObjectRef, Observation] = dataclasses.field(
        default_factory=dict
    )
    deleted: frozenset[ObjectRef] = frozenset()
    children: Mapping[ObjectRef, ChildStatus] = dataclasses.field(
        default_factory=dict
    )
    stall_timeout: float = 300.0
    wait_all: bool = False
    stage: str = ""
    activity: str = ""
    unsettled_count: int = 0
    failing: RefSet = dataclasses.field(default_factory=dict)
    unwritten: Mapping[ObjectRef, Retry] = dataclasses.field(
        default_factory=dict
    )
    causes: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)

    def with_awaited(
        self, refs: Mapping[ObjectRef, AwaitedObject], stage: str = ""
    ) -> WaitState:
        """Await these objects as well; discard earlier observations."""
        after = dataclasses.replace(
            self,
            awaited={**self.awaited, **refs},
            observations={
                r: v for r, v in self.observations.items() if r not in refs
            },
            children={r: v for r, v in self.children.items() if r not in refs},
            deleted=self.deleted.difference(refs),
            unwritten={
                r: v for r, v in self.unwritten.items() if r not in refs
            },
            stage=stage or self.stage,
            activity="",
        )
        return after._with_counts(refs, self)

    def with_observed(self, objs: Iterable[Manifest], now: float) -> WaitState:
        """Return the state after these observations of objects.

        Other objects are ignored, and so is an observation that is older than
        the operation's own write: a lagging server may return one, and using
        it would report success for an object that was just replaced.
        """
        updated: dict[ObjectRef, Observation] = {}
        for obj in objs:
            ref = ObjectRef.of(obj)
            awaited = self.awaited.get(ref)
            if awaited is None or ref in self.deleted:
                continue
            if awaited.uid and objects.uid(obj) != awaited.uid:
                continue
            if objects.generation(obj) < awaited.generation:
                continue
            if objects.is_before(obj, awaited.version):
                continue
            updated[ref] = observation.observe(
                obj,
                self.registry[ref.group_kind],
                updated.get(ref) or self.observations.get(ref, UNSEEN),
                now,
                expected=self.goal is Goal.CURRENT,
                override=self.registry.override_for(ref),
            )
        if not updated:
            return self
        after = dataclasses.replace(
            self, observations={**self.observations, **updated}
        )
        return after._with_counts(updated, self)

    def with_observations(
        self, observations: Mapping[ObjectRef, Observation]
    ) -> WaitState:
        """Add observations of objects that were assessed before."""
        updated = {r: v for r, v in observations.items() if r in self.awaited}
        after = dataclasses.replace(
            self, observations={**self.observations, **updated}
        )
        return after._with_counts(updated, self)

    def with_children(
        self, found: Mapping[ObjectRef, Sequence[ChildObservation]], now: float
    ) -> WaitState:
        """Return the state after reading the children of these objects."""
        if not found:
            return self
        updated = {
            ref: stalled.next_state(self.children.get(ref), parts, now)
            for ref, parts in found.items()
        }
        after = dataclasses.replace(
            self, children={**self.children, **updated}
        )
        return after._with_counts(updated, self)

    def due_for_inspection(self, now: float) -> tuple[ObjectRef, ...]:
        """Return stalled objects whose children are to be read now."""
        if self.goal is Goal.DELETED:
            return ()
        waits = [
            (due, ref)
            for ref in self.unsettled
            if ref in self.observations
            and (stall := self._stall_state(ref)).is_progressing
            and (due := stall.next_read()) <= now
        ]
        return tuple(ref for _, ref in sorted(waits)[: stalled.MAX_INSPECTED])

    def with_deleted(
        self, refs: Iterable[ObjectRef], now: float = -math.inf
    ) -> WaitState:
        """Record that these objects no longer exist.

        A completed ephemeral object that was deleted is not an error, nor is
        one that may have expired by now, before its result was read.
        """
        deleted = frozenset(
            ref
            for ref in refs
            if ref in self.awaited
            and ref not in self.deleted
            and not self._is_completed(ref)
        )
        if not deleted:
            return self
        expired = {
            ref: self._expired_observation(ref)
            for ref in deleted
            if self._may_have_expired(ref, now)
        }
        after = dataclasses.replace(
            self,
            deleted=(self.deleted | deleted) - expired.keys(),
            observations={**self.observations, **expired},
        )
        return after._with_counts(deleted, self)

    def _may_have_expired(self, ref: ObjectRef, now: float) -> bool:
        """Whether the time to live of an object may have passed.

        It begins when the object ends, which is after its write.
        """
        awaited = self.awaited[ref]
        seen = self.observations.get(ref, UNSEEN).verdict.state
        return (
            self.goal is Goal.CURRENT
            and awaited.time_to_live is not None
            and now - awaited.since >= awaited.time_to_live
            and seen is not State.FAILED
        )

    def _expired_observation(self, ref: ObjectRef) -> Observation:
        return dataclasses.replace(
            self.observations.get(ref, UNSEEN), verdict=EXPIRED
        )

    def _with_counts(
        self, refs: Collection[ObjectRef], before: WaitState
    ) -> WaitState:
        """Update the count and the failing objects for these objects."""
        return dataclasses.replace(
            self,
            unsettled_count=self.unsettled_count
            + sum(self.is_open(ref) for ref in refs)
            - sum(before.is_open(ref) for ref in refs),
            failing=_update_set(
                self.failing, {r: self._is_failing(r) for r in refs}
            ),
        )

    def is_open(self, ref: ObjectRef) -> bool:
        """Whether an object is awaited, and has not reached the goal yet."""
        if ref not in self.awaited:
            return False
        if self.goal is Goal.DELETED:
            return ref not in self.deleted
        verdict = self.observations.get(ref, UNSEEN).verdict
        return ref in self.deleted or verdict.state is not State.CURRENT

    def _is_failing(self, ref: ObjectRef) -> bool:
        if self.goal is Goal.DELETED:
            return False
        if ref in self.deleted:
            return True
        verdict = self.observations.get(ref, UNSEEN).verdict
        if verdict.state is State.IN_PROGRESS:
            children = self.children.get(ref)
            return bool(verdict.error or (children and children.error))
        return verdict.state in (State.FAILED, State.BLOCKED)

    def _is_completed(self, ref: ObjectRef) -> bool:
        """Whether the object may be deleted, having been current."""
        observed = self.observations.get(ref, UNSEEN)
        return (
            self.goal is Goal.CURRENT
            and observed.ephemeral
            and observed.verdict.state is State.CURRENT
        )

    def verdict(self, ref: ObjectRef, now: float) -> Verdict:
        """Return the verdict on one object at this moment."""
        if ref in self.deleted:
            if self.goal is Goal.DELETED:
                return Verdict(State.CURRENT, "deleted")
            return Verdict(State.FAILED, "deleted by another client")
        verdict = self.observations.get(ref, UNSEEN).verdict
        if ref in self.failing and (
            blocked := self._stall_state(ref).blocked_verdict(now)
        ):
            return blocked
        if cause := self.causes.get(ref):
            reason = f"{verdict.reason}; {cause}"
            return dataclasses.replace(verdict, reason=reason)
        if (
            self._is_from_before(ref)
            and now < self._stall_state(ref).stalled_at
        ):
            return Verdict(State.IN_PROGRESS, f"as before: {verdict.reason}")
        return verdict

    def _is_from_before(self, ref: ObjectRef) -> bool:
        """Return whether a failure precedes the operation.

        Its cause may be fixed by now; the controller reports that only when it
        retries. A failure of an object that runs once is final.
        """
        observed = self.observations.get(ref, UNSEEN)
        return (
            self.goal is Goal.CURRENT
            and observed.is_first
            and observed.verdict.state is State.FAILED
            and self.awaited[ref].unchanged
            and not self.registry[ref.group_kind].ephemeral
        )

    def _stall_state(self, ref: ObjectRef) -> StallState:
        return StallState(
            self.observations.get(ref, UNSEEN),
            self.children.get(ref),
            self.stall_timeout,
        )

    def verdicts(self, now: float) -> dict[ObjectRef, Verdict]:
        return {ref: self.verdict(ref, now) for ref in self.awaited}

    @property
    def unsettled(self) -> tuple[ObjectRef, ...]:
        """The objects that have not reached the goal yet."""
        return tuple(ref for ref in self.awaited if self.is_open(ref))

    @property
    def is_settled(self) -> bool:
        return not self.unsettled_count

    def failed_objects(self, now: float) -> tuple[ObjectRef, ...]:
        """Return objects that failed or are blocked: waiting does not help."""
        final = (State.FAILED, State.BLOCKED)
        return tuple(
            ref
            for ref in self.failing
            if self.verdict(ref, now).state in final
        )

    def failures_to_stop_for(self, now: float) -> tuple[ObjectRef, ...]:
        """Return objects that failed or are blocked, if the wait is to end."""
        failed = self.failed_objects(now)
        return (
            ()
            if self.wait_all and len(failed) < self.unsettled_count
            else failed
        )

    def seconds_until_blocked(self, now: float) -> float | None:
        """Return seconds until a stalled object would count as blocked.

        None when no object shows an error.
        """
        waits = [
            stall.stalled_at - now
            for ref in self.failing
            if ref in self.observations
            and (
                (stall := self._stall_state(ref)).is_progressing
                or self._is_from_before(ref)
            )
            # A later one is blocked already.
            and stall.stalled_at > now
        ]
        return min(waits) if waits else None


def _update_set(refs: RefSet, is_member: Mapping[ObjectRef, bool]) -> RefSet:
    """Return the set, updated for some objects."""
    if all((ref in refs) == member for ref, member in is_member.items()):
        return refs
    updated = dict(refs)
    for ref, member in is_member.items():
        if member:
            updated[ref] = None
        else:
            updated.pop(ref, None)
    return updated
