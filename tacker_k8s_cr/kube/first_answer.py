"""Limits for the first answer of a server, for interactive use."""

from __future__ import annotations

from collections.abc import Callable
import math

ATTEMPTS = 3
SECONDS = 5.0
"""Limits for the first answer of a server, whichever ends first."""


class FirstAnswer:
    """Whether a server has answered, and the limits until it does.

    They end with the first answer, even an error: an operation that has
    started continues through a restart of the server.

    :param report: called once with the reason while attempts continue.
    """

    def __init__(self, report: Callable[[str], None] = lambda text: None):
        self.answered = False
        self._report = report
        self._notified = False
        self._begun: float | None = None

    def remaining(self, now: float) -> float:
        """Return the seconds for the first answer, since the first attempt."""
        if self.answered:
            return math.inf
        if self._begun is None:
            self._begun = now
        return max(0.0, self._begun + SECONDS - now)

    def is_given_up(self, attempts: int, moment: float) -> bool:
        """Return whether the limits allow no attempt at this moment."""
        if self.answered:
            return False
        return attempts >= ATTEMPTS or self.remaining(moment) <= 0

    def notify(self, why: str) -> None:
        """Report why the server does not answer, once."""
        if not self.answered and not self._notified:
            self._notified = True
            self._report(
                f"{why}; retrying (at most {ATTEMPTS} attempts, "
                f"{SECONDS:.0f} s)"
            )
