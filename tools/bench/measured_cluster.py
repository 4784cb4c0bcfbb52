"""The cluster that is measured on: namespaces, and what its server counts."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import os
import sys
import time

from tools.bench import metrics
from tools.plane.kubectl import Kubectl

IDLE = 10.0
"""Seconds in which we do nothing, to see what others send."""

QUIET = 0.25
"""Processors that a server with nothing to do may keep busy."""

PATIENCE = 60.0
"""Seconds in which it has to come to rest."""

SETTLE = 0.2
"""Seconds after which the server has counted all that it answered."""


@dataclasses.dataclass
class MeasuredCluster:
    """Fresh namespaces of one cluster, removed together at the end."""

    kubectl: Kubectl
    namespaces: list[str] = dataclasses.field(default_factory=list)

    @contextlib.contextmanager
    def namespace(self) -> Iterator[str]:
        """Create a namespace; delete its ConfigMaps on exit.

        Namespaces are deleted at the end of the run: their controller would
        otherwise work on them during the next measurement.
        """
        name = f"bench-{os.getpid()}-{len(self.namespaces) + 1}"
        self.kubectl("create", "namespace", name)
        self.namespaces.append(name)
        yield name
        path = f"/api/v1/namespaces/{name}/configmaps"
        self.kubectl("delete", f"--raw={path}")

    def delete_namespaces(self) -> None:
        """Remove the namespaces, and wait until they are deleted.

        It comes last, also after an error, which it must not hide.
        """
        if self.namespaces:
            done = self.kubectl.run(
                "delete",
                "namespace",
                "--ignore-not-found",
                "--timeout=300s",
                *self.namespaces,
            )
            if done.returncode:
                left = ", ".join(self.namespaces)
                print(f"namespaces may be left: {left}", file=sys.stderr)
            self.namespaces.clear()

    def count_requests(self) -> metrics.RequestCount:
        """Requests that the API server reports as answered."""
        time.sleep(SETTLE)
        moment = time.monotonic()
        return metrics.parse_metrics(
            self.kubectl("get", "--raw=/metrics"), moment
        )

    def wait_idle(self) -> None:
        """Wait until the server has finished its background work.

        Much of it follows the answer: new definitions, for instance, make the
        server generate its whole OpenAPI description again.
        """
        end = time.monotonic() + PATIENCE
        before = self.count_requests()
        while time.monotonic() < end:
            time.sleep(2)
            after = self.count_requests()
            if metrics.busy_processors(before, after) < QUIET:
                return
            before = after

    def measure_noise(self) -> float:
        """Requests in a second that others send while we send none."""
        before = self.count_requests()
        time.sleep(IDLE)
        return metrics.rate(before, self.count_requests())
