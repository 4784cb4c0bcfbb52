"""Results, kept from run to run."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tools.upstream import results
from tools.upstream.results import PASSED
from tools.upstream.results import Result
from tools.upstream.results import Store

LINE = json.dumps(
    {
        "test": "a.py::A::test_a",
        "outcome": "passed",
        "seconds": 1.5,
        "operations": [
            {
                "api": "v2",
                "operation": "SCALE",
                "state": "COMPLETED",
                "error": "",
                "begun": "2026-11-22",
            }
        ],
    }
)


@pytest.fixture
def store(tmp_path):
    found = Store(tmp_path / "defaults", "one tree")
    found.open()
    return found


def add(store, *lines):
    with open(store.path("v2"), "a") as file:
        file.write("".join(f"{line}\n" for line in lines))


def test_a_line_is_a_result():
    """With the operations of the test."""
    result = results.parse_result(LINE)

    assert ("a.py::A::test_a", PASSED, 1.5) == (
        result.test,
        result.outcome,
        result.seconds,
    )
    assert ["SCALE"] == [one.operation for one in result.operations]


@given(st.lists(st.sampled_from(["failed", "passed", "skipped"]), min_size=1))
def test_the_last_result_of_a_test_counts(outcomes):
    """However often it ran."""
    lines = [json.dumps({"test": "t", "outcome": one}) for one in outcomes]

    assert {"t": Result("t", outcomes[-1])} == results.latest(lines)


def test_results_outlive_a_run(store):
    """As long as they are of the same tree."""
    add(store, LINE)

    again = Store(store.folder, "one tree")
    again.open()

    assert ["a.py::A::test_a"] == list(again.read("v2"))


def test_results_of_another_tree_do_not_count(store):
    """A driver that has changed is tested again."""
    add(store, LINE)

    other = Store(store.folder, "another tree")
    other.open()

    assert {} == other.read("v2")


def test_results_are_forgotten_when_asked_for(store):
    """All of the column."""
    add(store, LINE)

    store.open(fresh=True)

    assert {} == store.read("v2")


def test_a_line_that_is_not_complete_is_read_later(store):
    """pytest may be writing it."""
    add(store, LINE)
    whole = store.path("v2").read_bytes()
    with open(store.path("v2"), "ab") as file:
        file.write(whole[:20])

    first, place = store.since("v2", 0)
    with open(store.path("v2"), "ab") as file:
        file.write(whole[20:])
    second, end = store.since("v2", place)

    assert (1, 1) == (len(first), len(second))
    assert 2 * len(whole) == end


def test_before_the_first_result_there_is_none(store):
    """The file does not exist yet."""
    assert ([], 0) == store.since("v2", 0)
