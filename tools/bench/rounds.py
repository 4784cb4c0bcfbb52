"""Every competitor in turn, for several rounds."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import TypeVar

from tools.bench import metrics
from tools.bench.measured_cluster import MeasuredCluster

Name = TypeVar("Name")

TimedCall = Callable[[str], float]
"""Does it in a namespace; the seconds that took."""


@dataclasses.dataclass(frozen=True)
class Contender:
    """Who is measured: how it applies, and how it deletes if that counts."""

    apply: TimedCall
    delete: TimedCall | None = None


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One thing done once: seconds, and requests that the server counted."""

    seconds: float
    requests: float


Round = Mapping[str, Measurement]
"""What was measured, by who did what: ``kubectl apply``."""


def rotate(names: Sequence[Name], number: int) -> tuple[Name, ...]:
    """Who comes after whom in a round: each is first in its turn.

    What one leaves behind for the next (a log to be cut, the server's
    garbage to be collected) then falls on each of them.
    """
    first = number % len(names)
    return (*names[first:], *names[:first])


def run(
    measured_cluster: MeasuredCluster,
    contenders: Mapping[str, Contender],
    number: int,
    noise: float,
) -> Round:
    """Let each apply to a fresh namespace, and take it away again.

    :param noise: requests in a second that others send all the time.
    """
    found: dict[str, Measurement] = {}

    def measure(what: str, do: TimedCall, namespace: str) -> None:
        before = measured_cluster.count_requests()
        seconds = do(namespace)
        requests = metrics.requests_between(
            before, measured_cluster.count_requests(), noise
        )
        found[what] = Measurement(seconds, requests)

    for name in rotate(tuple(contenders), number):
        contender = contenders[name]
        with measured_cluster.namespace() as namespace:
            measure(f"{name} apply", contender.apply, namespace)
            if contender.delete:
                measure(f"{name} delete", contender.delete, namespace)
    return found
