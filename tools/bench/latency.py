"""From the ready event of the last object to the return of the operation."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import subprocess
import time

from tacker_k8s_cr import kube
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.lcm.request import ProgressCallback
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.wait.progress import WaitState
from tools.bench import budgets
from tools.bench import metrics
from tools.bench import workload
from tools.bench.bench_context import SECONDS
from tools.bench.bench_context import BenchContext
from tools.bench.bench_context import BenchResult
from tools.bench.competitors import GoClient
from tools.bench.measured_cluster import MeasuredCluster
from tools.plane.errors import PlaneError

RESOURCE = "widgets"


def measure(context: BenchContext) -> BenchResult:
    if "stages" in context.unavailable:
        return BenchResult(
            missing="the cluster has no Stages that make it ready"
        )
    # Not more than the objects, for a quick look with few of them.
    runs = {
        min(objects, context.objects): count
        for objects, count in (
            (1, context.widgets),
            (100, max(1, context.widgets // 3)),
            (1000, max(1, context.widgets // 10)),
        )
    }
    client = GoClient(
        context.programs("client"),
        context.kubeconfig,
        context.folder,
        context.workers,
    )
    waits = {}
    for objects, count in runs.items():
        context.print_line(
            f"waiting for {objects} Widget(s) at once, {count} times"
        )
        with context.measured_cluster.namespace() as namespace:
            waits[objects] = _measure_waits(
                context, client, namespace, objects, count
            )
    return BenchResult(
        tuple(budgets.compare_waits(waits)),
        {objects: dataclasses.asdict(one) for objects, one in waits.items()},
    )


def _measure_waits(
    context: BenchContext,
    client: GoClient,
    namespace: str,
    objects: int,
    runs: int,
) -> budgets.WaitMeasurements:
    """One wait after the other.

    Another process watches, and records when the event with Ready for an
    object's generation arrived. The last of these moments is compared with the
    one at which the operation has returned: between the two we see the same
    event, write the record as that of an instance at rest, and give the lock
    back.
    """
    connection = kube.connect(context.kubeconfig)
    try:
        with client.watch(workload.WIDGETS, namespace) as watch:
            first, *rest = _names(objects, runs + 1)
            # Counting takes its time: it has a run of its own.
            counting = _Counting(context.measured_cluster, objects)
            _one(connection, watch, namespace, first, counting.listen)
            lists, watches = counting.since()
            seconds = [
                _one(connection, watch, namespace, names) for names in rest
            ]
    finally:
        connection.close()
    return budgets.WaitMeasurements(tuple(seconds), lists, watches)


def _names(objects: int, runs: int) -> list[list[str]]:
    return [
        [f"widget-{run}-{number}" for number in range(objects)]
        for run in range(runs)
    ]


def _one(
    connection: Cluster,
    watch: subprocess.Popen[str],
    namespace: str,
    names: list[str],
    listen: ProgressCallback | None = None,
) -> float:
    """Seconds of one wait."""
    lcm.instantiate(
        lcm.Request(
            connection,
            names[0],
            namespace=namespace,
            deadline=Deadline.after(SECONDS),
            options=Options(dry_run=False),
            on_progress=listen,
        ),
        workload.package([workload.widget(name) for name in names]),
    )
    returned = time.time_ns()
    return (returned - max(_ready(watch, names))) / 1e9


class _Counting:
    """Counts lists and watches from the moment all is written."""

    def __init__(self, measured_cluster: MeasuredCluster, objects: int):
        self._ground = measured_cluster
        self._objects = objects
        self._before: metrics.RequestCount | None = None

    def listen(self, progress: WaitState) -> None:
        if self._before is None and len(progress.awaited) == self._objects:
            self._before = self._ground.count_requests()

    def since(self) -> tuple[float, float]:
        """A watch is counted when it has ended, as ours has by now."""
        if self._before is None:
            raise PlaneError("the operation did not tell of all its objects")
        after = self._ground.count_requests()
        lists, watches = (
            after.requests(RESOURCE, verb)
            - self._before.requests(RESOURCE, verb)
            for verb in ("LIST", "WATCH")
        )
        return lists, watches


def _ready(watch: subprocess.Popen[str], names: list[str]) -> Iterator[int]:
    """When the other process saw each of these objects ready."""
    assert watch.stdout is not None  # noqa: S101  (asked for)
    missing = set(names)
    while missing:
        seen, _, moment = watch.stdout.readline().strip().partition(" ")
        if seen not in missing:
            raise PlaneError(
                f"the watch saw {seen or 'nothing'}, and "
                f"{len(missing)} more objects were to come"
            )
        missing.remove(seen)
        yield int(moment)
