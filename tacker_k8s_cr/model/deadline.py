"""One moment that a whole operation must not pass; the only clock."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import datetime
import math
import time

Clock = Callable[[], float]


@dataclasses.dataclass(frozen=True)
class Deadline:
    """A moment on a clock that never goes back.

    One deadline serves all stages of an operation. A duration for each
    would let ten stages take ten times what the operator agreed to.
    """

    at: float
    clock: Clock = time.monotonic

    @classmethod
    def after(cls, seconds: float, clock: Clock = time.monotonic) -> Deadline:
        return cls(clock() + seconds, clock)

    @classmethod
    def never(cls, clock: Clock = time.monotonic) -> Deadline:
        return cls(math.inf, clock)

    @property
    def now(self) -> float:
        """Seconds on this deadline's clock; only differences mean anything."""
        return self.clock()

    @property
    def local_time(self) -> datetime.datetime:
        """The current local time, for display only."""
        return datetime.datetime.now().astimezone()

    @property
    def remaining(self) -> float:
        """Seconds that remain; 0 when the moment is past."""
        return max(0.0, self.at - self.clock())

    @property
    def expired(self) -> bool:
        return self.clock() >= self.at

    def at_most(self, seconds: float) -> Deadline:
        """The earlier of this moment and so many seconds from now."""
        return Deadline(min(self.at, self.clock() + seconds), self.clock)
