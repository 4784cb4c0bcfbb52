"""Errors below a stalled object, and since when they persist.

An object often reports only that it is waiting. The objects that it creates or
uses report the cause, in their status and in events. Such an error counts
while nothing below the object changes; messages, times and the count of an
event are not progress.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from tacker_k8s_cr.kinds import event_reasons
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds import observation
from tacker_k8s_cr.kinds.observation import Observation
from tacker_k8s_cr.model import backoff
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict

ROUND = 5
"""Number of objects whose children are read at once; the rest wait their
turn."""

PAUSE = 30.0
"""Seconds at most until the first look below an object."""

QUIET = 4
"""How many pauses at most lie between looks that find nothing wrong."""

POD = GroupKind("", "Pod")

Telling = tuple[str, str, str]
"""The UID of what an event is about, and the event's type and reason."""


@dataclasses.dataclass(frozen=True)
class ChildObservation:
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
    def fingerprint(self) -> tuple[Any, ...]:
        """What changes when it gets on."""
        said = (self.verdict.state.value, self.verdict.error)
        return (
            objects.uid(self.obj),
            *said,
            *observation.progress_fingerprint(self.obj),
        )

    @property
    def error(self) -> str:
        """Error of the verdict; the owner of a failed Pod replaces it."""
        if self.verdict.error:
            return self.verdict.error
        failed = self.verdict.state is State.FAILED
        return "failed" if failed and self.ref.group_kind != POD else ""


@dataclasses.dataclass(frozen=True)
class ChildStatus:
    """The state found below an object, updated by each read.

    :param looked: time of the last read.
    :param still: since when nothing below has changed.
    :param told: the count of each event at that read.
    :param error: the error, by its type and reason; empty for none.
    :param reason: the same as a sentence.
    :param factor: by how much longer than others the error may persist.
    :param quiet: how many consecutive reads have found no error.
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
class StallState:
    """The progress of an object that is to become current.

    :param usual: how long any object may stay stalled with an error.
    """

    seen: Observation
    below: ChildStatus | None
    usual: float

    @property
    def is_progressing(self) -> bool:
        return self.seen.verdict.state is State.IN_PROGRESS

    @property
    def error(self) -> str:
        """What is wrong, in its own words or in those of what is below."""
        return self.seen.verdict.error or (
            self.below.error if self.below else ""
        )

    @property
    def stalled_at(self) -> float:
        """Until when it may be stalled, with all that is below it."""
        factor = 1.0
        if self.below and not self.seen.verdict.error:
            factor = self.below.factor
        return self._still + self._stall_timeout * factor

    def is_stalled(self, now: float) -> Verdict | None:
        """Blocked, when an error has stood for long while nothing moved."""
        if not (self.is_progressing and self.error and now >= self.stalled_at):
            return None
        said = self.seen.verdict.reason
        if self.below and not self.seen.verdict.error:
            said = f"{said}; {self.below.reason}"
        for_long = f"(unchanged for {now - self._still:.0f} s)"
        return Verdict(State.BLOCKED, f"{said} {for_long}", self.error)

    def due(self) -> float:
        """When to read its children, for the first time or again.

        An error of the object itself triggers a read at once.
        """
        if self.seen.verdict.error and not self.below:
            return self.seen.still
        pause = min(PAUSE, self._stall_timeout / 10)
        if self.below is None:
            return self.seen.still + pause
        return self.below.looked + backoff.stretched(
            pause, self.below.quiet, QUIET
        )

    @property
    def _still(self) -> float:
        below = self.below.still if self.below else self.seen.still
        return max(self.seen.still, below)

    @property
    def _stall_timeout(self) -> float:
        return (
            self.usual
            if self.seen.stall_timeout is None
            else self.seen.stall_timeout
        )


def next_state(
    last: ChildStatus | None, parts: Sequence[ChildObservation], now: float
) -> ChildStatus:
    """Return the state after one more read.

    The object itself is not compared: its own views show when it changes. A
    new kind of event counts as progress, even if the controller only meets
    another error.
    """
    signs = tuple(sorted((p.fingerprint for p in parts if p.depth), key=repr))
    told = _told(parts)
    if last and last.signs == signs and not told.keys() - last.told.keys():
        found = dataclasses.replace(last, looked=now)
    else:
        found = ChildStatus(now, now, signs, told)
    error, reason = _shown(parts) or _repeated(parts, found.told) or ("", "")
    _, _, said = error.partition("event/")
    return dataclasses.replace(
        found,
        error=error,
        reason=reason,
        factor=event_reasons.SLOW.get(said, 1.0),
        quiet=0 if error else (last.quiet if last else 0) + 1,
    )


def event_count(event: Manifest) -> int:
    """Return the count of an event; the server keeps one for all of them."""
    counts = (
        fields.number(event, ("series", "count")),
        fields.number(event, ("count",)),
    )
    return max(count or 1 for count in counts)


def _told(parts: Iterable[ChildObservation]) -> dict[Telling, int]:
    found: dict[Telling, int] = {}
    for part in parts:
        for event in part.events:
            key = _telling(part, event)
            found[key] = found.get(key, 0) + event_count(event)
    return found


def _telling(part: ChildObservation, event: Manifest) -> Telling:
    return (
        objects.uid(part.obj),
        fields.text(event, ("type",)),
        fields.text(event, ("reason",)),
    )


def _shown(parts: Iterable[ChildObservation]) -> tuple[str, str] | None:
    """The error that the deepest part shows: nearest to the cause."""
    wrong = [part for part in parts if part.depth and part.error]
    if not wrong:
        return None
    part = max(wrong, key=lambda part: part.depth)
    return part.error, f"{part.ref}: {part.verdict.reason}"


def _repeated(
    parts: Sequence[ChildObservation], before: Mapping[Telling, int]
) -> tuple[str, str] | None:
    """Return a warning that was repeated since the last progress."""
    now = _told(parts)
    for part in sorted(parts, key=lambda part: -part.depth):
        for event in part.events:
            key = _telling(part, event)
            _, kind, reason = key
            if kind != "Warning" or reason in event_reasons.PASSING:
                continue
            if _aided(part, reason):
                continue
            if now[key] > before.get(key, now[key]):
                about = f"{part.ref}: " if part.depth else ""
                message = fields.one_line(fields.text(event, ("message",)))
                said = f"event {reason} ({now[key]} times): {message}"
                return f"event/{reason}", about + said
    return None


def _aided(part: ChildObservation, reason: str) -> bool:
    """Return whether an event reports that a remedy is in progress."""
    said = {fields.text(event, ("reason",)) for event in part.events}
    return bool(said & event_reasons.AIDED.get(reason, frozenset()))
