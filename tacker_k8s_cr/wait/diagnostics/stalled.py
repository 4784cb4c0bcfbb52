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

MAX_INSPECTED = 5
"""Maximum number of objects whose children are read in one step."""

MAX_PAUSE = 30.0
"""Maximum seconds until the children of an object are first read."""

MAX_QUIET_FACTOR = 4
"""Maximum factor of the pause between reads that find no error."""

POD = GroupKind("", "Pod")

EventKey = tuple[str, str, str]
"""The UID of an event's object, and the event's type and reason."""


@dataclasses.dataclass(frozen=True)
class ChildObservation:
    """The object itself or one of its children, as read once.

    :param depth: its level; 0 for the object itself.
    :param events: the events about it.
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
        """Values that change when it makes progress."""
        state = (self.verdict.state.value, self.verdict.error)
        return (
            objects.uid(self.obj),
            *state,
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
    """The state of an object's children, updated by each read.

    :param read_at: time of the last read.
    :param unchanged_since: since when no child has changed.
    :param event_counts: the count of each event after the last change.
    :param error: the error, by its type and reason; empty for none.
    :param reason: the error as a sentence.
    :param factor: factor of the stall timeout for this error.
    :param quiet_reads: how many consecutive reads have found no error.
    """

    read_at: float
    unchanged_since: float
    fingerprints: tuple[Any, ...] = ()
    event_counts: Mapping[EventKey, int] = dataclasses.field(
        default_factory=dict
    )
    error: str = ""
    reason: str = ""
    factor: float = 1.0
    quiet_reads: int = 0


@dataclasses.dataclass(frozen=True)
class StallState:
    """The progress of an object that is to become current.

    :param default_stall_timeout: of objects without their own.
    """

    observed: Observation
    children: ChildStatus | None
    default_stall_timeout: float

    @property
    def is_progressing(self) -> bool:
        return self.observed.verdict.state is State.IN_PROGRESS

    @property
    def error(self) -> str:
        """The error of the object itself, or that of its children."""
        return self.observed.verdict.error or (
            self.children.error if self.children else ""
        )

    @property
    def stalled_at(self) -> float:
        """The time at which it counts as stalled, with its children."""
        factor = 1.0
        if self.children and not self.observed.verdict.error:
            factor = self.children.factor
        return self._unchanged_since + self._stall_timeout * factor

    def blocked_verdict(self, now: float) -> Verdict | None:
        """Return a verdict if an error has persisted without progress."""
        if not (self.is_progressing and self.error and now >= self.stalled_at):
            return None
        reason = self.observed.verdict.reason
        if self.children and not self.observed.verdict.error:
            reason = f"{reason}; {self.children.reason}"
        duration = f"(unchanged for {now - self._unchanged_since:.0f} s)"
        return Verdict(State.BLOCKED, f"{reason} {duration}", self.error)

    def next_read(self) -> float:
        """Return when to read its children, for the first time or again.

        An error of the object itself triggers a read at once.
        """
        if self.observed.verdict.error and not self.children:
            return self.observed.unchanged_since
        pause = min(MAX_PAUSE, self._stall_timeout / 10)
        if self.children is None:
            return self.observed.unchanged_since + pause
        return self.children.read_at + backoff.stretch(
            pause, self.children.quiet_reads, MAX_QUIET_FACTOR
        )

    @property
    def _unchanged_since(self) -> float:
        children_since = (
            self.children.unchanged_since
            if self.children
            else self.observed.unchanged_since
        )
        return max(self.observed.unchanged_since, children_since)

    @property
    def _stall_timeout(self) -> float:
        return (
            self.default_stall_timeout
            if self.observed.stall_timeout is None
            else self.observed.stall_timeout
        )


def next_state(
    last: ChildStatus | None, parts: Sequence[ChildObservation], now: float
) -> ChildStatus:
    """Return the state after one more read.

    The object itself is not compared: its own observations show when it
    changes. A new kind of event counts as progress, even if the controller
    only reports another error.
    """
    fingerprints = tuple(
        sorted((p.fingerprint for p in parts if p.depth), key=repr)
    )
    event_counts = _count_events(parts)
    if (
        last
        and last.fingerprints == fingerprints
        and not event_counts.keys() - last.event_counts.keys()
    ):
        status = dataclasses.replace(last, read_at=now)
    else:
        status = ChildStatus(now, now, fingerprints, event_counts)
    error, reason = (
        _deepest_error(parts)
        or _repeated_warning(parts, status.event_counts)
        or ("", "")
    )
    _, _, event_reason = error.partition("event/")
    return dataclasses.replace(
        status,
        error=error,
        reason=reason,
        factor=event_reasons.TIMEOUT_FACTORS.get(event_reason, 1.0),
        quiet_reads=0 if error else (last.quiet_reads if last else 0) + 1,
    )


def event_count(event: Manifest) -> int:
    """Return the count of an event; the server keeps one for all of them."""
    counts = (
        fields.number(event, ("series", "count")),
        fields.number(event, ("count",)),
    )
    return max(count or 1 for count in counts)


def _count_events(parts: Iterable[ChildObservation]) -> dict[EventKey, int]:
    event_counts: dict[EventKey, int] = {}
    for part in parts:
        for event in part.events:
            key = _event_key(part, event)
            event_counts[key] = event_counts.get(key, 0) + event_count(event)
    return event_counts


def _event_key(part: ChildObservation, event: Manifest) -> EventKey:
    return (
        objects.uid(part.obj),
        fields.text(event, ("type",)),
        fields.text(event, ("reason",)),
    )


def _deepest_error(
    parts: Iterable[ChildObservation],
) -> tuple[str, str] | None:
    """Return the error of the deepest child: nearest to the cause."""
    failing = [part for part in parts if part.depth and part.error]
    if not failing:
        return None
    part = max(failing, key=lambda part: part.depth)
    return part.error, f"{part.ref}: {part.verdict.reason}"


def _repeated_warning(
    parts: Sequence[ChildObservation], before: Mapping[EventKey, int]
) -> tuple[str, str] | None:
    """Return a warning that was repeated since the last progress."""
    now = _count_events(parts)
    for part in sorted(parts, key=lambda part: -part.depth):
        for event in part.events:
            key = _event_key(part, event)
            _, kind, reason = key
            if kind != "Warning" or reason in event_reasons.TRANSIENT:
                continue
            if _has_remedy(part, reason):
                continue
            if now[key] > before.get(key, now[key]):
                prefix = f"{part.ref}: " if part.depth else ""
                message = fields.one_line(fields.text(event, ("message",)))
                text = f"event {reason} ({now[key]} times): {message}"
                return f"event/{reason}", prefix + text
    return None


def _has_remedy(part: ChildObservation, reason: str) -> bool:
    """Return whether an event reports that a remedy is in progress."""
    reasons = {fields.text(event, ("reason",)) for event in part.events}
    return bool(reasons & event_reasons.RESOLVED_BY.get(reason, frozenset()))
