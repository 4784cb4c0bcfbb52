"""What is measured: the operations, called as a library."""

from __future__ import annotations

import dataclasses
import gc
import pathlib
import time

from tacker_k8s_cr import cluster
from tacker_k8s_cr import lcm
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.package.model import Package

SECONDS = 300.0
"""After which an operation is given up."""


@dataclasses.dataclass(frozen=True)
class Ours:
    """One way to call us: with the server's dry run, or without.

    Each operation makes connections of its own and asks discovery anew, as
    a command does that was just started.
    """

    kubeconfig: pathlib.Path
    package: Package
    dry_run: bool

    def apply(self, namespace: str) -> float:
        gc.collect()
        begin = time.perf_counter()
        connection = cluster.connect(self.kubeconfig)
        lcm.instantiate(
            connection,
            namespace,
            self.package,
            namespace=namespace,
            deadline=Deadline.after(SECONDS),
            options=Options(dry_run=self.dry_run),
        )
        seconds = time.perf_counter() - begin
        connection.close()
        return seconds

    def delete(self, namespace: str) -> float:
        gc.collect()
        begin = time.perf_counter()
        connection = cluster.connect(self.kubeconfig)
        lcm.terminate(
            connection,
            namespace,
            namespace=namespace,
            deadline=Deadline.after(SECONDS),
        )
        seconds = time.perf_counter() - begin
        connection.close()
        return seconds
