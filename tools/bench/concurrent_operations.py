"""Many operations at once in one process, and the same one by one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
import dataclasses
import pathlib
import statistics
import threading
import time
from typing import Any

from tacker_k8s_cr import kube
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.plan.options import Options
from tools.bench import processes
from tools.bench import workload
from tools.bench.bench_context import SECONDS

Do = Callable[[int], object]


def measure(
    kubeconfig: pathlib.Path, namespace: str, operations: int, objects: int
) -> dict[str, Any]:
    """Seconds of each, at once and one by one; sockets and threads.

    All use one connection, as a conductor's operations on one VIM do.
    """
    connection = kube.connect(kubeconfig)
    packages = [
        workload.package(workload.config_maps(objects, f"item-{number}"))
        for number in range(operations)
    ]

    def apply(number: int) -> None:
        lcm.instantiate(
            lcm.Request(
                connection,
                f"crowd-{number}",
                namespace=namespace,
                deadline=Deadline.after(SECONDS),
                options=Options(dry_run=False),
            ),
            packages[number],
        )

    def terminate(number: int) -> None:
        lcm.terminate(
            lcm.Request(
                connection,
                f"crowd-{number}",
                namespace=namespace,
                deadline=Deadline.after(SECONDS),
            )
        )

    # The first one makes connections and learns which kinds there are.
    apply(0)
    terminate(0)
    with processes.measure_usage() as most:
        together = {
            "apply": run_concurrently(apply, operations),
            "terminate": run_concurrently(terminate, operations),
        }
    one_by_one = {
        "apply": run_in_turn(apply, operations),
        "terminate": run_in_turn(terminate, operations),
    }
    connection.close()
    return {
        "together": {k: v.as_dict() for k, v in together.items()},
        "one_by_one": {k: v.as_dict() for k, v in one_by_one.items()},
        "sockets": most.sockets,
        # The callers, and the process that waits for them, are not counted.
        "threads": most.threads - operations - 1,
    }


@dataclasses.dataclass(frozen=True)
class OperationTimes:
    """Seconds from the first beginning to the last end, and of each."""

    whole: float
    each: tuple[float, ...]

    def as_dict(self) -> dict[str, float]:
        return {
            "seconds": self.whole,
            "median": statistics.median(self.each),
            "fastest": min(self.each),
            "slowest": max(self.each),
        }


def run_concurrently(operation: Do, count: int) -> OperationTimes:
    """All begin at the same moment, each on a thread of its own."""
    ready = threading.Barrier(count)

    def one(number: int) -> tuple[float, float]:
        ready.wait()
        begin = time.perf_counter()
        operation(number)
        return begin, time.perf_counter()

    with futures.ThreadPoolExecutor(count) as pool:
        return _times(list(pool.map(one, range(count))))


def run_in_turn(operation: Do, count: int) -> OperationTimes:
    moments = []
    for number in range(count):
        begin = time.perf_counter()
        operation(number)
        moments.append((begin, time.perf_counter()))
    return _times(moments)


def _times(moments: list[tuple[float, float]]) -> OperationTimes:
    begins, ends = zip(*moments, strict=True)
    return OperationTimes(
        max(ends) - min(begins),
        tuple(end - begin for begin, end in moments),
    )
