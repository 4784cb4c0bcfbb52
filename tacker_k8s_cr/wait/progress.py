"""What we wait for and what we last knew: the judging half of a wait."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum

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
    GONE = "gone"


@dataclasses.dataclass(frozen=True)
class AwaitedObject:
    """An object that the operation wrote, or whose deletion it requested.

    :param generation: after the write; an older view is stale.
    :param version: the resourceVersion after the write. It identifies a stale
        view of a kind that has no generation.
    :param since: when, on the clock of the operation's deadline.
    :param former: the write changed nothing, so that the first status of the
        object may be from before.
    """

    uid: str
    generation: int
    since: float
    former: bool = False
    version: str = ""


Marks = Mapping[ObjectRef, None]
"""A set of objects that keeps their order."""


@dataclasses.dataclass(frozen=True)
class WaitState:
    """A snapshot of a wait. Every observation makes a new one.

    :param below: what was found below objects that are stalled.
    :param stall_timeout: seconds after which an object that shows the same
        error, or has it below, while nothing of it moves, counts as blocked.
    :param patient: wait on for the others when one failed or is blocked.
    :param stage: what the operation is doing, in a word or two.
    :param activity: the same, before there is anything to wait for.
    :param left: how many objects have not reached the goal yet. It is
        brought up to date with each step: thousands of objects that do not
        move cost nothing.
    :param troubled: those of them that failed, or show an error.
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
    seen: Mapping[ObjectRef, Observation] = dataclasses.field(
        default_factory=dict
    )
    gone: frozenset[ObjectRef] = frozenset()
    below: Mapping[ObjectRef, ChildStatus] = dataclasses.field(
        default_factory=dict
    )
    stall_timeout: float = 300.0
    patient: bool = False
    stage: str = ""
    activity: str = ""
    left: int = 0
    troubled: Marks = dataclasses.field(default_factory=dict)
    unwritten: Mapping[ObjectRef, Retry] = dataclasses.field(
        default_factory=dict
    )
    causes: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)

    def awaiting(
        self, refs: Mapping[ObjectRef, AwaitedObject], stage: str = ""
    ) -> WaitState:
        """Waiting for these as well; what was known of them is forgotten."""
        after = dataclasses.replace(
            self,
            awaited={**self.awaited, **refs},
            seen={r: v for r, v in self.seen.items() if r not in refs},
            below={r: v for r, v in self.below.items() if r not in refs},
            gone=self.gone.difference(refs),
            unwritten={
                r: v for r, v in self.unwritten.items() if r not in refs
            },
            stage=stage or self.stage,
            activity="",
        )
        return after._counted(refs, self)

    def observed(self, objs: Iterable[Manifest], now: float) -> WaitState:
        """With these views of objects taken in.

        Other objects are ignored, and so is a view that is older than our own
        write: a server that is behind the others may show one, and using it
        would report success for an object that was just replaced.
        """
        fresh: dict[ObjectRef, Observation] = {}
        for obj in objs:
            ref = ObjectRef.of(obj)
            awaited = self.awaited.get(ref)
            if awaited is None or ref in self.gone:
                continue
            if awaited.uid and objects.uid(obj) != awaited.uid:
                continue
            if objects.generation(obj) < awaited.generation:
                continue
            if objects.is_before(obj, awaited.version):
                continue
            fresh[ref] = observation.observe(
                obj,
                self.registry[ref.group_kind],
                fresh.get(ref) or self.seen.get(ref, UNSEEN),
                now,
                wanted=self.goal is Goal.CURRENT,
                asked=self.registry.override_for(ref),
            )
        if not fresh:
            return self
        after = dataclasses.replace(self, seen={**self.seen, **fresh})
        return after._counted(fresh, self)

    def believed(self, views: Mapping[ObjectRef, Observation]) -> WaitState:
        """Add views of objects that were judged before."""
        fresh = {r: v for r, v in views.items() if r in self.awaited}
        after = dataclasses.replace(self, seen={**self.seen, **fresh})
        return after._counted(fresh, self)

    def with_children(
        self, found: Mapping[ObjectRef, Sequence[ChildObservation]], now: float
    ) -> WaitState:
        """With what a look below these objects has found."""
        if not found:
            return self
        fresh = {
            ref: stalled.next_state(self.below.get(ref), parts, now)
            for ref, parts in found.items()
        }
        after = dataclasses.replace(self, below={**self.below, **fresh})
        return after._counted(fresh, self)

    def due_for_inspection(self, now: float) -> tuple[ObjectRef, ...]:
        """Return stalled objects whose children are to be read now."""
        if self.goal is Goal.GONE:
            return ()
        waits = [
            (due, ref)
            for ref in self.unsettled
            if ref in self.seen
            and (standing := self._standing(ref)).is_progressing
            and (due := standing.due()) <= now
        ]
        return tuple(ref for _, ref in sorted(waits)[: stalled.ROUND])

    def with_deleted(self, refs: Iterable[ObjectRef]) -> WaitState:
        """Record that these objects no longer exist.

        A completed ephemeral object that was deleted is not an error.
        """
        found = frozenset(
            ref
            for ref in refs
            if ref in self.awaited
            and ref not in self.gone
            and not self._done(ref)
        )
        if not found:
            return self
        after = dataclasses.replace(self, gone=self.gone | found)
        return after._counted(found, self)

    def _counted(
        self, refs: Collection[ObjectRef], before: WaitState
    ) -> WaitState:
        """With what became of these objects since in the count."""
        return dataclasses.replace(
            self,
            left=self.left
            + sum(self.is_open(ref) for ref in refs)
            - sum(before.is_open(ref) for ref in refs),
            troubled=_with(
                self.troubled, {r: self._is_troubled(r) for r in refs}
            ),
        )

    def is_open(self, ref: ObjectRef) -> bool:
        """Whether an object is awaited, and has not reached the goal yet."""
        if ref not in self.awaited:
            return False
        if self.goal is Goal.GONE:
            return ref not in self.gone
        verdict = self.seen.get(ref, UNSEEN).verdict
        return ref in self.gone or verdict.state is not State.CURRENT

    def _is_troubled(self, ref: ObjectRef) -> bool:
        if self.goal is Goal.GONE:
            return False
        if ref in self.gone:
            return True
        verdict = self.seen.get(ref, UNSEEN).verdict
        if verdict.state is State.IN_PROGRESS:
            below = self.below.get(ref)
            return bool(verdict.error or (below and below.error))
        return verdict.state in (State.FAILED, State.BLOCKED)

    def _done(self, ref: ObjectRef) -> bool:
        """Whether the object may go, having been current."""
        return (
            self.goal is Goal.CURRENT
            and self.registry[ref.group_kind].ephemeral
            and self.seen.get(ref, UNSEEN).verdict.state is State.CURRENT
        )

    def verdict(self, ref: ObjectRef, now: float) -> Verdict:
        """What we know of one object at this moment."""
        if ref in self.gone:
            if self.goal is Goal.GONE:
                return Verdict(State.CURRENT, "gone")
            return Verdict(State.FAILED, "somebody else removed it")
        verdict = self.seen.get(ref, UNSEEN).verdict
        if ref in self.troubled and (
            stuck := self._standing(ref).is_stalled(now)
        ):
            return stuck
        if cause := self.causes.get(ref):
            said = f"{verdict.reason}; {cause}"
            return dataclasses.replace(verdict, reason=said)
        if self._is_from_before(ref) and now < self._standing(ref).stalled_at:
            return Verdict(State.IN_PROGRESS, f"as before: {verdict.reason}")
        return verdict

    def _is_from_before(self, ref: ObjectRef) -> bool:
        """Return whether a failure precedes the operation.

        Its cause may be fixed by now; the controller reports that only when it
        retries. A failure of an object that runs once is final.
        """
        seen = self.seen.get(ref, UNSEEN)
        return (
            self.goal is Goal.CURRENT
            and seen.first
            and seen.verdict.state is State.FAILED
            and self.awaited[ref].former
            and not self.registry[ref.group_kind].ephemeral
        )

    def _standing(self, ref: ObjectRef) -> StallState:
        return StallState(
            self.seen.get(ref, UNSEEN), self.below.get(ref), self.stall_timeout
        )

    def verdicts(self, now: float) -> dict[ObjectRef, Verdict]:
        return {ref: self.verdict(ref, now) for ref in self.awaited}

    @property
    def unsettled(self) -> tuple[ObjectRef, ...]:
        """What has not reached the goal yet."""
        return tuple(ref for ref in self.awaited if self.is_open(ref))

    @property
    def settled(self) -> bool:
        return not self.left

    def failed(self, now: float) -> tuple[ObjectRef, ...]:
        """What failed or is blocked, so that waiting longer would not help."""
        bad = (State.FAILED, State.BLOCKED)
        return tuple(
            ref for ref in self.troubled if self.verdict(ref, now).state in bad
        )

    def should_stop(self, now: float) -> tuple[ObjectRef, ...]:
        """What failed or is blocked, when that is to end the wait."""
        bad = self.failed(now)
        return () if self.patient and len(bad) < self.left else bad

    def next_change(self, now: float) -> float | None:
        """Return seconds until a stalled object would count as blocked.

        None when no object shows an error.
        """
        waits = [
            standing.stalled_at - now
            for ref in self.troubled
            if ref in self.seen
            and (
                (standing := self._standing(ref)).is_progressing
                or self._is_from_before(ref)
            )
            # What is past it is blocked already.
            and standing.stalled_at > now
        ]
        return min(waits) if waits else None


def _with(marks: Marks, said: Mapping[ObjectRef, bool]) -> Marks:
    """Return the marks, updated for some objects."""
    if all((ref in marks) == marked for ref, marked in said.items()):
        return marks
    found = dict(marks)
    for ref, marked in said.items():
        if marked:
            found[ref] = None
        else:
            found.pop(ref, None)
    return found
