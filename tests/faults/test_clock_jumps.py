"""The clock of an operation jumps while it waits."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

from tests.faults import lifecycles

pytestmark = pytest.mark.plane

JUMP = 40.0
"""Seconds: more than the lock lasts, less than the operation may."""


class Jumping:
    """A clock that is put forward once an operation waits.

    That of the time of day is not looked at: what is not the process's own
    is judged by what changes. libfaketime would move both, or, told not to,
    lets no Python sleep.
    """

    def __init__(self):
        self.ahead = 0.0
        self._once = threading.Lock()

    def __call__(self):
        return time.monotonic() + self.ahead

    def listen(self, operation, progress):
        if progress.unsettled and self._once.acquire(blocking=False):
            self.ahead = JUMP


def test_the_clock_jumps(direct_cluster, two_namespaces, table):
    """The lock is past its term then, and is still ours."""
    clocks = []

    @contextlib.contextmanager
    def disturb(operation):
        clock = Jumping()
        clocks.append(clock)
        yield lifecycles.FaultyConnection(direct_cluster, clock.listen, clock)

    outcome = lifecycles.run_lifecycles(
        f"clock jumps by {JUMP:.0f} s", direct_cluster, two_namespaces, disturb
    )

    table.append(outcome.row)
    assert all(clock.ahead for clock in clocks)
    assert outcome.good, outcome
    assert outcome.tried == outcome.finished, outcome
