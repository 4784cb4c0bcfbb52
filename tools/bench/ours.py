"""What is measured: the operations, called as a library."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import gc
import pathlib
import time

from tacker_k8s_cr import cluster
from tacker_k8s_cr import lcm
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.report import Report
from tools.bench.setting import SECONDS


@dataclasses.dataclass(frozen=True)
class Ours:
    """One way to call us: with the server's dry run, or without.

    Each operation makes connections of its own and asks discovery anew, as
    a command does that was just started.

    :ivar requests: that each operation says it sent.
    """

    kubeconfig: pathlib.Path
    package: Package
    dry_run: bool
    requests: list[int] = dataclasses.field(default_factory=list)

    def apply(self, namespace: str) -> float:
        return self._measured(
            lambda connection: lcm.instantiate(
                connection,
                namespace,
                self.package,
                namespace=namespace,
                deadline=Deadline.after(SECONDS),
                options=Options(dry_run=self.dry_run),
            )
        )

    def change(self, namespace: str) -> float:
        return self._measured(
            lambda connection: lcm.change(
                connection,
                namespace,
                self.package,
                namespace=namespace,
                deadline=Deadline.after(SECONDS),
                options=Options(dry_run=self.dry_run),
            )
        )

    def delete(self, namespace: str) -> float:
        return self._measured(
            lambda connection: lcm.terminate(
                connection,
                namespace,
                namespace=namespace,
                deadline=Deadline.after(SECONDS),
            )
        )

    def discovery(self) -> int:
        """Requests that finding out about the package's kinds takes."""
        connection = cluster.connect(self.kubeconfig)
        for kind in sorted(set(map(GroupKind.of, self.package.manifests))):
            connection.resource(kind)
        requests = connection.requests
        connection.close()
        return requests

    def _measured(self, do: Callable[[Cluster], Report]) -> float:
        gc.collect()
        begin = time.perf_counter()
        connection = cluster.connect(self.kubeconfig)
        report = do(connection)
        seconds = time.perf_counter() - begin
        connection.close()
        self.requests.append(report.requests)
        return seconds
