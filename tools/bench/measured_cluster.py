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
class Ground:
    """Fresh namespaces of one cluster, removed together at the end."""

    kubectl: Kubectl
    made: list[str] = dataclasses.field(default_factory=list)

    @contextlib.contextmanager
    def namespace(self) -> Iterator[str]:
        """Create a namespace; delete its ConfigMaps on exit.

        Namespaces are deleted at the end of the run: their controller would
        otherwise work on them during the next measurement.
        """
        name = f"bench-{os.getpid()}-{len(self.made) + 1}"
        self.kubectl("create", "namespace", name)
        self.made.append(name)
        yield name
        path = f"/api/v1/namespaces/{name}/configmaps"
        self.kubectl("delete", f"--raw={path}")

    def clear(self) -> None:
        """Remove the namespaces, and wait until they are deleted.

        It comes last, also after an error, which it must not hide.
        """
        if self.made:
            done = self.kubectl.run(
                "delete",
                "namespace",
                "--ignore-not-found",
                "--timeout=300s",
                *self.made,
            )
            if done.returncode:
                left = ", ".join(self.made)
                print(f"namespaces may be left: {left}", file=sys.stderr)
            self.made.clear()

    def count(self) -> metrics.Count:
        """Requests that the API server reports as answered."""
        time.sleep(SETTLE)
        moment = time.monotonic()
        return metrics.counted(self.kubectl("get", "--raw=/metrics"), moment)

    def quiet(self) -> None:
        """Wait until the server has finished its background work.

        Much of it follows the answer: new definitions, for instance, make the
        server generate its whole OpenAPI description again.
        """
        end = time.monotonic() + PATIENCE
        before = self.count()
        while time.monotonic() < end:
            time.sleep(2)
            after = self.count()
            if metrics.busy(before, after) < QUIET:
                return
            before = after

    def noise(self) -> float:
        """Requests in a second that others send while we send none."""
        before = self.count()
        time.sleep(IDLE)
        return metrics.rate(before, self.count())
