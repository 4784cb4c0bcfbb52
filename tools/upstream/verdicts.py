"""Whether a result is what is expected of its test."""

from __future__ import annotations

import dataclasses

from tools.upstream import expected
from tools.upstream import failure_reasons
from tools.upstream.columns import Column
from tools.upstream.expected import Expectations
from tools.upstream.results import FAILED
from tools.upstream.results import PASSED
from tools.upstream.results import Result


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A result of one column, and the remark about it.

    :param reason: why the test failed, or why passing does not count.
    :param known: the entry of ``expected.yaml`` that covers it.
    :param surprise: why it is unexpected; empty when it is expected.
    :param options: the compatibility options that its errors name.
    :param needed: the one with which the test passes.
    """

    result: Result
    reason: str = ""
    known: str = ""
    surprise: str = ""
    options: tuple[str, ...] = ()
    needed: str = ""

    @property
    def passed_for_other_reason(self) -> bool:
        """Whether the test passed for another reason than it should."""
        return self.result.outcome == PASSED and bool(self.reason)


def judge(
    result: Result, column: Column, expectations: Expectations
) -> Verdict:
    """Compare a result with the two tables of expectations."""
    reason = failure_reasons.reason(result)
    if result.outcome == PASSED:
        reason = _another_reason(result, column, expectations)
    options = failure_reasons.named_options(result)
    verdict = Verdict(result, reason, options=options)
    entry = expectations.outcome(result.test, column)
    actual = FAILED if verdict.passed_for_other_reason else result.outcome
    if entry is None:
        surprise = "" if actual == PASSED else "not expected"
        return dataclasses.replace(verdict, surprise=surprise)
    surprise = ""
    if actual != entry.outcome:
        surprise = f"expected to be {entry.outcome}: {entry.reason}"
    elif not expected.contains(entry.match, f"{reason}\n{result.error}"):
        surprise = f"expected to fail with {entry.match}"
    return dataclasses.replace(
        verdict, known=entry.reason, surprise=surprise, needed=entry.option
    )


def _another_reason(
    result: Result, column: Column, expectations: Expectations
) -> str:
    """Why a passed test does not show what it should; empty if it does."""
    for operation in result.failed_operations:
        causes = expectations.causes_of(result.test, operation.operation)
        if not causes:
            reason = failure_reasons.describe(operation)
            return f"no failure is expected of {reason}"
        if not any(
            expected.contains(cause.pattern(column), operation.error)
            for cause in causes
        ):
            reason = failure_reasons.describe(operation)
            return f"expected {causes[0].cause}; {reason}"
    return _missing(result, expectations)


def _missing(result: Result, expectations: Expectations) -> str:
    failed = {one.operation for one in result.failed_operations}
    for cause in expectations.causes:
        if result.test.endswith(cause.test) and cause.operation not in failed:
            return f"expected {cause.operation} to fail: {cause.cause}"
    return ""
