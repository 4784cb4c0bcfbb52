"""A package makes a management cluster of an empty one, and takes it back."""

from __future__ import annotations

from collections.abc import Callable
import os
import pathlib
import subprocess
import sys

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tests.management.conftest import HOME
from tools import csar
from tools import leftovers
from tools.leftovers import Snapshot
from tools.plane import node
from tools.plane.kubectl import Kubectl
from tools.plane.lifecycle import Plane

PROGRAM = [sys.executable, "-m", "tacker_k8s_cr.cli.shell"]
SECONDS = 300.0
"""For each operation; on two idle cores none takes the third of it."""
COLLECTED = 60.0
"""Seconds after which garbage must have been collected."""

FIRST = ObjectRef("cluster.x-k8s.io", "Cluster", HOME, "first")
ACCOUNTS = {
    "certs-system": "certs",
    "capi-system": "capi-manager",
    "capi-kubeadm-bootstrap-system": "capi-kubeadm-bootstrap-manager",
    "capi-kubeadm-control-plane-system": "capi-kubeadm-control-plane-manager",
    "capd-system": "capd-manager",
}
"""By namespace, the account under which its only pod runs."""


def _life(seconds: float = SECONDS) -> dict[str, object]:
    return {"deadline": k8s_cr.Deadline.after(seconds)}


def _available(cluster: Cluster, ref: ObjectRef) -> str:
    (found,) = (
        condition["status"]
        for condition in cluster.get(ref)["status"]["conditions"]
        if condition["type"] == "Available"
    )
    return str(found)


def _pods(kubectl: Kubectl) -> list[tuple[str, str, str, bool]]:
    """Namespace, account and node of each pod, and whether it is ready."""
    return sorted(
        (
            pod["metadata"]["namespace"],
            pod["spec"]["serviceAccountName"],
            pod["spec"]["nodeName"],
            all(one["ready"] for one in pod["status"]["containerStatuses"]),
        )
        for pod in kubectl.json("get", "pods", "--all-namespaces")["items"]
    )


def _waited(kubectl: Kubectl) -> set[str]:
    """The namespaces of pods that had to wait for a Secret they mount."""
    events = kubectl.json(
        "get",
        "events",
        "--all-namespaces",
        "--field-selector=reason=FailedMount",
    )
    return {event["metadata"]["namespace"] for event in events["items"]}


def _started_after_their_secrets(kubectl: Kubectl) -> bool:
    """Whether no controller began before there was what it mounts."""
    for namespace in ACCOUNTS:
        (pod,) = kubectl.json("get", "pods", f"--namespace={namespace}")[
            "items"
        ]
        (status,) = pod["status"]["containerStatuses"]
        begun = status["state"]["running"]["startedAt"]
        for volume in pod["spec"]["volumes"]:
            if "secret" in volume:
                secret = kubectl.json(
                    "get",
                    "secret",
                    f"--namespace={namespace}",
                    volume["secret"]["secretName"],
                )
                if secret["metadata"]["creationTimestamp"] > begun:
                    return False
    return True


@pytest.mark.requirement("TK-7", "TK-8")
def test_one_package_makes_a_management_cluster(
    plane: Plane, cluster: Cluster, folder: pathlib.Path, before: Snapshot
) -> None:
    """Instantiate and terminate, with the real controllers.

    One package holds namespaces, definitions, roles, controllers whose pods
    wait for a Secret, the Certificates that make it, webhooks, and a Cluster
    which those webhooks have to admit. While another instance
    has a Cluster its definitions cannot go, and the error names it; without,
    nothing is left.
    """
    kubectl = plane.kubectl
    package = k8s_cr.load(folder)

    report = k8s_cr.instantiate(
        k8s_cr.Request(cluster, "management", namespace=HOME, **_life()),
        package,
    )

    assert len(package.manifests) == len(report.objects)
    assert {"current"} == {row.verdict.state.value for row in report.objects}
    assert "True" == _available(cluster, FIRST)
    assert [
        (namespace, account, node.NAME, True)
        for namespace, account in sorted(ACCOUNTS.items())
    ] == _pods(kubectl)
    assert _started_after_their_secrets(kubectl)
    assert [] == [name for name in plane.records.names() if "capi" in name]
    assert _waited(kubectl)
    # The API server reaches them: one converts, one refuses.
    old = "clusters.v1beta1.cluster.x-k8s.io"
    shown = kubectl.json("get", old, "first", f"--namespace={HOME}")
    assert "cluster.x-k8s.io/v1beta1" == shown["apiVersion"]
    patch = '{"spec": {"replicas": 2}}'
    refused = kubectl.run(
        "patch",
        "kubeadmcontrolplane/first-control-plane",
        f"--namespace={HOME}",
        "--type=merge",
        f"--patch={patch}",
    )
    assert "cannot be an even number" in refused.stderr
    # They have their own rights, and no more.
    account = "system:serviceaccount:capd-system:capd-manager"
    may = kubectl.run("auth", "can-i", "delete", "nodes", f"--as={account}")
    assert "no\n" == may.stdout

    said = "not supported by the package of management"
    with pytest.raises(errors.NotSupported, match=said):
        k8s_cr.scale(
            k8s_cr.Request(cluster, "management", namespace=HOME, **_life()),
            aspect="controllers",
            number_of_steps=1,
        )
    with pytest.raises(errors.NotSupported, match=said):
        k8s_cr.heal(
            k8s_cr.Request(cluster, "management", namespace=HOME, **_life())
        )
    with pytest.raises(errors.NotSupported, match=said):
        k8s_cr.change(
            k8s_cr.Request(cluster, "management", namespace=HOME, **_life()),
            package,
        )

    kubectl("create", "namespace", "other")
    workload = k8s_cr.load(csar.SAMPLES / "capi_workload_cluster")
    k8s_cr.instantiate(
        k8s_cr.Request(cluster, "workload", namespace="other", **_life()),
        workload,
    )
    with pytest.raises(errors.ForeignObjects) as caught:
        k8s_cr.terminate(
            k8s_cr.Request(cluster, "management", namespace=HOME, **_life())
        )
    (line,) = (
        line
        for line in str(caught.value).splitlines()
        if line.startswith("Cluster.cluster.x-k8s.io/other/workload:")
    )
    assert line.endswith("it belongs to instance workload")
    assert "True" == _available(cluster, FIRST)

    k8s_cr.terminate(
        k8s_cr.Request(cluster, "workload", namespace="other", **_life())
    )
    kubectl("delete", "namespace", "other")
    k8s_cr.terminate(
        k8s_cr.Request(cluster, "management", namespace=HOME, **_life())
    )

    assert [] == leftovers.find_leftovers(
        cluster, before, k8s_cr.Deadline.after(COLLECTED)
    )


@pytest.fixture
def run(plane: Plane) -> Callable[..., str]:
    """Runs the program; what it printed."""

    def _run(*argv: str) -> str:
        ended = subprocess.run(
            [*PROGRAM, *argv, f"--namespace={HOME}", "--timeout=5m"],
            capture_output=True,
            text=True,
            env={**os.environ, "KUBECONFIG": str(plane.folders.kubeconfig)},
        )
        assert 0 == ended.returncode, ended.stderr
        return ended.stdout

    return _run


@pytest.mark.requirement("TK-7")
def test_files_in_any_order_by_the_command_line(
    cluster: Cluster,
    folder: pathlib.Path,
    before: Snapshot,
    run: Callable[..., str],
) -> None:
    """What needs most comes first, and all goes as before."""
    files = sorted((folder / "Files/kubernetes").iterdir())
    worst = {"cluster": 0, "infrastructure": 1, "certificates": 9}
    files.sort(key=lambda path: worst.get(path.stem, 5))

    run("instantiate", "management", *map(str, files))

    assert "True" == _available(cluster, FIRST)
    run("terminate", "management")
    assert [] == leftovers.find_leftovers(
        cluster, before, k8s_cr.Deadline.after(COLLECTED)
    )
