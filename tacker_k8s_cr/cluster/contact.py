"""The first contact with a server: a person does not wait long for it."""

from __future__ import annotations

from collections.abc import Callable
import math

ATTEMPTS = 3
SECONDS = 5.0
"""What a server is given that has never answered, whichever ends first."""


class Contact:
    """Whether a server has answered, and how long that is waited for.

    From the first answer on, whatever it says, nothing of this counts any
    more: an operation that has begun lives through a restart of the server.

    :param say: told once what is the matter, while it is tried again.
    """

    def __init__(self, say: Callable[[str], None] = lambda text: None):
        self.answered = False
        self._say = say
        self._said = False
        self._begun: float | None = None

    def left(self, now: float) -> float:
        """Seconds for the first answer, from the first attempt on."""
        if self.answered:
            return math.inf
        if self._begun is None:
            self._begun = now
        return max(0.0, self._begun + SECONDS - now)

    def is_given_up(self, attempts: int, moment: float) -> bool:
        """Whether there is no attempt at this moment, after so many."""
        if self.answered:
            return False
        return attempts >= ATTEMPTS or self.left(moment) <= 0

    def say(self, why: str) -> None:
        """Tell why the server does not answer."""
        if not self.answered and not self._said:
            self._said = True
            self._say(
                f"{why}; trying again: {ATTEMPTS} times, or {SECONDS:.0f} s"
            )
