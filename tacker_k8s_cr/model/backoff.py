"""Compute the delays between attempts: exponential back-off, in one place."""

from __future__ import annotations

import dataclasses

_DOUBLINGS = 64
"""After that many, every delay is at its limit; floats end at 1023."""


@dataclasses.dataclass(frozen=True)
class Backoff:
    """Delays that double with each attempt, up to a limit.

    :param initial: seconds after the first attempt.
    :param maximum: seconds at most.
    :param jitter: of each delay that is random, so that clients which failed
        together do not retry together.
    :param added_jitter: seconds at most that are added at random.
    """

    initial: float
    maximum: float
    jitter: float = 0.0
    added_jitter: float = 0.0

    def delay(self, attempt: int, draw: float = 1.0) -> float:
        """Return the seconds to wait after an attempt, counted from one.

        :param draw: a random number from 0 to 1.
        """
        doublings = min(max(attempt - 1, 0), _DOUBLINGS)
        whole = min(self.maximum, self.initial * 2.0**doublings)
        return (
            whole * (1 - self.jitter * (1 - draw)) + self.added_jitter * draw
        )


REQUEST = Backoff(0.2, 5.0, jitter=0.5)
"""Between attempts of one request to the API server."""

WATCH = Backoff(0.2, 5.0)
"""Between watches that end at once or cannot be opened."""

LAGGING_SERVER = Backoff(0.1, 2.0)
"""Until an API server serves a kind that another one already serves."""

NEW_KIND = Backoff(0.02, 1.0)
"""Until discovery shows a kind whose definition was just applied."""

APPLY = Backoff(0.25, 5.0)
"""Between rounds of objects that the server does not accept yet."""

WEBHOOK = Backoff(0.5, 30.0, added_jitter=0.5)
"""Between attempts to deliver a message to a webhook receiver."""

DELETION_REPORT = Backoff(30.0, float("inf"))
"""From the beginning of a deletion to each report on it."""


def stretch(interval: float, unchanged: int, maximum: int) -> float:
    """Return an interval that grows with each check without news.

    :param unchanged: looks without news, one after the other.
    :param maximum: times the interval at most.
    """
    return interval * min(maximum, 1 + unchanged)
