"""The instances of a soak: which are free, and what each of them is by now."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Mapping
import random

from tools.soak import model
from tools.soak import schedule
from tools.soak.invariants import Check
from tools.soak.invariants import Others
from tools.soak.model import Instance
from tools.soak.model import Request
from tools.soak.steps import Step
from tools.soak.summary import Violation
from tools.soak.worker import CheckResult

CONTENDS = 0.08
"""Share of the turns in which a process repeats a running request."""
TRIES = 5
"""Operations in a row on one instance that may end early, without those that
the soak killed or that had to fail: these do not count."""
REMEMBERED = 6
"""Steps of an instance that a violation shows."""

LAST = Request("terminate", seconds=120.0)
NOTHING = Request("terminate", seconds=120.0, expects=model.REFUSED)
"""For objects that a kill may have left without a record."""


class InstancePool:
    """The instances, each claimed by one step at a time.

    :param others: objects of other managers, by namespace.
    """

    def __init__(
        self,
        seed: int,
        instances: Iterable[Instance],
        others: Mapping[str, Others],
    ):
        self.steps = 0
        self._seed = seed
        self._instances = {each.name: each for each in instances}
        self._others = others
        self._claimed: set[str] = set()
        self._claims: collections.Counter[str] = collections.Counter()
        self._early: collections.Counter[str] = collections.Counter()
        self._history: dict[str, collections.deque[str]] = {}
        self._turns = random.Random(f"{seed}/turns")  # noqa: S311

    def __getitem__(self, name: str) -> Instance:
        return self._instances[name]

    @property
    def has_work(self) -> bool:
        """Return whether there is something to terminate or to wait for."""
        return bool(self._claimed) or bool(self._free(last=True))

    def contends(self) -> bool:
        """Draw whether a process repeats a running request."""
        return self._turns.random() < CONTENDS

    def claim(self, now: float, *, last: bool) -> Step | None:
        """Return the next step; None if no instance is free.

        :param last: no operation is drawn any more, and all is terminated.
        """
        free = self._free(last=last)
        if not free:
            return None
        name = free[0] if last else self._turns.choice(free)
        instance = self._instances[name]
        if last:
            request = LAST if instance.phase else NOTHING
        else:
            number = self._claims[name]
            request = schedule.draw(self._seed, instance, number)
        self._claims[name] += 1
        self._claimed.add(name)
        self.steps += 1
        return Step(self.steps, instance, request, now)

    def create_check(self, step: Step) -> Check:
        """Return what has to be looked at after a step."""
        return step.create_check(self._others[step.instance.namespace])

    def conclude(
        self, step: Step, check: Check, result: CheckResult
    ) -> Violation | None:
        """Take an instance for what it was seen to be, and free it."""
        name = step.instance.name
        history = self._history.setdefault(
            name, collections.deque(maxlen=REMEMBERED)
        )
        history.append(str(step))
        self._instances[name] = step.next_instance(
            check, result.state, not result.violations
        )
        self._claimed.discard(name)
        if step.complete:
            self._early[name] = 0
        elif not step.has_ended_as_intended:
            self._early[name] += 1
            if self._early[name] == TRIES:
                step.wrong.append(f"{TRIES} operations in a row ended early")
        evidence = (*step.wrong, *result.violations)
        if not evidence:
            return None
        return Violation(
            step.number,
            name,
            step.instance.form,
            str(step.request),
            evidence,
            tuple(history),
        )

    def _free(self, *, last: bool) -> list[str]:
        return [
            name
            for name, instance in sorted(self._instances.items())
            if name not in self._claimed
            and self._early[name] < TRIES
            and (instance.phase or instance.unclean or not last)
        ]
