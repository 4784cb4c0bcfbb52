"""A plane of three API servers, and what becomes of one of them.

The faults are those of the second server. The first has the controllers,
and is asked for the truth; the clients of a test reach all three by the
balancer.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import threading

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube.kubeconfig import for_server
from tacker_k8s_cr.kube.protocol import Cluster
from tools.plane import credentials
from tools.plane import server_components
from tools.plane.lifecycle import Plane

SHIFT = 5000
"""Of the ports, from those of the usual plane."""
SERVERS = 3
FAULTY = 1
"""The place of the server that has the faults."""

ROUTE = server_components.name(FAULTY)
LINK = server_components.link(FAULTY)
MEMBER = server_components.member(FAULTY)


@dataclasses.dataclass(frozen=True)
class Servers:
    """The three servers of a plane.

    :param way: the URL that clients use, instead of the balancer's.
    """

    plane: Plane
    way: str = ""

    def direct_cluster(self, number: int = 0) -> Cluster:
        """Connect to one of them, without the balancer."""
        path = credentials.server_kubeconfig(self.plane.folders, number)
        return k8s_cr.connect(str(path))

    def balanced(self) -> Cluster:
        """Connect to whichever the balancer gives."""
        if self.way:
            return k8s_cr.connect(for_server(self.way))
        return k8s_cr.connect(str(self.plane.folders.kubeconfig))

    def aim(self) -> None:
        """Send new connections to the server that will have the fault."""
        for number in range(SERVERS):
            self.plane.balancer.change(
                server_components.name(number), in_rotation=number == FAULTY
            )

    def spread(self) -> None:
        """Send new connections to all of them again."""
        for number in range(SERVERS):
            self.plane.balancer.change(
                server_components.name(number), in_rotation=True
            )

    def restore(self) -> None:
        """Let all of them run and be up to date, as before any fault."""
        self.plane.balancer.restore()
        names = [
            name
            for name in (MEMBER, ROUTE)
            if (identity := self.plane.records[name]) and identity.is_paused
        ]
        self.plane.resume(names)
        ended = [
            component.name
            for component in self.plane.unavailable(["control plane"])
            if not self.plane.records.is_alive(component.name)
        ]
        self.plane.start(ended)


AWHILE = 20.0
"""Seconds of a fault that no operation could get past."""

OUTAGE = 120.0
"""Seconds for which an etcd member answers nothing. Most operations end
before that; in the others it carries out what it had not answered."""

Fault = Callable[[Servers], None]


def _kill(servers: Servers) -> None:
    servers.plane.kill([ROUTE])


def _restart(servers: Servers) -> None:
    servers.plane.stop([ROUTE])
    servers.plane.start([ROUTE])


def _partition(servers: Servers) -> None:
    servers.plane.balancer.change(ROUTE, mode="hang")


def _cut_off(servers: Servers) -> None:
    servers.plane.pause([MEMBER])
    timer = threading.Timer(OUTAGE, servers.plane.resume, [[MEMBER]])
    timer.start()
    timer.join()


def start_lag(servers: Servers) -> None:
    servers.plane.balancer.change(LINK, mode="stale")


def end_lag(servers: Servers) -> None:
    servers.plane.balancer.change(LINK, mode="pass")


def lag_temporarily(servers: Servers) -> None:
    start_lag(servers)
    timer = threading.Timer(AWHILE, end_lag, [servers])
    timer.start()
    timer.join()


FAULTS: dict[str, Fault] = {
    "killed": _kill,
    "restarted": _restart,
    "partitioned": _partition,
    "without its etcd member": _cut_off,
    "lagging": start_lag,
}
"""By the state of the server. All but one last until it is restored."""


@contextlib.contextmanager
def lagging_server(servers: Servers, *, alone: bool) -> Iterator[None]:
    """Let a server lag, and catch up at the end.

    :param alone: whether it gets all new connections.
    """
    if alone:
        servers.aim()
    start_lag(servers)
    try:
        yield
    finally:
        servers.restore()


@contextlib.contextmanager
def broken_server(
    servers: Servers, fault: Fault
) -> Iterator[Callable[[], None]]:
    """Let clients connect to one server, which then has a fault.

    What it yields causes the fault; the servers are restored at the end.
    """
    begun = threading.Event()

    def begin() -> None:
        servers.spread()
        begun.set()
        fault(servers)

    servers.aim()
    try:
        yield begin
    finally:
        servers.restore()
