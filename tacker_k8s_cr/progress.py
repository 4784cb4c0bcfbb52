"""What we wait for and what we last knew: the judging half of a wait."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import enum
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.kinds import custom
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict


class Goal(enum.Enum):
    """What a wait is for."""

    CURRENT = "current"
    GONE = "gone"


@dataclasses.dataclass(frozen=True)
class Awaited:
    """An object we wrote, or asked to go.

    :param generation: that our write left; an older view is stale.
    :param since: when, on the clock of the operation's deadline.
    """

    uid: str
    generation: int
    since: float


@dataclasses.dataclass(frozen=True)
class Seen:
    """The last view of an object.

    :param sign: all that would change if something moved: while it stays
        the same, and the verdict has an error, the object stands still.
    :param still: since when it has.
    :param dwell: how long it may, if the object itself says so.
    """

    verdict: Verdict
    sign: tuple[Any, ...] = ()
    still: float = 0.0
    dwell: float | None = None


UNSEEN = Seen(Verdict(State.IN_PROGRESS, "nothing heard of it yet"))


@dataclasses.dataclass(frozen=True)
class Progress:
    """A snapshot of a wait. Every observation makes a new one.

    :param dwell: seconds after which an object that shows the same error,
        while nothing of it moves, counts as blocked.
    :param stage: what the operation is doing, in a word or two.
    """

    registry: Registry
    goal: Goal = Goal.CURRENT
    awaited: Mapping[ObjectRef, Awaited] = dataclasses.field(
        default_factory=dict
    )
    seen: Mapping[ObjectRef, Seen] = dataclasses.field(default_factory=dict)
    gone: frozenset[ObjectRef] = frozenset()
    dwell: float = 300.0
    stage: str = ""

    def awaiting(
        self, refs: Mapping[ObjectRef, Awaited], stage: str = ""
    ) -> Progress:
        """Waiting for these as well; what was known of them is forgotten."""
        return dataclasses.replace(
            self,
            awaited={**self.awaited, **refs},
            seen={r: s for r, s in self.seen.items() if r not in refs},
            gone=self.gone - refs.keys(),
            stage=stage or self.stage,
        )

    def observed(self, objs: Iterable[Manifest], now: float) -> Progress:
        """With these views of objects taken in.

        Strangers count for nothing, nor does a view that is older than our
        own write: a watch may begin with one, and believing it would report
        success for what we have just replaced.
        """
        fresh = {}
        for obj in objs:
            ref = ObjectRef.of(obj)
            awaited = self.awaited.get(ref)
            if awaited is None or ref in self.gone:
                continue
            if awaited.uid and objects.uid(obj) != awaited.uid:
                continue
            if objects.generation(obj) < awaited.generation:
                continue
            fresh[ref] = self._seen(ref, obj, now)
        if not fresh:
            return self
        return dataclasses.replace(self, seen={**self.seen, **fresh})

    def vanished(self, refs: Iterable[ObjectRef]) -> Progress:
        """With these objects known to be gone."""
        found = frozenset(refs) & self.awaited.keys()
        if not found - self.gone:
            return self
        return dataclasses.replace(self, gone=self.gone | found)

    def _seen(self, ref: ObjectRef, obj: Manifest, now: float) -> Seen:
        verdict = self._handler(ref, obj).assess(obj)
        sign = (verdict.state, verdict.error, *_moving(obj))
        last = self.seen.get(ref)
        still = last.still if last and last.sign == sign else now
        return Seen(verdict, sign, still, _dwell(obj))

    def _handler(self, ref: ObjectRef, obj: Manifest) -> Handler:
        """The kind's, as the object's own annotations change it.

        Those of a manifest were checked; somebody may have edited the
        object since, which must not end the wait for all of them.
        """
        kind = self.registry[ref.group_kind]
        try:
            return custom.of_annotations(obj, kind) or kind
        except errors.PackageInvalid:
            return kind

    def verdict(self, ref: ObjectRef, now: float) -> Verdict:
        """What we know of one object at this moment."""
        if ref in self.gone:
            if self.goal is Goal.GONE:
                return Verdict(State.CURRENT, "gone")
            return Verdict(State.FAILED, "somebody else removed it")
        seen = self.seen.get(ref, UNSEEN)
        if self.stuck(seen, now):
            return Verdict(
                State.BLOCKED,
                f"{seen.verdict.reason} (unchanged for "
                f"{now - seen.still:.0f} s)",
                seen.verdict.error,
            )
        return seen.verdict

    def stuck(self, seen: Seen, now: float) -> bool:
        """Whether an error has stood for the dwell time with no movement."""
        return bool(
            self.goal is Goal.CURRENT
            and seen.verdict.error
            and seen.verdict.state is State.IN_PROGRESS
            and now - seen.still >= self._dwell_of(seen)
        )

    def _dwell_of(self, seen: Seen) -> float:
        return self.dwell if seen.dwell is None else seen.dwell

    def verdicts(self, now: float) -> dict[ObjectRef, Verdict]:
        return {ref: self.verdict(ref, now) for ref in self.awaited}

    @property
    def unsettled(self) -> tuple[ObjectRef, ...]:
        """What has not reached the goal yet."""
        if self.goal is Goal.GONE:
            return tuple(r for r in self.awaited if r not in self.gone)
        return tuple(
            ref
            for ref in self.awaited
            if ref in self.gone
            or self.seen.get(ref, UNSEEN).verdict.state is not State.CURRENT
        )

    @property
    def settled(self) -> bool:
        return not self.unsettled

    def hopeless(self, now: float) -> tuple[ObjectRef, ...]:
        """What failed or is blocked, so that waiting longer would not help."""
        if self.goal is Goal.GONE:
            return ()
        bad = (State.FAILED, State.BLOCKED)
        return tuple(
            ref
            for ref in self.unsettled
            if self.verdict(ref, now).state in bad
        )

    def next_change(self, now: float) -> float | None:
        """Seconds until an object that stands still would count as blocked.

        None when no object shows an error.
        """
        waits = [
            seen.still + self._dwell_of(seen) - now
            for ref in self.unsettled
            if (seen := self.seen.get(ref))
            and seen.verdict.error
            and seen.verdict.state is State.IN_PROGRESS
        ]
        return max(0.0, min(waits)) if waits else None


def _dwell(obj: Manifest) -> float | None:
    """Seconds of the annotation ``blocked-after``."""
    said = objects.annotation(obj, "blocked-after")
    try:
        return float(said) if said else None
    except ValueError:
        return None


def _moving(obj: Manifest) -> tuple[Any, ...]:
    """What changes when a controller gets on: not messages, nor times."""
    status = objects.field(obj, ("status",), {})
    if not isinstance(status, Mapping):
        return (objects.generation(obj),)
    numbers = tuple(
        (key, value)
        for key, value in sorted(status.items())
        if isinstance(value, int | bool)
    )
    told = tuple(
        (kind, item.get("status"), item.get("reason"))
        for kind, item in sorted(objects.conditions(obj).items())
    )
    return (objects.generation(obj), numbers, told)
