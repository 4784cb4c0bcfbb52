"""A step: the requests that it sends, and what follows from their outcomes.

Nothing here reads a clock or a server.
"""

from __future__ import annotations

import dataclasses

from tools.soak import model
from tools.soak import outcomes
from tools.soak.invariants import Check
from tools.soak.invariants import Others
from tools.soak.model import Instance
from tools.soak.model import RecordedState
from tools.soak.model import Request
from tools.soak.outcomes import Circumstances
from tools.soak.outcomes import Outcome
from tools.soak.outcomes import Result


@dataclasses.dataclass(eq=False)
class Step:
    """One request for one instance; a second process may send the same.

    :param instance: as it was before.
    :param started: when the first process was started.
    :ivar runs: processes that have not answered.
    :ivar outcomes: what those have answered that have.
    :ivar check_at: when the instance may be checked.
    """

    number: int
    instance: Instance
    request: Request
    started: float
    runs: int = 1
    contended: bool = False
    outcomes: list[Outcome] = dataclasses.field(default_factory=list)
    results: list[Result] = dataclasses.field(default_factory=list)
    wrong: list[str] = dataclasses.field(default_factory=list)
    faulty: bool = False
    faulty_end: bool = False
    check_at: float = 0.0

    @property
    def can_be_contended(self) -> bool:
        """Return whether another process may send the same request now."""
        return (
            not self.contended
            and not self.outcomes
            and self.request.kill is None
            and self.request.expects == model.DONE
            and self.request.operation in CONTENDED
        )

    @property
    def complete(self) -> bool:
        """Return whether it is known what the instance has to be."""
        allowed = {Result.DONE, Result.BUSY, Result.REFUSED}
        return set(self.results) <= allowed and set(self.results) != {
            Result.BUSY
        }

    @property
    def cleans(self) -> bool:
        """Return whether the request removes what a killed one has left."""
        operation = self.request.operation
        writes = self.request.expects == model.DONE
        return operation == "terminate" or (
            writes and operation not in model.READING
        )

    def judge(self) -> None:
        """Judge the outcomes of all its processes."""
        circumstances = Circumstances(
            self.faulty,
            self.contended,
            not self.instance.phase,
            self.instance.unclean,
        )
        for outcome in self.outcomes:
            result, wrong = outcomes.judge(
                self.request, outcome, circumstances
            )
            self.results.append(result)
            if wrong:
                self.wrong.append(wrong)
        if why := outcomes.explain_contention(self.results):
            self.wrong.append(why)

    def create_check(self, others: Others) -> Check:
        """Return what has to be looked at now."""
        instance = self.instance
        if self.complete:
            instance = model.apply_request(instance, self.request)
        early = {Result.KILLED, Result.DISTURBED, Result.LATE}
        undisturbed = not self.faulty_end and not early & set(self.results)
        cleaned = not instance.unclean or (self.complete and self.cleans)
        at_rest = instance.phase in ("", model.AT_REST)
        return Check(
            instance,
            others,
            self.complete and at_rest,
            undisturbed and cleaned,
            HEALED if self.request.operation == "heal" else 0.0,
            self.request.operation == "instantiate"
            and Result.DONE in self.results,
        )

    def next_instance(
        self, check: Check, found: RecordedState, is_valid: bool
    ) -> Instance:
        """Return the instance as it is to be taken for from now on.

        :param is_valid: the look has shown no violation.
        """
        now = check.expected
        if not check.complete or not is_valid:
            now = model.settle_state(self.instance, self.request, found)
        elif now.phase == model.AT_REST:
            now = model.apply_observed(now, found)
        return dataclasses.replace(now, unclean=not check.undisturbed)

    @property
    def has_ended_as_intended(self) -> bool:
        """Return whether the soak made the operation end as it did."""
        intended = {Result.KILLED, Result.FAILED}
        return bool(self.results) and intended.issuperset(self.results)

    def __str__(self) -> str:
        instance = self.instance
        ended = ", ".join(
            f"{result.value} ({outcome.error or 'no error'}) "
            f"in {outcome.seconds:.1f} s"
            for result, outcome in zip(
                self.results, self.outcomes, strict=True
            )
        )
        words = [
            f"step {self.number}: {self.request} from",
            instance.phase or "absent",
            instance.version,
            f"at {self.started:.1f} s: {ended}",
            "(during a fault)" if self.faulty else "",
        ]
        return " ".join(word for word in words if word)


HEALED = 5.0
"""Seconds until the controller has counted the Pods that a heal replaced."""

CONTENDED = ("instantiate", "change", "scale", "heal", "terminate")
"""Operations that may be done twice without a difference."""


def describe_ending(step: Step, now: Instance) -> str:
    """Return what became of an operation that had ended early; or empty."""
    early = {Result.KILLED, Result.DISTURBED, Result.LATE, Result.FAILED}
    if step.instance.unfinished is None:
        if early & set(step.results) and now.unfinished is None:
            return "nothing was left to do"
        return ""
    if now.unfinished is not None or not step.complete:
        return ""
    return {
        "roll_back": "rolled back",
        "terminate": "terminated",
    }.get(step.request.operation, "completed")
