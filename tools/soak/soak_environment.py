"""What a soak runs on: a plane, the way to it, namespaces and objects.

The plane is a separate one, beside any other, unless KUBECONFIG names a
cluster. That one is reached by the balancer too, but no proxy can read the
requests to it, so faults of answers are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import uuid

from tacker_k8s_cr import kube as clusters
from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tools import leftovers
from tools.balancer.client import Balancer
from tools.fault_proxy.proxy import FaultProxy
from tools.plane import credentials
from tools.plane.binaries import Store
from tools.plane.errors import PlaneError
from tools.plane.folders import Folders
from tools.plane.lifecycle import Plane
from tools.soak import fault_injection
from tools.soak import foreign_objects
from tools.soak import packages
from tools.soak import schedule
from tools.soak.model import Instance

SHIFT = 7000
"""Of the plane's ports, from those of the usual one."""
PARTS = ("control plane", "kwok")

NAMESPACES = 5
SETTLES = 60.0
"""Seconds in which Kubernetes collects the dependents of deleted objects."""
_LISTENS = 10.0

PrintLine = Callable[[str], object]


@dataclasses.dataclass(frozen=True)
class Server:
    """An API server, and what faults it can have.

    :param direct: without faults.
    :param faulty: by the balancer.
    """

    direct: Kubeconfig
    faulty: Kubeconfig
    network: fault_injection.Network

    @property
    def faults(self) -> tuple[str, ...]:
        if self.network.proxy is None:
            return schedule.TRANSPORT
        return schedule.TRANSPORT + schedule.ANSWERS


@dataclasses.dataclass(frozen=True)
class SoakEnvironment:
    """The namespaces of a soak, and what was there before its first step."""

    cluster: Cluster
    instances: tuple[Instance, ...]
    others: Mapping[str, foreign_objects.Others]
    before: leftovers.Snapshot
    prefix: str

    def find_leftovers(self) -> list[str]:
        """Return what is there now and was not before."""

        def matters(ref: ObjectRef) -> bool:
            usual = ref.name in ("default", "kube-root-ca.crt")
            return self.prefix in str(ref) and not usual

        found = leftovers.find_leftovers(
            self.cluster, self.before, Deadline.after(SETTLES), matters
        )
        return [str(ref) for ref in found]


@contextlib.contextmanager
def start_server(
    environ: Mapping[str, str], print_line: PrintLine
) -> Iterator[Server]:
    """Start the plane, the proxy and the balancer; end them afterwards."""
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = pathlib.Path(name)
        if named := environ.get("KUBECONFIG", ""):
            direct = kubeconfigs.load(named)
            host = urllib.parse.urlsplit(direct.server)
            port = host.port or 443
            routes = {fault_injection.DIRECT: (host.hostname or "", port)}
            if routes[fault_injection.DIRECT][0] not in (
                "127.0.0.1",
                "localhost",
            ):
                raise PlaneError(
                    "KUBECONFIG names a server on another host; the balancer "
                    "reaches 127.0.0.1 only"
                )
            with _balancer({fault_injection.DIRECT: port}) as (balancer, url):
                faulty = dataclasses.replace(
                    direct,
                    server=url,
                    tls_server_name=direct.tls_server_name
                    or host.hostname
                    or "",
                )
                network = fault_injection.Network(balancer, None)
                yield Server(direct, faulty, network)
            return
        with _plane(folder / "plane", environ, print_line) as plane:
            yield from _before_plane(folder, plane)


def _before_plane(folder: pathlib.Path, plane: Plane) -> Iterator[Server]:
    url = credentials.server(plane.folders)
    ca = plane.folders.pki / "ca.crt"
    direct = Kubeconfig(
        where="the plane of the soak",
        server=url,
        ca=ca.read_text(),
        token=credentials.token(plane.folders, "admin-token"),
    )
    with FaultProxy(folder / "proxy", url, ca) as proxy:
        ports = {
            fault_injection.DIRECT: urllib.parse.urlsplit(url).port or 0,
            fault_injection.FAULTY: urllib.parse.urlsplit(proxy.url).port or 0,
        }
        with _balancer(ports) as (balancer, balanced):
            balancer.change(fault_injection.FAULTY, in_rotation=False)
            faulty = dataclasses.replace(
                direct, server=balanced, ca=f"{direct.ca}\n{proxy.ca}"
            )
            network = fault_injection.Network(balancer, proxy)
            yield Server(direct, faulty, network)


@contextlib.contextmanager
def _plane(
    run: pathlib.Path, environ: Mapping[str, str], print_line: PrintLine
) -> Iterator[Plane]:
    folders = Folders(run, shift=SHIFT)
    folders.make()
    plane = Plane(folders, Store.from_environ(environ), print_line)
    plane.up(PARTS)
    try:
        yield plane
    finally:
        plane.down()


@contextlib.contextmanager
def _balancer(ports: Mapping[str, int]) -> Iterator[tuple[Balancer, str]]:
    """Run the balancer before these ports; what it yields has its URL."""
    control, port = _free(2)
    routes = ",".join(f"{name}:{number}" for name, number in ports.items())
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tools.balancer"),
            *("--control", str(control), "--tcp", f"{port}={routes}"),
        ],
        stdin=subprocess.DEVNULL,
    )
    balancer = Balancer(f"http://127.0.0.1:{control}/")
    try:
        end = time.monotonic() + _LISTENS
        while True:
            try:
                balancer.routes()
                break
            except OSError:
                if time.monotonic() > end or process.poll() is not None:
                    raise PlaneError("the balancer did not start") from None
                time.sleep(0.05)
        yield balancer, f"https://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _free(count: int) -> Sequence[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def prepare(direct: Kubeconfig, count: int) -> Iterator[SoakEnvironment]:
    """Make namespaces with objects of other managers; remove them."""
    cluster = clusters.connect(direct)
    prefix = f"soak{uuid.uuid4().hex[:6]}"
    kinds = {resource.group_kind for resource in cluster.resources()}
    forms = packages.possible_forms(kinds)
    namespaces = [f"{prefix}-ns{n}" for n in range(min(NAMESPACES, count))]
    instances = tuple(
        Instance(
            f"{prefix}-{number:02}",
            namespaces[number % len(namespaces)],
            forms[number % len(forms)],
            number,
        )
        for number in range(count)
    )
    made = foreign_objects.create(cluster, prefix, namespaces, instances)
    try:
        digests = foreign_objects.wait_settled(cluster, namespaces)
        yield SoakEnvironment(
            cluster,
            instances,
            digests,
            leftovers.take_snapshot(cluster),
            prefix,
        )
    finally:
        foreign_objects.remove(cluster, made)
        cluster.close()
