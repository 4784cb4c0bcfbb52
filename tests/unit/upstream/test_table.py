"""The table of a run."""

from __future__ import annotations

from tools.upstream import columns
from tools.upstream import table
from tools.upstream.results import FAILED
from tools.upstream.results import PASSED
from tools.upstream.results import Operation
from tools.upstream.results import Result
from tools.upstream.table import Row
from tools.upstream.verdicts import Verdict

COLUMNS = columns.choose([])
TEST = "sol_kubernetes_v2/test_a.py::Test::test_one"


def row(**verdicts):
    return Row("v2", TEST, verdicts)


def failed(reason, **more):
    return Verdict(Result(TEST, FAILED, 2.0), reason, **more)


def test_a_test_is_a_line_with_a_word_for_each_column():
    """A column in which it did not run has none."""
    lines = table.format_table(
        [row(compatible=Verdict(Result(TEST, PASSED, 1.0)))], COLUMNS
    ).splitlines()

    assert ["v2:", "test_a", "test_one", "-", "passed", "-"] == lines[
        2
    ].split()


def test_columns_with_one_reason_share_a_line():
    """It is below the test."""
    text = table.format_table(
        [row(compatible=failed("no image"), defaults=failed("no image"))],
        COLUMNS,
    )

    assert "    compatible, defaults: no image" in text.splitlines()


def test_reasons_are_equal_whatever_their_identifiers():
    """Each run has others."""
    one = failed("vnf 0e4f2a06-3a8f-449d-a68e-67d377974ee6: no image")
    other = failed("vnf 8c7623e0-3ade-4131-992b-815590c11680: no image")
    text = table.format_table([row(compatible=one, defaults=other)], COLUMNS)

    assert "    compatible, defaults: vnf <id>: no image" in text.splitlines()


def test_the_options_that_an_error_names_are_shown():
    """The reader learns which option to set."""
    text = table.format_table(
        [row(defaults=failed("x", options=("insecure",)))], COLUMNS
    )

    assert "defaults: x [names insecure]" in text


def test_an_option_that_an_error_should_name_is_shown():
    """The error is to be improved."""
    text = table.format_table(
        [row(defaults=failed("x", needed="insecure"))], COLUMNS
    )

    assert "defaults: x [does not name insecure]" in text


def test_what_is_unexpected_is_marked():
    """In the cell, and below it with the reason."""
    text = table.format_table(
        [row(defaults=failed("x", surprise="not expected"))], COLUMNS
    )

    assert "failed !" in text
    assert "UNEXPECTED: not expected" in text


def test_passing_for_another_reason_is_neither_passed_nor_failed():
    """The reason states what was different."""
    verdict = Verdict(Result(TEST, PASSED), "expected a timeout; SCALE: x")
    text = table.format_table([row(tacker=verdict)], COLUMNS)

    assert "passed for another reason: expected a timeout" in text
    assert "Tacker's own: 1 other" in text


def test_the_end_counts_outcomes_and_seconds():
    """For each column."""
    text = table.format_table(
        [
            row(compatible=failed("x")),
            row(compatible=Verdict(Result(TEST, PASSED, 3.0))),
        ],
        COLUMNS,
    )

    assert "ours, compatible: 1 failed, 1 passed; 5 s" in text
    assert "ours, defaults: no test ran" in text


def test_values_have_what_the_text_has():
    """And every operation of the test."""
    operation = Operation("v2", "SCALE", "FAILED_TEMP", "why")
    result = Result(TEST, FAILED, 2.0, operations=(operation,))
    [value] = table.as_values(
        [row(tacker=Verdict(result, "why", surprise="s"))]
    )

    assert ("v2", TEST) == (value["suite"], value["test"])
    assert {
        "outcome": "failed",
        "seconds": 2.0,
        "reason": "why",
        "expected": False,
        "surprise": "s",
        "known": "",
        "options": [],
        "needed": "",
        "operations": [
            {
                "api": "v2",
                "operation": "SCALE",
                "state": "FAILED_TEMP",
                "error": "why",
            }
        ],
    } == value["columns"]["tacker"]
