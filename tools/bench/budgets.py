"""What is compared with what, and the budget for each: pure."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import statistics
from typing import Any

from tools.bench.rounds import Measurement
from tools.bench.rounds import Round
from tools.bench.rows import Budget
from tools.bench.rows import Row
from tools.bench.rows import compare
from tools.bench.rows import percentile

PLAIN = "ours"
CHECKED = "ours with dry run"
KUBECTL = "kubectl"
GO = "client-go"
HELM = "Helm"

PAGE = 500
"""Objects in a page of a list; a list of more takes several requests."""


def compare_rounds(rounds: Sequence[Round], objects: int) -> Iterator[Row]:
    """The rows on applying and terminating so many objects."""

    def seconds(what: str) -> list[float]:
        return [found[what].seconds for found in rounds]

    def rate(what: str) -> list[float]:
        return [objects / taken for taken in seconds(what)]

    def against(
        name: str, ours: str, peer: str, budget: Budget | None = None
    ) -> Row:
        return compare(name, "s", seconds(ours), seconds(peer), budget)

    def requests(name: str, ours: str, peer: str, most: float | None) -> Row:
        return Row(
            f"{name}: requests for an object",
            "",
            _requests((found[ours] for found in rounds), objects),
            _requests((found[peer] for found in rounds), objects),
            budget=None if most is None else Budget(most),
        )

    plain, checked = f"{PLAIN} apply", f"{CHECKED} apply"
    kubectl, go, helm = (f"{who} apply" for who in (KUBECTL, GO, HELM))
    yield against("apply: time of kubectl's", plain, kubectl, Budget(0.4))
    yield compare(
        "apply: rate of client-go's",
        "/s",
        rate(plain),
        rate(go),
        Budget(0.8, at_least=True),
    )
    yield against("apply: time of Helm's", plain, helm)
    yield requests("apply", plain, kubectl, 1.1)
    yield against(
        "apply, dry run: time of kubectl's", checked, kubectl, Budget(0.65)
    )
    yield against("apply, dry run: time of Helm's", checked, helm)
    yield requests("apply, dry run", checked, kubectl, 2.1)
    plain, go, helm = (f"{who} delete" for who in (PLAIN, GO, HELM))
    yield against("terminate: time of client-go's", plain, go, Budget(1.3))
    yield against("terminate: time of Helm's", plain, helm, Budget(0.35))
    yield requests("terminate", plain, go, None)


def _requests(measured: Iterable[Measurement], objects: int) -> float:
    return statistics.median(one.requests for one in measured) / objects


def compare_sizes(
    rounds: Sequence[Mapping[int, Mapping[str, Mapping[str, float]]]],
) -> Iterator[Row]:
    """The rows on few, many and very many objects.

    :param rounds: of each, by number of objects and operation: seconds,
        those of them on a processor, peak in MiB, and requests.
    """
    *_, many, most = sorted(rounds[0])
    for what in ("apply", "terminate"):
        for objects in sorted(rounds[0]):

            def values(
                name: str, objects: int = objects, what: str = what
            ) -> list[float]:
                return [one[objects][what][name] for one in rounds]

            title = f"{what} {objects:,}"
            if objects == most:
                yield compare(
                    f"{title}: time of that of {many:,}",
                    "s",
                    values("seconds"),
                    values("seconds", many),
                    Budget(11),
                )
            else:
                seconds = statistics.median(values("seconds"))
                yield Row(f"{title}: time", "s", seconds)
            processor = statistics.median(values("processor"))
            yield Row(f"{title}: on a processor", "s", processor)
            yield Row(
                f"{title}: memory",
                "MiB",
                max(values("peak")),
                budget=Budget(300) if objects == most else None,
            )
            sent = statistics.median(values("requests"))
            yield Row(f"{title}: requests for an object", "", sent / objects)


@dataclasses.dataclass(frozen=True)
class WaitMeasurements:
    """Waits for so many objects.

    :param seconds: of each, from the last ready event to the return.
    :param lists: requests for lists, and watches, in one undisturbed wait.
    """

    seconds: tuple[float, ...]
    lists: float
    watches: float


def compare_waits(waits: Mapping[int, WaitMeasurements]) -> Iterator[Row]:
    """The rows on the end of a wait, by the number of objects."""
    for objects, one in waits.items():
        name = f"{objects:,} waiting, ready to return"
        yield Row(
            f"{name}: median",
            "ms",
            1000 * statistics.median(one.seconds),
            budget=Budget(50),
        )
        yield Row(
            f"{name}: 99th percentile",
            "ms",
            1000 * percentile(one.seconds, 99),
            budget=Budget(200),
        )
        # The last page of a list that fills its pages may be empty.
        pages = objects // PAGE + 1
        yield Row(
            f"{objects:,} waiting: requests for lists",
            "",
            one.lists,
            budget=Budget(pages),
        )
        yield Row(
            f"{objects:,} waiting: watches",
            "",
            one.watches,
            budget=Budget(1),
        )


def compare_concurrency(
    rounds: Sequence[Mapping[str, Any]], operations: int, objects: int
) -> Iterator[Row]:
    """The rows on many operations at once, each of so many objects."""
    title = f"{operations} at once"
    for what in ("apply", "terminate"):
        together = [one["together"][what] for one in rounds]
        in_turn = [one["one_by_one"][what] for one in rounds]
        yield compare(
            f"{title}, {what}: rate, one by one",
            "/s",
            [operations * objects / one["seconds"] for one in together],
            [operations * objects / one["seconds"] for one in in_turn],
        )
        yield compare(
            f"{title}, {what}: slowest, fastest",
            "s",
            [one["slowest"] for one in together],
            [one["fastest"] for one in together],
        )
    for what in ("sockets", "threads"):
        yield Row(f"{title}: {what}", "", max(one[what] for one in rounds))
    yield Row(f"{title}: memory", "MiB", max(one["peak"] for one in rounds))


@dataclasses.dataclass(frozen=True)
class ChangeMeasurements:
    """A package that was applied again.

    :param requests: by the operation's own count, beside those that find out
        how kinds are served.
    :param applies: that the server counted, dry runs too.
    """

    seconds: float
    requests: float
    applies: float


CHANGE = "change"
AGAIN = "again"

Changes = Mapping[str, Mapping[str, ChangeMeasurements]]
"""Of one round: what was done, and by whom."""


def compare_changes(
    rounds: Sequence[Changes], what: str, objects: int
) -> Iterator[Row]:
    """The rows on a package of which one object has changed, or none.

    :param what: it consists of.
    """
    for done, title, bound in (
        (CHANGE, "one changed", 0.25),
        (AGAIN, "none changed", 0.2),
    ):
        peer = [found[done][KUBECTL].seconds for found in rounds]
        for who in (PLAIN, CHECKED):
            ours = [found[done][who] for found in rounds]
            checked = ", dry run" * (who == CHECKED)
            name = f"{what}, {title}{checked}"
            yield compare(
                f"{name}: time of kubectl's",
                "s",
                [one.seconds for one in ours],
                peer,
                Budget(bound),
            )
            yield Row(
                f"{name}: requests",
                "",
                max(one.requests for one in ours),
                budget=Budget(20),
            )
            # Nothing is written but the record where none has changed; else
            # nine in ten are not sent.
            most = objects // 10 if done == CHANGE else 0
            yield Row(
                f"{name}: applies",
                "",
                max(one.applies for one in ours),
                budget=Budget(most),
            )


def compare_crds(
    without: Mapping[str, Sequence[float]],
    beside: Mapping[str, Sequence[float]],
    objects: int,
    definitions: int,
) -> Iterator[Row]:
    """The rows on a server with so many definitions more."""
    for what in ("apply", "terminate"):
        title = f"{what} {objects}, {definitions} definitions"
        yield compare(
            f"{title}: time without", "s", beside[what], without[what]
        )
        sent = f"{what} requests"
        yield Row(
            f"{title}: requests",
            "",
            statistics.median(beside[sent]),
            statistics.median(without[sent]),
        )
