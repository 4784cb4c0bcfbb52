"""What is wrong below an object that stands still, and since when.

An object often says no more than that it waits. What it made, or uses, says
why: by the words of its status, and by events. Such an error counts while
nothing below the object moves; messages, times and how often an event was
told are no movement.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from tacker_k8s_cr import objects
from tacker_k8s_cr import views
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds import reasons
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict
from tacker_k8s_cr.views import Seen

ROUND = 5
"""Objects below which we look at once; the others have their turn later."""

PAUSE = 30.0
"""Seconds at most until the first look below an object."""

QUIET = 4
"""How many pauses at most lie between looks that find nothing wrong."""

POD = GroupKind("", "Pod")

Telling = tuple[str, str, str]
"""The UID of what an event is about, and the event's type and reason."""


@dataclasses.dataclass(frozen=True)
class Part:
    """The object itself, or something below it, as one look shows it.

    :param depth: how far below; 0 for the object itself.
    :param events: that are about it.
    """

    obj: Manifest
    verdict: Verdict
    depth: int = 0
    events: tuple[Manifest, ...] = ()

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef.of(self.obj)

    @property
    def sign(self) -> tuple[Any, ...]:
        """What changes when it gets on."""
        said = (self.verdict.state.value, self.verdict.error)
        return (objects.uid(self.obj), *said, *views.moving(self.obj))

    @property
    def error(self) -> str:
        """Of its verdict. What made a failed Pod makes another by itself."""
        if self.verdict.error:
            return self.verdict.error
        failed = self.verdict.state is State.FAILED
        return "failed" if failed and self.ref.group_kind != POD else ""


@dataclasses.dataclass(frozen=True)
class Below:
    """What was found below an object, from look to look.

    :param looked: when we last looked.
    :param still: since when nothing below has moved.
    :param told: how often each event had been told by then.
    :param error: what is wrong, by its type and reason; empty for nothing.
    :param reason: the same as a sentence.
    :param factor: how many times as long as others the error may stand.
    :param quiet: how many looks on end have found nothing wrong.
    """

    looked: float
    still: float
    signs: tuple[Any, ...] = ()
    told: Mapping[Telling, int] = dataclasses.field(default_factory=dict)
    error: str = ""
    reason: str = ""
    factor: float = 1.0
    quiet: int = 0


@dataclasses.dataclass(frozen=True)
class Standing:
    """How an object stands that is to be current.

    :param usual: how long any object may stand still with an error.
    """

    seen: Seen
    below: Below | None
    usual: float

    @property
    def moves(self) -> bool:
        return self.seen.verdict.state is State.IN_PROGRESS

    @property
    def error(self) -> str:
        """What is wrong, in its own words or in those of what is below."""
        return self.seen.verdict.error or (
            self.below.error if self.below else ""
        )

    @property
    def limit(self) -> float:
        """Until when it may stand still, and all that is below it."""
        factor = 1.0
        if self.below and not self.seen.verdict.error:
            factor = self.below.factor
        return self._still + self._dwell * factor

    def stuck(self, now: float) -> Verdict | None:
        """Blocked, when an error has stood for long while nothing moved."""
        if not (self.moves and self.error and now >= self.limit):
            return None
        said = self.seen.verdict.reason
        if self.below and not self.seen.verdict.error:
            said = f"{said}; {self.below.reason}"
        for_long = f"(unchanged for {now - self._still:.0f} s)"
        return Verdict(State.BLOCKED, f"{said} {for_long}", self.error)

    def due(self) -> float:
        """When to look below it, for the first time or again.

        An error of its own is worth a look at once.
        """
        if self.seen.verdict.error and not self.below:
            return self.seen.still
        pause = min(PAUSE, self._dwell / 10)
        if self.below is None:
            return self.seen.still + pause
        return self.below.looked + pause * min(QUIET, 1 + self.below.quiet)

    @property
    def _still(self) -> float:
        below = self.below.still if self.below else self.seen.still
        return max(self.seen.still, below)

    @property
    def _dwell(self) -> float:
        return self.usual if self.seen.dwell is None else self.seen.dwell


def after(last: Below | None, parts: Sequence[Part], now: float) -> Below:
    """What is known after one more look.

    The object itself is not compared: its own views tell when it moves. An
    event of a kind that was not there before is a movement, be it that a
    controller comes to another trouble.
    """
    signs = tuple(sorted((p.sign for p in parts if p.depth), key=repr))
    told = _told(parts)
    if last and last.signs == signs and not told.keys() - last.told.keys():
        found = dataclasses.replace(last, looked=now)
    else:
        found = Below(now, now, signs, told)
    error, reason = _shown(parts) or _repeated(parts, found.told) or ("", "")
    _, _, said = error.partition("event/")
    return dataclasses.replace(
        found,
        error=error,
        reason=reason,
        factor=reasons.SLOW.get(said, 1.0),
        quiet=0 if error else (last.quiet if last else 0) + 1,
    )


def times(event: Manifest) -> int:
    """How often an event was told; the server keeps one for all of them."""
    counts = (
        reading.number(event, ("series", "count")),
        reading.number(event, ("count",)),
    )
    return max(count or 1 for count in counts)


def _told(parts: Iterable[Part]) -> dict[Telling, int]:
    found: dict[Telling, int] = {}
    for part in parts:
        for event in part.events:
            key = _telling(part, event)
            found[key] = found.get(key, 0) + times(event)
    return found


def _telling(part: Part, event: Manifest) -> Telling:
    return (
        objects.uid(part.obj),
        reading.text(event, ("type",)),
        reading.text(event, ("reason",)),
    )


def _shown(parts: Iterable[Part]) -> tuple[str, str] | None:
    """The error that the deepest part shows: nearest to the cause."""
    wrong = [part for part in parts if part.depth and part.error]
    if not wrong:
        return None
    part = max(wrong, key=lambda part: part.depth)
    return part.error, f"{part.ref}: {part.verdict.reason}"


def _repeated(
    parts: Sequence[Part], before: Mapping[Telling, int]
) -> tuple[str, str] | None:
    """A warning that was told again since nothing moves."""
    now = _told(parts)
    for part in sorted(parts, key=lambda part: -part.depth):
        for event in part.events:
            key = _telling(part, event)
            _, kind, reason = key
            if kind != "Warning" or reason in reasons.PASSING:
                continue
            if _aided(part, reason):
                continue
            if now[key] > before.get(key, now[key]):
                about = f"{part.ref}: " if part.depth else ""
                message = reading.one_line(reading.text(event, ("message",)))
                said = f"event {reason} ({now[key]} times): {message}"
                return f"event/{reason}", about + said
    return None


def _aided(part: Part, reason: str) -> bool:
    """Whether somebody said that what is missing is on its way."""
    said = {reading.text(event, ("reason",)) for event in part.events}
    return bool(said & reasons.AIDED.get(reason, frozenset()))
