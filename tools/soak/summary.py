"""The figures of a soak: counts, and the table that shows them: pure."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from tacker_k8s_cr.cli import layout
from tacker_k8s_cr.cli.layout import Column
from tacker_k8s_cr.cli.layout import Shape
from tools.soak.outcomes import Result

COLUMNS = (
    Column("Operation", Shape.WHOLE),
    Column("Requested", Shape.NUMBER),
    *(Column(result.value.capitalize(), Shape.NUMBER) for result in Result),
    Column("Median s", Shape.NUMBER),
    Column("Longest s", Shape.NUMBER),
)


@dataclasses.dataclass(frozen=True)
class Violation:
    """What did not hold after a step.

    :param history: the last steps of the instance, this one among them.
    """

    step: int
    instance: str
    form: str
    request: str
    evidence: tuple[str, ...]
    history: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = (*self.evidence, *(f"after {line}" for line in self.history))
        said = "\n".join(f"  {line}" for line in lines)
        return (
            f"violation in step {self.step}: {self.request} of "
            f"{self.instance} ({self.form})\n{said}"
        )


@dataclasses.dataclass
class Figures:
    """What a soak has counted so far.

    :ivar endings: what became of operations that had ended early.
    :ivar affected_requests: by kind of fault, requests whose answers had it.
    :ivar memory: MiB that a worker has had at most.
    """

    seconds: float = 0.0
    steps: int = 0
    looks: int = 0
    results: dict[str, collections.Counter[Result]] = dataclasses.field(
        default_factory=dict
    )
    durations: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    endings: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    faults: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    errors: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    affected_requests: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    contentions: int = 0
    memory: int = 0
    violations: list[Violation] = dataclasses.field(default_factory=list)

    def add(
        self, operation: str, result: Result, seconds: float, error: str = ""
    ) -> None:
        """Count what came of an operation."""
        counted = self.results.setdefault(operation, collections.Counter())
        counted[result] += 1
        if result is Result.DONE:
            self.durations.setdefault(operation, []).append(seconds)
        if error:
            self.errors[f"{result.value}: {error}"] += 1

    @property
    def operations(self) -> int:
        return sum(sum(c.values()) for c in self.results.values())

    def total(self, result: Result) -> int:
        return sum(counted[result] for counted in self.results.values())

    def as_dict(self) -> dict[str, Any]:
        return {
            "seconds": round(self.seconds, 1),
            "steps": self.steps,
            "looks": self.looks,
            "operations": {
                operation: {result.value: counted[result] for result in Result}
                for operation, counted in sorted(self.results.items())
            },
            "durations": {
                operation: {
                    "median": round(median(each), 3),
                    "longest": round(max(each), 3),
                }
                for operation, each in sorted(self.durations.items())
            },
            "ended_early": dict(self.endings),
            "faults": dict(self.faults),
            "requests_with_faults": dict(self.affected_requests),
            "errors": dict(self.errors),
            "contentions": self.contentions,
            "memory_mib": self.memory,
            "violations": [dataclasses.asdict(v) for v in self.violations],
        }


def median(values: Sequence[float]) -> float:
    """Return the middle value, the lower one of two."""
    return sorted(values)[(len(values) - 1) // 2]


def format_progress(figures: Figures) -> str:
    """Return a line on a soak that runs."""
    return (
        f"{figures.seconds / 60:5.1f} min: {figures.operations} operations, "
        f"{figures.total(Result.KILLED)} killed, "
        f"{sum(figures.faults.values())} faults, "
        f"{len(figures.violations)} violations"
    )


def format_table(figures: Figures, width: int = 0) -> list[str]:
    """Return the lines of the final table, and what follows it."""
    rows = [
        _row(operation, counted, figures.durations.get(operation, ()))
        for operation, counted in sorted(figures.results.items())
    ]
    whole: collections.Counter[Result] = collections.Counter()
    for counted in figures.results.values():
        whole.update(counted)
    every = [s for each in figures.durations.values() for s in each]
    rows.append(_row("all", whole, every))
    minutes = max(figures.seconds, 1.0) / 60
    return [
        *layout.format_table(COLUMNS, rows, width),
        "",
        f"ended early, then: {_counts(figures.endings)}",
        f"errors: {_counts(figures.errors)}",
        f"faults: {_counts(figures.faults)}",
        "requests whose answers had a fault: "
        f"{_counts(figures.affected_requests)}",
        f"contentions: {figures.contentions}; looks: {figures.looks}; "
        f"largest worker: {figures.memory} MiB",
        f"{figures.operations} operations in {minutes:.1f} minutes, "
        f"{figures.operations / minutes:.0f} a minute; "
        f"violations: {len(figures.violations)}",
    ]


def _row(
    name: str,
    counted: Mapping[Result, int],
    seconds: Sequence[float],
) -> list[str]:
    return [
        name,
        str(sum(counted.values())),
        *(str(counted.get(result, 0)) for result in Result),
        f"{median(seconds):.1f}" if seconds else "-",
        f"{max(seconds):.1f}" if seconds else "-",
    ]


def _counts(counted: Mapping[str, int]) -> str:
    found = [f"{name} {number}" for name, number in sorted(counted.items())]
    return ", ".join(found) or "none"
