"""What is measured: the operations, called as a library."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import gc
import pathlib
import time

from tacker_k8s_cr import kube
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan.options import Options
from tools.bench.bench_context import SECONDS


@dataclasses.dataclass(frozen=True)
class OwnOperations:
    """Run this project's operations: with the server's dry run, or without.

    Each operation opens its own connections and repeats discovery, as a new
    command does.

    :ivar requests: that each operation reports as sent.
    """

    kubeconfig: pathlib.Path
    package: Package
    dry_run: bool
    requests: list[int] = dataclasses.field(default_factory=list)

    def apply(self, namespace: str) -> float:
        return self._with_package(lcm.instantiate, namespace)

    def change(self, namespace: str) -> float:
        return self._with_package(lcm.change, namespace)

    def delete(self, namespace: str) -> float:
        return self._measured(
            lambda connection: lcm.terminate(
                lcm.Request(
                    connection,
                    namespace,
                    namespace=namespace,
                    deadline=Deadline.after(SECONDS),
                )
            )
        )

    def _with_package(
        self, operation: Callable[..., Report], namespace: str
    ) -> float:
        """Measure an operation that is given the package."""
        return self._measured(
            lambda connection: operation(
                lcm.Request(
                    connection,
                    namespace,
                    namespace=namespace,
                    deadline=Deadline.after(SECONDS),
                    options=Options(dry_run=self.dry_run),
                ),
                self.package,
            )
        )

    def discovery(self) -> int:
        """Requests that finding out about the package's kinds takes."""
        connection = kube.connect(self.kubeconfig)
        for kind in sorted(set(map(GroupKind.of, self.package.manifests))):
            connection.resource(kind)
        requests = connection.requests
        connection.close()
        return requests

    def _measured(self, do: Callable[[Cluster], Report]) -> float:
        gc.collect()
        begin = time.perf_counter()
        connection = kube.connect(self.kubeconfig)
        report = do(connection)
        seconds = time.perf_counter() - begin
        connection.close()
        self.requests.append(report.requests)
        return seconds
