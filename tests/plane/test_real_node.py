"""A real node on the machine, and the machine before and after."""

from __future__ import annotations

from collections.abc import Callable
import os
import pathlib
import socket
import urllib.request

import pytest

from tools.plane import host_cleanup
from tools.plane import node
from tools.plane import processes
from tools.plane.components import Component
from tools.plane.components import is_answering
from tools.plane.node_components import LABEL

pytestmark = [pytest.mark.root, pytest.mark.cycle]


@pytest.fixture
def plane(own_ports, skip_or_fail: Callable[[str, str], None]):
    """A plane with kwok, so that there are other nodes as well."""
    if missing := host_cleanup.packages_missing():
        skip_or_fail("root", f"not installed: {' '.join(missing)}")
    own_ports.up(["control plane", "kwok"])
    yield own_ports
    node.down(own_ports)


def machine(plane):
    """All that a node might leave, as far as it can be seen."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    cgroups = pathlib.Path("/sys/fs/cgroup")
    return {
        "processes": _processes(plane),
        "mounts": sorted(line.split(" ", 4)[4] for line in mounts),
        "network namespaces": _namespaces(),
        "links": sorted(name for _, name in socket.if_nameindex()),
        "routes": host_cleanup.run("ip", "route").splitlines(),
        "tables": sorted(host_cleanup.tables()),
        "cgroups": sorted(
            str(path)
            for path in [*cgroups.glob("*"), *cgroups.glob("*/*")]
            if path.is_dir()
        ),
        "settings": [
            " = ".join(one) for one in host_cleanup.settings().items()
        ],
        "folders": sorted(
            f"{folder}/{name}"
            for folder in ("/run", "/opt", "/var/lib", "/var/log", "/etc")
            for name in os.listdir(folder)
        ),
    }


def _processes(plane):
    """Programs of the plane, and programs out of containers."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            program = os.readlink(path / "exe")
            words = (path / "cmdline").read_text().split("\0")
        except OSError:
            continue
        if str(plane.folders.run) in " ".join(words) or (
            program == "/bin/busybox"
        ):
            found.append(f"{path.name} {' '.join(words)}")
    return sorted(found)


def _namespaces():
    """Network namespaces that a mount keeps, as containerd's are.

    One that a process keeps shows among the processes.
    """
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return sorted(line.split()[3] for line in mounts if " nsfs " in line)


def left(before, after):
    """What is there now and was not, by what it is."""
    found = {
        what: [one for one in after[what] if one not in before[what]]
        for what in before
    }
    return {what: new for what, new in found.items() if new}


def pod_spec(command, **more):
    key, value = LABEL
    return {
        "nodeSelector": {key: value},
        "tolerations": [{"key": key, "operator": "Exists"}],
        "containers": [
            {
                "name": "main",
                "image": node.BUSYBOX,
                "imagePullPolicy": "Never",
                "command": command,
                **more.pop("container", {}),
            }
        ],
        **more,
    }


SERVER = [
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "web"},
        "stringData": {"index.html": "hello from a Secret"},
    },
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": pod_spec(
                    ["/bin/sh", "-c", "busybox httpd -f -p 8080 -h /content"],
                    container={
                        "readinessProbe": {
                            "httpGet": {"path": "/", "port": 8080},
                            "periodSeconds": 1,
                        },
                        "volumeMounts": [
                            {"name": "content", "mountPath": "/content"}
                        ],
                    },
                    volumes=[
                        {"name": "content", "secret": {"secretName": "web"}}
                    ],
                ),
            },
        },
    },
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"app": "web"},
            "ports": [{"port": 80, "targetPort": 8080}],
        },
    },
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "client"},
        "spec": pod_spec(
            ["/bin/sh", "-c", "trap exit TERM; while :; do sleep 1; done"]
        ),
    },
]


def rolled_out(kubectl):
    kubectl.apply(SERVER)
    kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    kubectl("wait", "--for=condition=Ready", "--timeout=60s", "pod/client")


def wait_served(plane, url):
    """kube-proxy learns of a Service's pods a moment after we do."""
    service = Component("Service", "node", (), url, ())
    processes.wait_ready(
        "the Service",
        plane.records["kube-proxy"],
        lambda: is_answering(plane.folders, service),
        plane.folders.log("kube-proxy"),
        30,
    )


def test_pods_run_and_leave_nothing_on_the_machine(plane):
    """Probed, with a mounted Secret, behind a Service; then all is deleted."""
    before = machine(plane)
    kubectl = plane.kubectl

    assert node.up(plane)
    assert not node.up(plane)
    rolled_out(kubectl)

    address = kubectl.json("get", "service/web")["spec"]["clusterIP"]
    url = f"http://{address}/"
    wait_served(plane, url)
    with urllib.request.urlopen(url, timeout=10) as reply:
        assert b"hello from a Secret" == reply.read()
    request = f"printf 'GET / HTTP/1.0\\r\\n\\r\\n' | busybox nc {address} 80"
    said = kubectl("exec", "client", "--", "/bin/sh", "-c", request)
    assert said.endswith("hello from a Secret")
    server = "busybox nc -w 5 $KUBERNETES_SERVICE_HOST 443 </dev/null"
    kubectl("exec", "client", "--", "/bin/sh", "-c", server)

    # What is looked at does show a node that is there.
    assert {
        "processes",
        "mounts",
        "network namespaces",
        "links",
        "routes",
        "tables",
        "cgroups",
    } <= set(left(before, machine(plane)))

    assert node.down(plane)

    assert {} == left(before, machine(plane))
    assert [] == [
        one["metadata"]["name"]
        for one in kubectl.json("get", "nodes")["items"]
        if not one["metadata"]["name"].startswith("node-")
    ]
    assert not node.down(plane)


def test_a_node_that_crashed_leaves_nothing_either(plane):
    """Without kubelet and containerd the containers are still ended."""
    before = machine(plane)
    node.up(plane)
    rolled_out(plane.kubectl)
    for name in ("kubelet", "kube-proxy", "containerd"):
        processes.stop(plane.records[name], patience=0)

    node.down(plane)

    assert {} == left(before, machine(plane))


def test_pods_that_do_not_ask_for_it_stay_on_the_other_nodes(plane):
    """kwok's nodes are the default beside a real one."""
    node.up(plane)
    kubectl = plane.kubectl

    kubectl("create", "deployment", "any", "--image=any", "--replicas=4")
    kubectl("rollout", "status", "deployment/any", "--timeout=60s")

    pods = kubectl.json("get", "pods", "--selector=app=any")["items"]
    assert 4 == len(pods)
    assert node.NAME not in {pod["spec"]["nodeName"] for pod in pods}


def test_pods_of_a_plane_without_other_nodes_run_on_it(
    own_ports, skip_or_fail
):
    """Without kwok the real node takes whatever comes."""
    if missing := host_cleanup.packages_missing():
        skip_or_fail("root", f"not installed: {' '.join(missing)}")
    own_ports.up(["control plane"])
    try:
        node.up(own_ports)
        kubectl = own_ports.kubectl
        kubectl(
            "run",
            "any",
            f"--image={node.BUSYBOX}",
            "--command",
            "--",
            "/bin/sh",
            "-c",
            "trap exit TERM; while :; do sleep 1; done",
        )

        kubectl("wait", "--for=condition=Ready", "--timeout=60s", "pod/any")
    finally:
        node.down(own_ports)


def test_a_namespace_may_send_its_pods_to_the_real_node(plane):
    """Annotations do it; the manifests of a package stay as they are."""
    node.up(plane)
    kubectl = plane.kubectl
    key, value = LABEL
    kubectl("create", "namespace", "real")
    kubectl(
        "annotate",
        "namespace",
        "real",
        f"scheduler.alpha.kubernetes.io/node-selector={key}={value}",
        "scheduler.alpha.kubernetes.io/defaultTolerations="
        f'[{{"key": "{key}", "operator": "Exists"}}]',
    )
    kubectl(
        "wait",
        "--for=create",
        "--timeout=60s",
        "--namespace=real",
        "serviceaccount/default",
    )

    kubectl(
        "run",
        "any",
        "--namespace=real",
        f"--image={node.BUSYBOX}",
        "--command",
        "--",
        "/bin/sh",
        "-c",
        "trap exit TERM; while :; do sleep 1; done",
    )

    kubectl(
        "wait",
        "--for=condition=Ready",
        "--timeout=60s",
        "--namespace=real",
        "pod/any",
    )
