"""Whether a result is what is expected of its test."""

from __future__ import annotations

import dataclasses

import pytest

from tools.upstream import columns
from tools.upstream import verdicts
from tools.upstream.expected import Cause
from tools.upstream.expected import Expectations
from tools.upstream.expected import Expected
from tools.upstream.results import FAILED
from tools.upstream.results import PASSED
from tools.upstream.results import SKIPPED
from tools.upstream.results import Operation
from tools.upstream.results import Result

DEFAULTS, COMPATIBLE, TACKER = columns.choose([])
TEST = "sol_kubernetes_v2/test_a.py::Test::test_rollback"
NAME = "test_a.py::Test::test_rollback"
INSTANTIATE = Operation("v2", "INSTANTIATE", "ROLLED_BACK", "image not found")
CAUSE = Cause(
    NAME, "INSTANTIATE", "the image does not exist", "not found", "no image"
)


def judged(result, column=COMPATIBLE, outcomes=(), causes=()):
    return verdicts.judge(
        result, column, Expectations(tuple(outcomes), tuple(causes))
    )


def passed(*operations):
    return Result(TEST, PASSED, operations=operations)


def test_a_test_that_passes_is_expected():
    """It needs no entry."""
    verdict = judged(passed(Operation("v2", "SCALE", "COMPLETED")))

    assert ("", "", False) == (
        verdict.reason,
        verdict.surprise,
        verdict.passed_for_other_reason,
    )


@pytest.mark.parametrize("outcome", [FAILED, SKIPPED])
def test_any_other_outcome_needs_an_entry(outcome):
    """Else it is a surprise."""
    verdict = judged(Result(TEST, outcome, error="E: no"))

    assert "not expected" == verdict.surprise


def test_an_expected_failure_is_not_a_surprise():
    """The entry has the cause, for the reader."""
    entry = Expected((NAME,), ("all",), "not kept", match="KeyError")
    verdict = judged(
        Result(TEST, FAILED, error="KeyError: 'x'"), outcomes=[entry]
    )

    assert ("not kept", "") == (verdict.known, verdict.surprise)


def test_an_expected_failure_names_the_needed_option():
    """Whether its error names it, or not."""
    entry = Expected((NAME,), ("all",), "stricter", option="insecure")
    verdict = judged(Result(TEST, FAILED, error="E: no"), outcomes=[entry])

    assert ("insecure", ()) == (verdict.needed, verdict.options)


def test_an_expected_failure_has_to_fail_as_expected():
    """Another error is a surprise."""
    entry = Expected((NAME,), ("all",), "not kept", match="KeyError")
    verdict = judged(Result(TEST, FAILED, error="E: no"), outcomes=[entry])

    assert "KeyError" in verdict.surprise


def test_an_expected_failure_that_passes_is_a_surprise():
    """The entry is out of date."""
    entry = Expected((NAME,), ("all",), "not kept")

    assert "not kept" in judged(passed(), outcomes=[entry]).surprise


def test_an_entry_counts_in_its_columns_only():
    """A difference of the defaults does not concern Tacker's driver."""
    entry = Expected((NAME,), ("defaults",), "not kept")
    result = Result(TEST, FAILED, error="E: no")

    assert "" == judged(result, DEFAULTS, [entry]).surprise
    assert judged(result, TACKER, [entry]).surprise


def test_a_failed_operation_of_a_passed_test_needs_a_cause():
    """Tests of rollbacks accept any failure."""
    verdict = judged(passed(INSTANTIATE))

    assert verdict.passed_for_other_reason
    assert verdict.surprise
    assert "image not found" in verdict.reason


def test_each_driver_has_its_own_words_for_the_same_cause():
    """What counts is the pattern for the driver of the column."""
    ours = dataclasses.replace(INSTANTIATE, error="there is no image web")

    assert not judged(
        passed(INSTANTIATE), TACKER, causes=[CAUSE]
    ).passed_for_other_reason
    assert not judged(
        passed(ours), COMPATIBLE, causes=[CAUSE]
    ).passed_for_other_reason
    refused = judged(passed(INSTANTIATE), COMPATIBLE, causes=[CAUSE])
    assert "expected the image does not exist" in refused.reason


def test_an_operation_that_should_fail_and_does_not_is_found():
    """The test passes then without what it is about."""
    verdict = judged(
        passed(Operation("v2", "INSTANTIATE", "COMPLETED")), causes=[CAUSE]
    )

    assert "expected INSTANTIATE to fail" in verdict.reason


def test_passing_for_another_reason_may_be_expected():
    """It counts as a failure, then as one that is known."""
    entry = Expected((NAME,), ("all",), "known", match="image not found")
    verdict = judged(passed(INSTANTIATE), outcomes=[entry])

    assert verdict.passed_for_other_reason
    assert "" == verdict.surprise
