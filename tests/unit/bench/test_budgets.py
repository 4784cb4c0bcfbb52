"""What becomes of the numbers of each part of the bench."""

import pytest

from tools.bench import budgets
from tools.bench.budgets import ChangeMeasurements
from tools.bench.budgets import WaitMeasurements
from tools.bench.rounds import Measurement


def judged(rows):
    """By name: the ratio, else our own number; and whether that is met."""
    return {
        row.name: (row.ratio.median if row.ratio else row.ours, row.is_met)
        for row in rows
    }


def test_rounds_become_rows_with_the_budgets():
    """Times by the peer of the row, requests for one object."""
    measured = {
        "ours apply": Measurement(1.0, 1050),
        "ours delete": Measurement(1.5, 1020),
        "ours with dry run apply": Measurement(2.0, 2300),
        "ours with dry run delete": Measurement(1.0, 1020),
        "kubectl apply": Measurement(4.0, 1000),
        "client-go apply": Measurement(0.5, 1000),
        "client-go delete": Measurement(0.5, 1001),
        "Helm apply": Measurement(8.0, 2000),
        "Helm delete": Measurement(5.0, 2000),
    }

    assert {
        "apply: time of kubectl's": (0.25, True),
        "apply: rate of client-go's": (0.5, False),
        "apply: time of Helm's": (0.125, None),
        "apply: requests for an object": (1.05, True),
        "apply, dry run: time of kubectl's": (0.5, True),
        "apply, dry run: time of Helm's": (0.25, None),
        "apply, dry run: requests for an object": (2.3, False),
        "terminate: time of client-go's": (3.0, False),
        "terminate: time of Helm's": (0.3, True),
        "terminate: requests for an object": (1.02, None),
    } == judged(budgets.compare_rounds([measured], objects=1000))


def test_the_largest_size_is_compared_with_a_tenth_of_it():
    """In the same round; what it occupies has a budget, too."""

    def lives(seconds, peak):
        one = {"seconds": seconds, "peak": peak, "requests": 1020}
        one["processor"] = seconds / 2
        return {"apply": one, "terminate": one}

    found = judged(
        budgets.compare_sizes(
            [
                {100: lives(1, 60), 1000: lives(2, 70), 10000: lives(24, 301)},
                {100: lives(1, 60), 1000: lives(3, 71), 10000: lives(30, 290)},
            ]
        )
    )

    assert (11, True) == found["apply 10,000: time of that of 1,000"]
    assert (301, False) == found["apply 10,000: memory"]
    assert (71, None) == found["terminate 1,000: memory"]
    assert (2.5, None) == found["terminate 1,000: time"]
    assert (10.2, None) == found["apply 100: requests for an object"]
    assert (0.5, None) == found["apply 100: on a processor"]


def test_waits_become_rows_with_the_budgets():
    """The median, the 99th percentile, and what one wait asks for."""
    slow = (0.02,) * 20 + (0.25,)

    found = judged(
        budgets.compare_waits(
            {
                1: WaitMeasurements(slow, 1, 1),
                1000: WaitMeasurements(slow, 3, 2),
            }
        )
    )

    assert {
        "1 waiting, ready to return: median": (20, True),
        "1 waiting, ready to return: 99th percentile": (250, False),
        "1 waiting: requests for lists": (1, True),
        "1 waiting: watches": (1, True),
        "1,000 waiting, ready to return: median": (20, True),
        "1,000 waiting, ready to return: 99th percentile": (250, False),
        # A page of a list holds 500.
        "1,000 waiting: requests for lists": (3, True),
        "1,000 waiting: watches": (2, False),
    } == found


def test_operations_at_once_are_compared_with_the_same_one_by_one():
    """And the slowest of them with the fastest."""

    def times(seconds, fastest, slowest):
        one = {"seconds": seconds, "fastest": fastest, "slowest": slowest}
        return {"apply": one, "terminate": one}

    measured = {
        "together": times(2.0, 1.0, 1.5),
        "one_by_one": times(4.0, 0.1, 0.3),
        "sockets": 30,
        "threads": 20,
        "peak": 90.0,
    }

    found = judged(budgets.compare_concurrency([measured], 64, 10))

    assert (2, None) == found["64 at once, apply: rate, one by one"]
    assert (1.5, None) == found["64 at once, terminate: slowest, fastest"]
    assert (30, None) == found["64 at once: sockets"]
    assert (20, None) == found["64 at once: threads"]


def test_changes_are_compared_with_kubectls():
    """With and without the dry run; an unchanged package needs no applies."""
    measured = {
        "change": {
            "ours": ChangeMeasurements(1.0, 19, 1),
            "ours with dry run": ChangeMeasurements(2.0, 21, 101),
            "kubectl": ChangeMeasurements(4.0, 0, 1000),
        },
        "again": {
            "ours": ChangeMeasurements(0.8, 14, 0),
            "ours with dry run": ChangeMeasurements(1.0, 14, 1),
            "kubectl": ChangeMeasurements(4.0, 0, 1000),
        },
    }

    assert {
        "mixed, one changed: time of kubectl's": (0.25, True),
        "mixed, one changed: requests": (19, True),
        "mixed, one changed: applies": (1, True),
        "mixed, one changed, dry run: time of kubectl's": (0.5, False),
        "mixed, one changed, dry run: requests": (21, False),
        "mixed, one changed, dry run: applies": (101, False),
        "mixed, none changed: time of kubectl's": (0.2, True),
        "mixed, none changed: requests": (14, True),
        "mixed, none changed: applies": (0, True),
        "mixed, none changed, dry run: time of kubectl's": (0.25, False),
        "mixed, none changed, dry run: requests": (14, True),
        "mixed, none changed, dry run: applies": (1, False),
    } == judged(budgets.compare_changes([measured], "mixed", 1000))


def test_a_server_with_many_kinds_is_compared_with_itself_without():
    """Times and requests of the same small package."""

    def times(seconds, requests):
        return {
            "apply": [seconds],
            "apply requests": [requests],
            "terminate": [seconds],
            "terminate requests": [requests],
        }

    found = budgets.compare_crds(times(1.0, 30), times(1.2, 31), 10, 500)

    assert {
        "apply 10, 500 definitions: time without": (pytest.approx(1.2), None),
        "apply 10, 500 definitions: requests": (31, None),
        "terminate 10, 500 definitions: time without": (
            pytest.approx(1.2),
            None,
        ),
        "terminate 10, 500 definitions: requests": (31, None),
    } == judged(found)
