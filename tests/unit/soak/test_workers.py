"""Workers that are killed, without a process or a server."""

from __future__ import annotations

import itertools
import multiprocessing

from tools.soak.fault_injection import Disturbance
from tools.soak.instance_pool import InstancePool
from tools.soak.invariants import Check
from tools.soak.loop import Plan
from tools.soak.loop import Soak
from tools.soak.model import Instance
from tools.soak.model import RecordedState
from tools.soak.outcomes import KILLED
from tools.soak.outcomes import Outcome
from tools.soak.schedule import Fault
from tools.soak.worker import BEGUN
from tools.soak.worker import CheckResult


class Late:
    """A worker whose answer is on its way when it is killed."""

    def __init__(self):
        self.pipe, self.theirs = multiprocessing.Pipe()
        self.is_dead = False
        self.owes = False
        self.spoilt = 0

    def send(self, task):
        if self.is_dead:
            self.theirs.close()
        elif isinstance(task, Check):
            known = task.expected
            found = RecordedState(known.phase, known.version, known.before)
            self.theirs.send(CheckResult(found, ()))
        elif task.request.kill is None:
            self.theirs.send(Outcome())
        else:
            self.owes = True
            self.theirs.send(BEGUN)

    def receive(self):
        try:
            return self.pipe.recv()
        except EOFError:
            return Outcome(KILLED)

    def kill(self):
        if self.owes:
            self.owes = False
            self.spoilt += 1
            self.theirs.send(Outcome())
        self.is_dead = True

    def close(self):
        self.theirs.close()
        self.pipe.close()


def test_a_worker_that_answered_before_it_was_killed_is_replaced():
    """Its answer counts, and another one carries out the next step."""
    workers = []

    def start():
        workers.append(Late())
        return workers[-1]

    never = itertools.repeat(Fault("stall", 1e9, 1.0))
    instance = Instance("soak-00", "soak-ns0", "configuration", 0)
    soak = Soak(
        Plan(seed=1, seconds=2000.0, processes=1),
        InstancePool(1, [instance], {"soak-ns0": {}}),
        start,
        Disturbance(None, never),
        itertools.count().__next__,
        lambda text: None,
    )

    found = soak.run()

    spoilt = sum(worker.spoilt for worker in workers)
    assert found.steps > spoilt > 1
    assert spoilt + 1 == len(workers)
