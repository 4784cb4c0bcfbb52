"""From an object's ready event to the return of the operation."""

from __future__ import annotations

from collections.abc import Iterator
import pathlib
import subprocess
import time

from tacker_k8s_cr import cluster
from tacker_k8s_cr import lcm
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tools.bench import workload
from tools.bench.peers import GoClient
from tools.plane.errors import PlaneError

SECONDS = 60.0
"""For one Widget; its Stage takes one."""


def measured(
    client: GoClient, kubeconfig: pathlib.Path, namespace: str, runs: int
) -> list[float]:
    """Seconds of each run.

    Another process watches, and writes down when the event came that says
    Ready for the object's generation. That moment is compared with the one
    at which the operation has returned: between the two we see the same
    event, write the record as that of an instance at rest, and give the
    lock back.
    """
    connection = cluster.connect(kubeconfig)
    with client.watching(workload.WIDGETS, namespace) as watch:
        found = list(_runs(connection, watch, namespace, runs))
    connection.close()
    return found


def _runs(
    connection: Cluster,
    watch: subprocess.Popen[str],
    namespace: str,
    runs: int,
) -> Iterator[float]:
    for number in range(runs):
        name = f"widget-{number}"
        package = workload.package([workload.widget(name)])
        lcm.instantiate(
            connection,
            name,
            package,
            namespace=namespace,
            deadline=Deadline.after(SECONDS),
        )
        returned = time.time_ns()
        yield (returned - _ready(watch, name)) / 1e9
        lcm.terminate(
            connection,
            name,
            namespace=namespace,
            deadline=Deadline.after(SECONDS),
        )


def _ready(watch: subprocess.Popen[str], name: str) -> int:
    """When the other process saw this object ready."""
    assert watch.stdout is not None  # noqa: S101  (asked for)
    seen, _, moment = watch.stdout.readline().strip().partition(" ")
    if seen != name:
        raise PlaneError(f"the watch saw {seen or 'nothing'}, not {name}")
    return int(moment)
