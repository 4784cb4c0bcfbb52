"""A clock that no test has to wait for."""

from __future__ import annotations


class Clock:
    """It moves when a watch has nothing to show.

    :param least: seconds by which it moves then, at least.
    """

    def __init__(self, least: float = 0.001) -> None:
        self.now = 0.0
        self._least = least

    def __call__(self) -> float:
        return self.now

    def idle(self, seconds: float) -> None:
        self.now += max(seconds, self._least)
