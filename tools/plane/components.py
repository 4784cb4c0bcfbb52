"""The processes of the plane: arguments, ports, and where each answers."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import pathlib
import ssl
import urllib.request

from tools.plane import credentials
from tools.plane.folders import Folders

SERVICES = "10.96.0.0/16"
FAKE_PODS = "10.244.0.0/16"
WORKLOAD_CLUSTERS = range(20000, 20010)
"""The in-memory provider counts upwards from the first, one for each
workload cluster, without looking whether a port is free."""


@dataclasses.dataclass(frozen=True)
class Component:
    """A process of the plane.

    :param part: what of the plane it belongs to.
    :param url: answers 200 when the component is ready.
    :param ports: what it listens on; must be free before.
    :param program: empty for a binary of the plane.
    :param binary: of the plane; empty for the one of the same name.
    :param group: components of one group are started together, since none
        of them answers without another.
    """

    name: str
    part: str
    arguments: tuple[str, ...]
    url: str
    ports: tuple[int, ...]
    program: str = ""
    binary: str = ""
    group: str = ""


def table(folders: Folders) -> tuple[Component, ...]:
    """Controllers, kwok and Cluster API, in the order of their start."""
    return (
        _controller_manager(folders),
        _scheduler(folders),
        _kwok(folders),
        *_cluster_api(folders),
    )


def ports(components: Iterable[Component]) -> dict[int, str]:
    """By port, the name of the component that wants it."""
    return {
        port: component.name
        for component in components
        for port in component.ports
    }


def environ(folders: Folders, built: pathlib.Path) -> dict[str, str]:
    """What the processes see; not the secrets of who starts them."""
    several = {
        # Seconds after which a client written in Go leaves a connection on
        # which an API server answers nothing; the defaults are 30 and 15.
        "HTTP2_READ_IDLE_TIMEOUT_SECONDS": "5",
        "HTTP2_PING_TIMEOUT_SECONDS": "3",
    }
    return {
        **(several if folders.servers > 1 else {}),
        "HOME": str(folders.temp),
        # containerd searches for its shim, and for runc, here.
        "PATH": f"{built}:/usr/sbin:/usr/bin:/sbin:/bin",
        # The balancer is a module of this tree.
        "PYTHONPATH": str(pathlib.Path(__file__).resolve().parents[2]),
        # The in-memory provider exits without a temporary folder.
        "TMPDIR": str(folders.temp),
        # The host part of each workload cluster's endpoint.
        "POD_IP": "127.0.0.1",
        # Never spoken to, but it must be a URL.
        "DOCKER_HOST": "unix:///nonexistent.sock",
    }


def is_answering(folders: Folders, component: Component) -> bool:
    """Whether a component reports now that it is ready."""
    context = None
    if component.url.startswith("https:"):
        context = ssl.create_default_context(cafile=folders.pki / "ca.crt")
    try:
        with urllib.request.urlopen(  # noqa: S310  the table's own URLs
            component.url, timeout=2, context=context
        ) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def _own(folders: Folders, client: str, port: int) -> tuple[str, ...]:
    """What controller-manager and scheduler have in common."""
    kubeconfig = credentials.kubeconfig_path(folders, client)
    return (
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={folders.pki}/local/tls.crt",
        f"--tls-private-key-file={folders.pki}/local/tls.key",
        "--leader-elect=false",
    )


def _controller_manager(folders: Folders) -> Component:
    pki = folders.pki
    port = 10257 + folders.shift
    return Component(
        "kube-controller-manager",
        "control plane",
        (
            *_own(folders, "controller-manager", port),
            "--controllers=*",
            "--use-service-account-credentials=true",
            f"--root-ca-file={pki}/ca.crt",
            f"--service-account-private-key-file={pki}/sa.key",
            f"--cluster-signing-cert-file={pki}/ca.crt",
            f"--cluster-signing-key-file={pki}/ca.key",
        ),
        f"https://127.0.0.1:{port}/healthz",
        (port,),
    )


def _scheduler(folders: Folders) -> Component:
    port = 10259 + folders.shift
    return Component(
        "kube-scheduler",
        "control plane",
        _own(folders, "scheduler", port),
        f"https://127.0.0.1:{port}/healthz",
        (port,),
    )


def _kwok(folders: Folders) -> Component:
    port = 10247 + folders.shift
    return Component(
        "kwok",
        "kwok",
        (
            f"--kubeconfig={credentials.server_kubeconfig(folders)}",
            # Stages as objects, so that they can change while it runs.
            "--enable-crds=Stage",
            "--manage-all-nodes=false",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            # Without leases the nodes turn NotReady after a while.
            "--node-lease-duration-seconds=40",
            "--node-ip=127.0.0.1",
            f"--cidr={FAKE_PODS}",
            f"--server-address=127.0.0.1:{port}",
        ),
        f"http://127.0.0.1:{port}/healthz",
        (port,),
    )


def _cluster_api(folders: Folders) -> tuple[Component, ...]:
    topology = "ClusterTopology=true,"
    return (
        _manager(folders, "capi-core", 0, topology),
        _manager(folders, "capi-bootstrap", 1, ""),
        _manager(folders, "capi-control-plane", 2, topology),
        # Its debug server's port is fixed.
        _manager(
            folders, "capi-dev", 3, topology, (19000, *WORKLOAD_CLUSTERS)
        ),
    )


def webhook_port(name: str) -> int:
    """Where a Cluster API manager serves its webhooks."""
    order = ("capi-core", "capi-bootstrap", "capi-control-plane", "capi-dev")
    return 9443 + order.index(name)


def _manager(
    folders: Folders,
    name: str,
    number: int,
    gates: str,
    more: tuple[int, ...] = (),
) -> Component:
    health = 9450 + number
    return Component(
        name,
        "cluster api",
        (
            f"--kubeconfig={credentials.server_kubeconfig(folders)}",
            f"--webhook-port={webhook_port(name)}",
            f"--webhook-cert-dir={folders.pki}/local",
            f"--health-addr=127.0.0.1:{health}",
            "--diagnostics-address=0",
            # One reconcile of an object in a second is too slow for tests.
            f"--feature-gates={gates}MachinePool=true,"
            "ReconcilerRateLimiting=false",
        ),
        f"http://127.0.0.1:{health}/readyz",
        (webhook_port(name), health, *more),
    )
