"""What was measured, as a table with ratios and a budget: pure."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import statistics

OURS, THEIRS, NOTHING = "ours", "Tacker's", "nothing"

BUDGET = 0.5
"""Seconds that ours may take beyond Tacker's own and the workload's."""


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One operation in every round, or why it could not be measured.

    :param operation: API, package and operation.
    """

    driver: str
    operation: str
    seconds: tuple[float, ...] = ()
    failure: str = ""

    def __str__(self) -> str:
        taken = ", ".join(f"{one:.2f}" for one in self.seconds)
        return f"{self.operation}: {self.failure or taken}"

    @property
    def median(self) -> float | None:
        return statistics.median(self.seconds) if self.seconds else None


@dataclasses.dataclass(frozen=True)
class Row:
    """One operation with all drivers; None where there is no number."""

    operation: str
    by_driver: Mapping[str, float | None]
    failures: Mapping[str, str]
    own: float | None = None
    """What the workload alone takes, where there is a budget."""

    @property
    def ratio(self) -> float | None:
        """Of their time."""
        ours, theirs = self.by_driver[OURS], self.by_driver[THEIRS]
        return ours / theirs if ours is not None and theirs else None

    @property
    def above_idle_driver(self) -> float | None:
        """Seconds of this driver beyond a driver that does nothing."""
        ours, nothing = self.by_driver[OURS], self.by_driver[NOTHING]
        if ours is None or nothing is None:
            return None
        return ours - nothing

    @property
    def is_met(self) -> bool | None:
        """Whether the budget is met; None where there is none."""
        if self.own is None:
            return None
        return (
            self.above_idle_driver is not None
            and self.above_idle_driver <= BUDGET + self.own
        )


def compare_drivers(
    found: Sequence[Measurement], own: Mapping[str, float]
) -> list[Row]:
    """A row for each operation, in the order of the first measurement.

    :param own: of operations with a budget, what the workload alone takes.
    """
    names = list(dict.fromkeys(one.operation for one in found))
    by_key = {(one.driver, one.operation): one for one in found}

    def row(what: str) -> Row:
        each = {d: by_key.get((d, what)) for d in (OURS, THEIRS, NOTHING)}
        return Row(
            what,
            {d: one.median if one else None for d, one in each.items()},
            {d: one.failure for d, one in each.items() if one and one.failure},
            own.get(what),
        )

    return [row(what) for what in names]


def format_table(found: Sequence[Row]) -> str:
    """The rows as text."""
    heads = ("seconds", OURS, THEIRS, NOTHING, "ratio", "beyond", "budget")
    lines: list[tuple[str, ...]] = [heads]
    for row in found:
        budget = ""
        if row.own is not None:
            budget = f"{BUDGET + row.own:.2f} " + (
                "met" if row.is_met else "NOT"
            )
        lines.append(
            (
                row.operation,
                *(_cell(row, d) for d in (OURS, THEIRS, NOTHING)),
                _number(row.ratio),
                _number(row.above_idle_driver),
                budget,
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True))
        for line in lines
    ]
    notes = [
        f"{row.operation}, {driver}: {failure}"
        for row in found
        for driver, failure in row.failures.items()
    ]
    return "\n".join([line.rstrip() for line in [*text, *notes]])


def _cell(row: Row, driver: str) -> str:
    return (
        "fails" if driver in row.failures else _number(row.by_driver[driver])
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
