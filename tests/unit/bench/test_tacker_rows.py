"""The table of the bench through Tacker."""

from __future__ import annotations

from tools.bench_tacker import rows
from tools.bench_tacker.rows import Measurement

WHAT = "v2 small: instantiate"


def measured(driver, *seconds, failure="", what=WHAT):
    return Measurement(driver, what, seconds, failure)


def test_a_row_compares_the_medians():
    """Ratio to Tacker's own driver, and seconds beyond none at all."""
    [row] = rows.compare_drivers(
        [
            measured(rows.NOTHING, 1.0, 1.0, 3.0),
            measured(rows.OURS, 2.0, 9.0, 1.5),
            measured(rows.THEIRS, 10.0),
        ],
        {},
    )

    assert (0.2, 1.0) == (row.ratio, row.above_idle_driver)
    assert row.is_met is None


def test_a_budget_includes_the_time_of_the_workload():
    """Half a second, and the time that the client cannot change."""
    found = [measured(rows.NOTHING, 1.0), measured(rows.OURS, 2.5)]

    [within] = rows.compare_drivers(found, {WHAT: 1.0})
    [beyond] = rows.compare_drivers(found, {WHAT: 0.9})

    assert within.is_met
    assert not beyond.is_met


def test_a_failed_run_has_no_number():
    """Nor has a run of the peer that failed; the table reports why."""
    [row] = rows.compare_drivers(
        [
            measured(rows.OURS, 2.0),
            measured(rows.NOTHING, 1.0),
            measured(rows.THEIRS, failure="Data too long"),
        ],
        {},
    )

    assert row.ratio is None
    text = rows.format_table([row])
    assert "fails" in text
    assert f"{WHAT}, {rows.THEIRS}: Data too long" in text


def test_a_budget_is_missed_where_the_project_was_not_measured():
    """A failed run does not meet its budget."""
    [row] = rows.compare_drivers(
        [measured(rows.OURS, failure="x"), measured(rows.NOTHING, 1.0)],
        {WHAT: 1.0},
    )

    assert row.is_met is False
