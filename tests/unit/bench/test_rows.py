"""Numbers, budgets and their table."""

from hypothesis import given
from hypothesis import strategies
import pytest

from tools.bench import rows
from tools.bench.rows import Budget

SECONDS = strategies.lists(
    strategies.floats(min_value=0.001, max_value=1000), min_size=1
)


def test_a_ratio_is_that_of_one_round():
    """The row has the median of ratios, not the ratio of medians."""
    row = rows.compare("apply", "s", [1, 4, 9], [2, 10, 10])

    assert row.ratio == rows.Spread(median=0.5, low=0.4, high=0.9)
    assert (row.ours, row.peer) == (4, 10)


def test_different_numbers_of_rounds_are_not_compared():
    """Each value of the project has one of the peer."""
    with pytest.raises(ValueError, match="zip"):
        rows.compare("apply", "s", [1, 2], [1])


@pytest.mark.parametrize(
    ("budget", "value", "met"),
    [
        (Budget(0.5), 0.5, True),
        (Budget(0.5), 0.51, False),
        (Budget(0.65, at_least=True), 0.65, True),
        (Budget(0.65, at_least=True), 0.64, False),
    ],
)
def test_a_budget_is_met_on_its_bound(budget, value, met):
    """A budget is an upper or a lower bound, and includes the bound."""
    assert budget.is_met_by(value) is met


def test_a_row_without_a_ratio_is_judged_by_our_own_number():
    """Requests for an object have a budget of their own."""
    row = rows.Row("requests", "", ours=1.2, peer=1.0, budget=Budget(1.1))

    assert row.is_met is False


def test_a_row_without_a_budget_is_only_reported():
    """It is neither met nor not met."""
    row = rows.Row("requests", "", ours=1.2)

    assert row.is_met is None
    assert row.cells()[-2:] == ("", "")


def test_a_row_as_values_has_what_a_reader_compares():
    """bench.json names ours, peer, ratio, budget and whether it was met."""
    row = rows.compare("apply", "s", [1], [4], Budget(0.5))

    assert row.as_dict() == {
        "name": "apply",
        "unit": "s",
        "ours": 1,
        "peer": 4,
        "ratio": 0.25,
        "low": 0.25,
        "high": 0.25,
        "budget": "<= 0.5",
        "met": True,
    }


@pytest.mark.parametrize(
    ("rank", "value"), [(50, 2), (99, 4), (100, 4), (25, 1), (26, 2), (0, 1)]
)
def test_a_percentile_is_one_of_the_values(rank, value):
    """The smallest that so many of a hundred do not exceed."""
    assert rows.percentile([4, 1, 3, 2], rank) == value


@given(SECONDS, strategies.integers(min_value=0, max_value=100))
def test_so_many_of_a_hundred_do_not_exceed_a_percentile(values, rank):
    """A percentile keeps its word for any values."""
    bound = rows.percentile(values, rank)

    assert sum(value <= bound for value in values) * 100 >= rank * len(values)


@given(SECONDS)
def test_a_series_equals_itself(values):
    """Comparing a series with itself shows the ratio 1 and no spread."""
    row = rows.compare("apply", "s", values, values)

    assert row.ratio == rows.Spread(1, 1, 1)


def test_a_table_has_a_line_for_each_row_in_columns():
    """What is not met stands out."""
    shown = rows.format_table(
        [
            rows.compare("apply", "s", [1.0], [4.0], Budget(0.5)),
            rows.compare("terminate", "s", [2.0], [1.0], Budget(1.5)),
        ]
    )

    assert shown.splitlines() == [
        "what       ours    peer    ratio (from, to)   budget",
        "apply      1.00 s  4.00 s  0.25 (0.25, 0.25)  <= 0.5  met",
        "terminate  2.00 s  1.00 s  2.00 (2.00, 2.00)  <= 1.5  NOT MET",
    ]


def test_a_table_for_the_page_is_one_that_docutils_reads():
    """A simple table, with the title instead of the first heading."""
    shown = rows.format_rst(
        "Beside others",
        [
            rows.compare("apply", "s", [1.0], [4.0], Budget(0.5)),
            rows.compare("terminate", "s", [2.0], [1.0], Budget(1.5)),
            rows.Row("requests", "", 1.0),
        ],
    )

    assert shown.splitlines() == [
        "=============  ======  ======  =====  ===============",
        "Beside others  ours    peer    ratio  budget",
        "=============  ======  ======  =====  ===============",
        "apply          1.00 s  4.00 s  0.25   <= 0.5",
        "terminate      2.00 s  1.00 s  2.00   <= 1.5, not met",
        "requests       1.00",
        "=============  ======  ======  =====  ===============",
    ]
