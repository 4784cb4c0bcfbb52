"""Numbers, budgets and the table that sets them side by side: pure."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import math
import statistics
from typing import Any


@dataclasses.dataclass(frozen=True)
class Budget:
    """A bound: at most so much, or at least."""

    bound: float
    at_least: bool = False

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.bound:g}"

    def is_met_by(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound


@dataclasses.dataclass(frozen=True)
class Spread:
    """The median of some numbers, and how far they go."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))


@dataclasses.dataclass(frozen=True)
class Row:
    """One comparison, or one number, and the budget for it.

    :param ratio: ours by the peer's, round by round; None where the budget
        is for our own number.
    :param budget: None for what is only told.
    """

    name: str
    unit: str
    ours: float
    peer: float | None = None
    ratio: Spread | None = None
    budget: Budget | None = None

    @property
    def is_met(self) -> bool | None:
        if self.budget is None:
            return None
        return self.budget.is_met_by(
            self.ratio.median if self.ratio else self.ours
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "unit": self.unit,
            "ours": _round_value(self.ours),
            "peer": None if self.peer is None else _round_value(self.peer),
            "ratio": self.ratio and _round_value(self.ratio.median),
            "low": self.ratio and _round_value(self.ratio.low),
            "high": self.ratio and _round_value(self.ratio.high),
            "budget": self.budget and str(self.budget),
            "met": self.is_met,
        }

    def cells(self) -> tuple[str, ...]:
        """The row of a table for people."""
        return (
            self.name,
            f"{_format_value(self.ours)} {self.unit}",
            ""
            if self.peer is None
            else f"{_format_value(self.peer)} {self.unit}",
            _format_spread(self.ratio),
            "" if self.budget is None else str(self.budget),
            {None: "", True: "met", False: "NOT MET"}[self.is_met],
        )


HEADINGS = ("what", "ours", "peer", "ratio (from, to)", "budget", "")


def compare(
    name: str,
    unit: str,
    ours: Sequence[float],
    peer: Sequence[float],
    budget: Budget | None = None,
) -> Row:
    """A row of what was measured in the same rounds.

    Rounds differ by what else the machine does, so a ratio is that of one
    round, and the row has the median of ratios, not the ratio of medians.
    """
    ratios = [one / other for one, other in zip(ours, peer, strict=True)]
    return Row(
        name,
        unit,
        statistics.median(ours),
        statistics.median(peer),
        Spread.of(ratios),
        budget,
    )


def percentile(values: Sequence[float], rank: float) -> float:
    """The smallest value that so many of a hundred do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(rank / 100 * len(ordered)) - 1)]


def format_table(rows: Sequence[Row]) -> str:
    """The rows in columns."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def format_rst(title: str, rows: Sequence[Row]) -> str:
    """The rows as a table of reStructuredText, ready for a page."""
    headings = ("", *HEADINGS[1:3], "ratio", "budget")
    lines = [(title, *headings[1:]), *(_page(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    head, *rest = (
        "  ".join(
            cell.ljust(width) for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )
    return "\n".join([rule, head, rule, *rest, rule])


def _page(row: Row) -> tuple[str, ...]:
    name, ours, peer, _, budget, met = row.cells()
    ratio = "" if row.ratio is None else f"{row.ratio.median:.2f}"
    missed = "" if row.is_met is not False else f", {met.lower()}"
    return name, ours.strip(), peer.strip(), ratio, budget + missed


def _format_spread(ratio: Spread | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio.median:.2f} ({ratio.low:.2f}, {ratio.high:.2f})"


def _format_value(value: float) -> str:
    """Three digits that count, and no exponent."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _round_value(value: float) -> float:
    return round(value, 4)
