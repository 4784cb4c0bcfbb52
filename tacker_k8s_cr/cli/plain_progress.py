"""Progress as plain lines, for a log, a pipe or a dumb terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from tacker_k8s_cr.model import retries
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.wait.progress import Goal
from tacker_k8s_cr.wait.progress import WaitState


def changed_lines(
    before: WaitState, after: WaitState, now: float
) -> Iterator[str]:
    """Yield one line for each object whose verdict has changed."""
    same = before.goal is after.goal
    for ref, seen in after.observations.items():
        last = before.observations.get(ref) if same else None
        if ref in after.deleted or (last and last.verdict == seen.verdict):
            continue
        yield f"{ref}: {after.verdict(ref, now)}"
    for ref, cause in after.causes.items():
        if not same or before.causes.get(ref) != cause:
            yield f"{ref}: {after.verdict(ref, now)}"
    for ref in after.awaited:
        if ref in after.deleted and not (same and ref in before.deleted):
            if after.goal is Goal.DELETED:
                yield f"{ref}: deleted"
            else:
                yield f"{ref}: {after.verdict(ref, now)}"


def format_count(progress: WaitState) -> str:
    """Return how many objects have reached the goal."""
    written = len(progress.awaited)
    return retries.format_count(
        written - progress.unsettled_count,
        written,
        progress.goal.value,
        progress.unwritten,
    )


def format_reasons(progress: WaitState, deadline: Deadline) -> Iterator[str]:
    """Return why objects are not written yet, and the end of the attempts."""
    return retries.format_reasons(
        progress.unwritten, deadline.now, deadline.local_time
    )


def format_unwritten(
    before: WaitState, after: WaitState, deadline: Deadline
) -> Iterator[str]:
    """Yield one line for each reason when objects or reasons have changed."""
    if _whys(before) == _whys(after):
        return
    done = len(after.awaited) - after.unsettled_count
    total = len(after.awaited) + len(after.unwritten)
    for line in format_reasons(after, deadline):
        yield f"{done} of {total} {after.goal.value}; {line}"


def _whys(progress: WaitState) -> dict[ObjectRef, str]:
    return {ref: retry.why for ref, retry in progress.unwritten.items()}


class NullProgress:
    """A listener that shows nothing, and keeps the last progress."""

    def __init__(self, deadline: Deadline):
        self.deadline = deadline
        self.begun = deadline.now
        self.last: WaitState | None = None

    def __call__(self, progress: WaitState) -> None:
        self.last = progress

    def notify(self, text: str) -> None:
        """Show a sentence about the connection; here, do nothing."""

    def __enter__(self) -> NullProgress:
        return self

    def __exit__(self, *raised: object) -> None:
        """Do nothing: nothing was opened."""


class PlainProgress(NullProgress):
    """One line for each change of verdict, with the seconds since begun."""

    def __init__(self, deadline: Deadline, stream: TextIO):
        super().__init__(deadline)
        self._stream: TextIO | None = stream

    def __call__(self, progress: WaitState) -> None:
        before = self.last or WaitState(progress.registry, progress.goal)
        super().__call__(progress)
        now = self.deadline.now
        if progress.activity != before.activity and progress.activity:
            self.notify(progress.activity)
        for line in changed_lines(before, progress, now):
            self.notify(line)
        for line in format_unwritten(before, progress, self.deadline):
            self.notify(line)

    def notify(self, text: str) -> None:
        since = self.deadline.now - self.begun
        self._write(f"{since:6.1f} s  {text}\n")

    def _write(self, text: str) -> None:
        """Write; the operation continues when the stream is closed."""
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None
