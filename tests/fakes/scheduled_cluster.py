"""A cluster in which things happen at set times of a clock of its own."""

from __future__ import annotations

from collections.abc import Callable

from tests.fakes.cluster import FakeCluster


class ScheduledCluster:
    """Time passes while no thread has anything to do.

    :ivar plays: what is to happen, with the moments, the first one first.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.plays: list[tuple[float, Callable[[], object]]] = []
        self.cluster = FakeCluster(idle=self.idle)

    def clock(self) -> float:
        return self.now

    def idle(self, seconds: float) -> None:
        until = self.now + seconds
        if self.plays and self.plays[0][0] <= until:
            moment, play = self.plays.pop(0)
            self.now = max(self.now, moment)
            play()
        else:
            self.now = until

    def at(self, moment: float, play: Callable[[], object]) -> None:
        self.plays.append((moment, play))
