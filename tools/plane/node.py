"""A real node: containerd, kubelet and kube-proxy beside kwok's nodes."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import json
import os
import pathlib
import shutil
import time

from tools.plane import binaries
from tools.plane import build
from tools.plane import credentials
from tools.plane import host_cleanup
from tools.plane import images
from tools.plane import node_components
from tools.plane import ports
from tools.plane import processes
from tools.plane import signals
from tools.plane.components import SERVICES
from tools.plane.components import ports as ports_of
from tools.plane.errors import PlaneError
from tools.plane.folders import write_private
from tools.plane.kubectl import Object
from tools.plane.lifecycle import Plane
from tools.plane.node_components import BRIDGE
from tools.plane.node_components import LABEL

BUSYBOX = "localhost/busybox:1"
"""Always there: /bin/busybox, and /bin/sh that leads to it."""
NAME = credentials.NODE_NAME
SECONDS = 60.0
SOON = "--grace-period=5"
"""For pods that do not end on their own; it counts only if it comes before
the taint, which grants their terminationGracePeriodSeconds."""


def exists(plane: Plane) -> bool:
    """Whether a node was brought up, and not down."""
    return _before(plane).exists()


def up(plane: Plane) -> bool:
    """Add the node to the running plane; whether there was none."""
    _check_machine()
    if plane.unavailable(["control plane"]):
        raise PlaneError("the plane does not run: bring it up first")
    build.build(plane.store, binaries.NODE, plane.print_line)
    with plane.locked():
        if exists(plane):
            if not plane.unavailable(["node"]):
                return False
            # What a crash left is removed first; then the start is repeated.
            _down(plane)
        table = [one for one in plane.table.values() if one.part == "node"]
        ports.check_free(ports_of(table))
        _check_network()
        with _undone(plane):
            _up(plane)
    return True


def down(plane: Plane) -> bool:
    """Take the node away with all that it left; whether there was one."""
    if not exists(plane):
        return False
    with plane.locked():
        if not exists(plane):
            return False
        _down(plane)
    return True


def add_image(
    plane: Plane,
    name: str,
    files: Mapping[str, bytes],
    entrypoint: Sequence[str],
    links: Mapping[str, str] | None = None,
) -> None:
    """Make an image of static binaries known to the node."""
    path = plane.folders.temp / "image.tar"
    write_private(path, images.archive(name, files, entrypoint, links))
    try:
        host_cleanup.run(
            str(plane.store.path("ctr")),
            f"--address={node_components.socket(plane.folders)}",
            "--namespace=k8s.io",
            "images",
            "import",
            str(path),
        )
    finally:
        path.unlink()


def _check_machine() -> None:
    if os.getuid():
        raise PlaneError("a real node needs root")
    if missing := host_cleanup.packages_missing():
        raise PlaneError(
            "a real node needs these Debian packages, which are not "
            f"installed: {' '.join(missing)}. "
            "`python -m tools.plane node install` installs them."
        )


def _check_network() -> None:
    if host_cleanup.link_exists(BRIDGE):
        raise PlaneError(f"the machine has a link {BRIDGE} already")
    if taken := host_cleanup.tables() & frozenset(host_cleanup.TABLES):
        names = ", ".join(" ".join(one) for one in sorted(taken))
        raise PlaneError(
            f"nftables has {names} already: another kube-proxy works here"
        )


# -- Up -----------------------------------------------------------------------


def _before(plane: Plane) -> pathlib.Path:
    """How the machine was before the node came."""
    return plane.folders.node / "before.json"


def _up(plane: Plane) -> None:
    begin = time.monotonic()
    plane.folders.node.mkdir(mode=0o700, exist_ok=True)
    before = {
        "settings": host_cleanup.settings(),
        "folders": host_cleanup.folders(),
        "cgroups": [str(path) for path in host_cleanup.cgroups()],
    }
    write_private(_before(plane), json.dumps(before).encode())
    for path, text in node_components.files(plane.folders).items():
        path.parent.mkdir(exist_ok=True)
        write_private(path, text.encode())
    # The bridge's address is the node's: a kubelet refuses a loopback one.
    host_cleanup.add_bridge(BRIDGE, f"{credentials.NODE_ADDRESS}/24")
    # A machine without a default route would find no way to a Service,
    # before the rules that turn it into a pod's address come to it.
    host_cleanup.run("ip", "route", "add", SERVICES, "dev", BRIDGE)
    plane.start_components([plane.table["forward"], plane.table["containerd"]])
    busybox = {"/bin/busybox": images.executable(pathlib.Path("/bin/busybox"))}
    forever = ["/bin/busybox", "sleep", "2147483647"]
    add_image(plane, node_components.PAUSE, busybox, forever)
    shell = {"/bin/sh": "busybox"}
    add_image(plane, BUSYBOX, busybox, ["/bin/sh"], shell)
    plane.start_components([plane.table["kubelet"], plane.table["kube-proxy"]])
    plane.kubectl.apply([_endpoints()])
    plane.kubectl("wait", "--for=create", f"node/{NAME}", "--timeout=60s")
    plane.kubectl(
        "wait", "--for=condition=Ready", f"node/{NAME}", "--timeout=60s"
    )
    if not plane.records.is_alive("kwok"):
        # There is no other node that pods could go to.
        plane.kubectl("taint", "nodes", NAME, f"{LABEL[0]}-")
    plane.print_line(f"{NAME}: Ready after {time.monotonic() - begin:.0f} s")


def _endpoints() -> Object:
    """Where pods find the server behind the Service ``kubernetes``.

    The server itself listens on loopback only and writes none.
    """
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": "IPv4",
        "ports": [
            {
                "name": "https",
                "port": credentials.API_PORT,
                "protocol": "TCP",
            }
        ],
        "endpoints": [
            {
                "addresses": [credentials.NODE_ADDRESS],
                "conditions": {"ready": True},
            }
        ],
    }


@contextlib.contextmanager
def _undone(plane: Plane) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with signals.defer():
            _down(plane)
        raise


# -- Down ---------------------------------------------------------------------


def _down(plane: Plane) -> None:
    before = json.loads(_before(plane).read_text())
    answers = not plane.unavailable(["control plane"])
    if answers:
        # Whatever the server answers, the machine has to be as it was.
        try:
            _drain(plane)
        except PlaneError as error:
            plane.print_line(
                f"{NAME}: its pods are ended without the server: {error}"
            )
    plane.stop_components(["kubelet", "kube-proxy"])
    for shim in host_cleanup.shims(node_components.socket(plane.folders)):
        # Its container first, else no process would be left to end that.
        host_cleanup.remove_cgroups(before["cgroups"])
        processes.stop(shim, patience=2)
    plane.stop_components(["containerd"])
    host_cleanup.remove_cgroups(before["cgroups"])
    host_cleanup.unmount(plane.folders.node)
    plane.stop_components(["forward"])
    host_cleanup.remove_link(BRIDGE)
    host_cleanup.remove_tables()
    host_cleanup.restore(before["settings"])
    host_cleanup.remove_folders(before["folders"])
    if answers:
        plane.kubectl("delete", "--ignore-not-found", f"node/{NAME}")
        plane.kubectl(
            "delete", "--ignore-not-found", "endpointslice/kubernetes"
        )
    shutil.rmtree(plane.folders.node)
    plane.print_line(f"{NAME}: gone")


def _drain(plane: Plane) -> None:
    """Have the pods of the node removed, as far as the kubelet still can."""
    kubectl = plane.kubectl
    if kubectl.run("get", f"node/{NAME}").returncode:
        return
    _delete_pods(plane, SOON)
    # Daemon sets would put new pods on a node that only takes no more. The
    # key is another than the one that pods of this node tolerate.
    kubectl(
        "taint",
        "nodes",
        NAME,
        f"{LABEL[0]}-leaves=yes:NoExecute",
        "--overwrite",
    )
    end = time.monotonic() + SECONDS
    while plane.records.is_alive("kubelet") and time.monotonic() < end:
        # Repeatedly, since some of them are created again before the
        # controllers have seen the taint.
        _delete_pods(plane, SOON)
        if not _pods(plane):
            return
        time.sleep(0.5)
    if left := _pods(plane):
        plane.print_line(f"{NAME}: pods that did not end: {', '.join(left)}")
        _delete_pods(plane, "--force", "--grace-period=0")


def _delete_pods(plane: Plane, *how: str) -> None:
    plane.kubectl(
        "delete",
        "pods",
        "--all-namespaces",
        f"--field-selector=spec.nodeName={NAME}",
        "--wait=false",
        *how,
    )


def _pods(plane: Plane) -> list[str]:
    found = plane.kubectl.json(
        "get",
        "pods",
        "--all-namespaces",
        f"--field-selector=spec.nodeName={NAME}",
    )
    return [
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        for pod in found["items"]
    ]
