"""Carries out the steps of a soak with a few worker processes."""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
from multiprocessing import connection
from typing import Any

from tools.plane.errors import PlaneError
from tools.soak import outcomes
from tools.soak import steps
from tools.soak.fault_injection import Disturbance
from tools.soak.instance_pool import InstancePool
from tools.soak.invariants import Check
from tools.soak.outcomes import Outcome
from tools.soak.outcomes import Result
from tools.soak.steps import Step
from tools.soak.summary import Figures
from tools.soak.summary import format_progress
from tools.soak.worker import BEGUN
from tools.soak.worker import CheckResult
from tools.soak.worker import Task
from tools.soak.worker import Worker

PROGRESS = 30.0
PATIENCE = 1.0
"""Seconds after a kill, or after a fault, until the server has done what was
sent to it."""
HANGS = 60.0
"""Seconds beyond the limit of an operation until its process is ended."""
RELEASE_TIME = 10.0
"""Seconds at the end of an operation in which it gives the lock back."""


@dataclasses.dataclass(eq=False)
class Slot:
    """A worker, and what it does now.

    :param kill_at: when its process is killed; None for never.
    :param is_killed: whether it was; its answer may have come before.
    """

    worker: Worker
    step: Step | None = None
    check: Check | None = None
    kill_at: float | None = None
    is_killed: bool = False
    limit: float = float("inf")

    def kill(self) -> None:
        self.is_killed = True
        self.worker.kill()


@dataclasses.dataclass(frozen=True)
class Plan:
    """The settings of a soak.

    :param seconds: for which operations are drawn; then all is terminated.
    """

    seed: int
    seconds: float
    processes: int


class Soak:
    """One soak, from its first step until every instance is terminated.

    :param clock: seconds since the start.
    """

    def __init__(
        self,
        plan: Plan,
        pool: InstancePool,
        start: Callable[[], Worker],
        disturbance: Disturbance,
        clock: Callable[[], float],
        print_line: Callable[[str], object],
    ):
        self.figures = Figures()
        self._plan = plan
        self._pool = pool
        self._start = start
        self._disturbance = disturbance
        self._clock = clock
        self._print_line = print_line
        self._waiting: list[Step] = []
        self._slots = [Slot(start()) for _ in range(plan.processes)]

    def run(self) -> Figures:
        """Carry out steps until the deadline, then terminate all."""
        next_line = PROGRESS
        try:
            while not self._is_over:
                now = self.figures.seconds = self._clock()
                if now >= self._plan.seconds:
                    self._disturbance.stop(now)
                self._disturbance.advance(now)
                self._kill(now)
                self._assign(now)
                if now >= next_line:
                    self.figures.faults = self._faults()
                    self._print_line(format_progress(self.figures))
                    next_line += PROGRESS
                for slot in self._ready(self._pause(now)):
                    self._receive(slot)
        finally:
            self._disturbance.stop(self._clock())
            for slot in self._slots:
                slot.worker.close()
        self.figures.seconds = self._clock()
        self.figures.steps = self._pool.steps
        self.figures.faults = self._faults()
        return self.figures

    def _faults(self) -> collections.Counter[str]:
        return collections.Counter(f.kind for f in self._disturbance.started)

    @property
    def _is_over(self) -> bool:
        late = self._clock() >= self._plan.seconds
        return late and not self._pool.has_work

    def _pause(self, now: float) -> float:
        moments = [now + 0.5, self._disturbance.due]
        moments += [s.kill_at for s in self._slots if s.kill_at is not None]
        return max(0.0, min(moments) - now)

    def _ready(self, seconds: float) -> Iterator[Slot]:
        pipes: dict[Any, Slot] = {s.worker.pipe: s for s in self._slots}
        for pipe in connection.wait(list(pipes), seconds):
            yield pipes[pipe]

    # -- What a slot does next ----------------------------------------------

    def _kill(self, now: float) -> None:
        for slot in self._slots:
            if slot.kill_at is not None and slot.kill_at <= now:
                slot.kill_at = None
                slot.kill()
            elif slot.limit <= now:
                # Its outcome is a process that ended without an answer.
                slot.limit = float("inf")
                slot.kill()

    def _assign(self, now: float) -> None:
        for slot in self._slots:
            if slot.step is not None:
                continue
            if step := self._due(now):
                self._start_check(slot, step)
            elif step := self._contended(now) or self._pool.claim(
                now, last=now >= self._plan.seconds
            ):
                self._request(slot, step)

    def _due(self, now: float) -> Step | None:
        """Return a step whose instance may be looked at by now."""
        quiet = self._disturbance.last_end + PATIENCE
        if self._disturbance.is_active or now < quiet:
            return None
        for step in self._waiting:
            if step.check_at <= now:
                self._waiting.remove(step)
                return step
        return None

    def _contended(self, now: float) -> Step | None:
        if now >= self._plan.seconds or not self._pool.contends():
            return None
        for slot in self._slots:
            step = slot.step
            if step and slot.check is None and step.can_be_contended:
                step.contended = True
                step.runs += 1
                self.figures.contentions += 1
                return step
        return None

    def _request(self, slot: Slot, step: Step) -> None:
        slot.step, slot.check = step, None
        slot.limit = (
            self._clock()
            + step.request.seconds
            + outcomes.AFTER_DEADLINE
            + HANGS
        )
        slot.worker.send(Task(step.instance, step.request))

    def _start_check(self, slot: Slot, step: Step) -> None:
        check = self._pool.create_check(step)
        slot.step, slot.check = step, check
        slot.worker.send(check)

    # -- What has come ------------------------------------------------------

    def _receive(self, slot: Slot) -> None:
        step, now = slot.step, self._clock()
        message = slot.worker.receive()
        if message == BEGUN:
            if step and step.request.kill is not None:
                slot.kill_at = now + step.request.kill
            return
        has_ended = isinstance(message, Outcome) and (
            message.error == outcomes.KILLED
        )
        if has_ended or slot.is_killed:
            slot.worker.close()
            slot.worker = self._start()
            slot.is_killed = False
        slot.kill_at, slot.limit = None, float("inf")
        check, slot.step, slot.check = slot.check, None, None
        if step is None:
            return
        if check is not None:
            self._record_check(step, check, message)
        else:
            self._record_outcome(slot, step, message, now)

    def _record_outcome(
        self, slot: Slot, step: Step, outcome: Outcome, now: float
    ) -> None:
        step.outcomes.append(outcome)
        self.figures.memory = max(self.figures.memory, outcome.memory)
        step.runs -= 1
        if step.runs:
            return
        was = self._disturbance.was_active
        step.faulty = was(step.started, now)
        step.faulty_end = was(max(step.started, now - RELEASE_TIME), now)
        step.judge()
        for one, result in zip(step.outcomes, step.results, strict=True):
            shown = result not in (Result.DONE, Result.KILLED)
            self.figures.add(
                step.request.operation,
                result,
                one.seconds,
                one.error if shown else "",
            )
        if step.complete:
            self._start_check(slot, step)
        else:
            step.check_at = now + PATIENCE
            self._waiting.append(step)

    def _record_check(
        self, step: Step, check: Check, result: CheckResult | Outcome
    ) -> None:
        self.figures.looks += 1
        if isinstance(result, Outcome):
            # The way of looks has no faults, so this ends the soak.
            raise PlaneError(
                f"step {step.number}: {step.instance.name} could not be read: "
                f"{result.error}: {result.sentence}"
            )
        if found := self._pool.conclude(step, check, result):
            self.figures.violations.append(found)
            self._print_line(f"seed {self._plan.seed}: {found}")
        now = self._pool[step.instance.name]
        if ending := steps.describe_ending(step, now):
            self.figures.endings[ending] += 1
