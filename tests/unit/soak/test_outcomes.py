"""Which outcomes of an operation may be."""

from __future__ import annotations

import pytest

from tools.soak import outcomes
from tools.soak.model import Request
from tools.soak.outcomes import Circumstances
from tools.soak.outcomes import Outcome
from tools.soak.outcomes import Result

CALM = Circumstances()
FAULTY = Circumstances(faulty=True)
CONTENDED = Circumstances(contended=True)
ABSENT = Circumstances(absent=True)

CHANGE = Request("change", "b")
INVALID = Request("change", "invalid", expects="refused")
STUCK = Request("change", "stuck", seconds=8.0, expects="fails")
KILL = Request("change", "b", kill=0.5)
HEAL = Request("heal", expects="refused")


def judged(request, error, around, seconds=1.0):
    outcome = Outcome(error, "why", seconds)
    result, wrong = outcomes.judge(request, outcome, around)
    return result, bool(wrong)


@pytest.mark.parametrize(
    ("request_", "error", "around", "result"),
    [
        (CHANGE, "", CALM, Result.DONE),
        (CHANGE, "", FAULTY, Result.DONE),
        (CHANGE, "OperationInProgress", CONTENDED, Result.BUSY),
        (CHANGE, "Unavailable", FAULTY, Result.DISTURBED),
        (CHANGE, "LockLost", FAULTY, Result.DISTURBED),
        (INVALID, "Rejected", CALM, Result.REFUSED),
        (INVALID, "Unreachable", FAULTY, Result.DISTURBED),
        (HEAL, "InstanceNotFound", ABSENT, Result.REFUSED),
        (STUCK, "ReadinessTimeout", CALM, Result.FAILED),
        (KILL, "killed", CALM, Result.KILLED),
        (KILL, "", CALM, Result.DONE),
    ],
)
def test_what_may_be(request_, error, around, result):
    """What was requested, or what the circumstances explain."""
    assert (result, False) == judged(request_, error, around)


@pytest.mark.parametrize(
    ("request_", "error", "around"),
    [
        (CHANGE, "Unavailable", CALM),
        (CHANGE, "OperationInProgress", CALM),
        (CHANGE, "OperationInProgress", FAULTY),
        (CHANGE, "ReadinessTimeout", CALM),
        (CHANGE, "InstanceNotFound", FAULTY),
        (CHANGE, "KeyError", FAULTY),
        (CHANGE, "killed", FAULTY),
        (INVALID, "", CALM),
        (INVALID, "InstanceNotFound", CALM),
        (HEAL, "NotHealable", ABSENT),
        (STUCK, "", CALM),
    ],
)
def test_what_may_not_be(request_, error, around):
    """No circumstance explains it."""
    assert (Result.WRONG, True) == judged(request_, error, around)


def test_a_slow_machine_makes_an_operation_late_and_nothing_worse():
    """It may reach its deadline, and then has to be finished."""
    assert (Result.LATE, False) == judged(
        CHANGE, "ReadinessTimeout", CALM, 90.5
    )
    assert (Result.LATE, False) == judged(CHANGE, "Unavailable", CALM, 91)


def test_the_lock_of_a_killed_process_may_outlast_a_short_deadline():
    """Without a kill before, no lock may be in the way."""
    unclean = Circumstances(unclean=True)

    assert (Result.LATE, False) == judged(
        STUCK, "OperationInProgress", unclean, 8.0
    )
    assert (Result.WRONG, True) == judged(
        STUCK, "OperationInProgress", unclean, 2.0
    )
    assert (Result.WRONG, True) == judged(
        STUCK, "OperationInProgress", FAULTY, 8.0
    )


def test_an_operation_that_outlives_its_deadline_is_wrong():
    """By more than what is documented, whatever came of it."""
    assert (Result.DONE, False) == judged(CHANGE, "", CALM, 101.9)
    assert (Result.DONE, True) == judged(CHANGE, "", CALM, 102.1)
    assert (Result.LATE, True) == judged(
        CHANGE, "ReadinessTimeout", FAULTY, 103
    )


def test_a_drift_that_finds_something_is_wrong():
    """Nothing but the soak has written to the instance."""
    outcome = Outcome(remarks=("drift: ConfigMap/a/b",))

    assert (Result.WRONG, "drift: ConfigMap/a/b") == (
        outcomes.judge(Request("drift"), outcome, CALM)
    )


def test_of_contending_requests_one_is_carried_out():
    """All refused by the lock would be a lock that was left."""
    assert "" == outcomes.explain_contention([Result.DONE, Result.BUSY])
    assert "" == outcomes.explain_contention([Result.DONE, Result.DONE])
    assert outcomes.explain_contention([Result.BUSY, Result.BUSY])
