"""What is compared with what, and the budget for each: pure."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import statistics

from tools.bench.rounds import Round
from tools.bench.rows import Budget
from tools.bench.rows import Row
from tools.bench.rows import compared
from tools.bench.rows import percentile

PLAIN = "ours"
CHECKED = "ours with dry run"
KUBECTL = "kubectl"
GO = "client-go"


def of_rounds(rounds: Sequence[Round], objects: int) -> Iterator[Row]:
    """The rows on applying and terminating so many objects."""

    def seconds(what: str) -> list[float]:
        return [found[what].seconds for found in rounds]

    def rate(what: str) -> list[float]:
        return [objects / taken for taken in seconds(what)]

    def requests(what: str) -> float:
        return (
            statistics.median(found[what].requests for found in rounds)
            / objects
        )

    yield compared(
        "apply, no dry run: time of kubectl's",
        "s",
        seconds(f"{PLAIN} apply"),
        seconds(f"{KUBECTL} apply"),
        Budget(0.5),
    )
    yield compared(
        "apply, no dry run: rate of client-go's",
        "/s",
        rate(f"{PLAIN} apply"),
        rate(f"{GO} apply"),
        Budget(0.65, at_least=True),
    )
    yield Row(
        "apply, no dry run: requests for an object",
        "",
        requests(f"{PLAIN} apply"),
        requests(f"{KUBECTL} apply"),
        budget=Budget(1.1),
    )
    yield compared(
        "apply, dry run: time of kubectl's",
        "s",
        seconds(f"{CHECKED} apply"),
        seconds(f"{KUBECTL} apply"),
        Budget(0.8),
    )
    yield Row(
        "apply, dry run: requests for an object",
        "",
        requests(f"{CHECKED} apply"),
        requests(f"{KUBECTL} apply"),
        budget=Budget(2.1),
    )
    yield compared(
        "terminate: time of client-go's",
        "s",
        seconds(f"{PLAIN} delete"),
        seconds(f"{GO} delete"),
        Budget(1.5),
    )
    yield Row(
        "terminate: requests for an object",
        "",
        requests(f"{PLAIN} delete"),
        requests(f"{GO} delete"),
    )


def of_latency(seconds: Sequence[float]) -> Iterator[Row]:
    """The rows on the end of a wait."""
    yield Row(
        "ready event to return: median",
        "ms",
        1000 * statistics.median(seconds),
        budget=Budget(50),
    )
    yield Row(
        "ready event to return: 99th percentile",
        "ms",
        1000 * percentile(seconds, 99),
        budget=Budget(200),
    )
