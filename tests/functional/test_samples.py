"""The samples live by the command line, as their pages say."""

from __future__ import annotations

from collections.abc import Callable
import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tests import output_schemas
from tests.secrecy.search import SecretSearch
from tools import csar

pytestmark = pytest.mark.plane

PROGRAM = [sys.executable, "-m", "tacker_k8s_cr.cli.shell"]
CAPI = "cluster.x-k8s.io"
MACHINE = GroupKind(CAPI, "Machine")
POD = GroupKind("", "Pod")
SAMPLE = csar.SAMPLES / "capi_workload_cluster"
IMAGE = "registry.k8s.io/pause:3.10"
NEWER = f"{IMAGE}.1"


@pytest.fixture
def run(
    namespace: str, kubeconfig: pathlib.Path, secret_search: SecretSearch
) -> Callable[..., Any]:
    """Runs the program in the test's namespace; its report, or its words."""
    environ = {**os.environ, "KUBECONFIG": str(kubeconfig)}

    def _run(*argv: str | os.PathLike[str], code: int = 0) -> Any:
        ended = subprocess.run(
            [*PROGRAM, *argv, "--namespace", namespace, "--format", "json"],
            capture_output=True,
            text=True,
            timeout=240,
            env=environ,
        )
        secret_search.search(
            "the program's output", ended.stdout + ended.stderr
        )
        output_schemas.check_output([*argv, "json"], ended.stdout)
        if ended.returncode == code:
            return json.loads(ended.stdout)
        return ended.stderr

    return _run


@pytest.mark.requirement("TK-1", "TK-5", "E1")
def test_the_custom_resource_sample_lives(
    cluster, namespace, unique_name, run, tmp_path
):
    """Scaled by its aspect and by the object, changed, healed.

    The change is forecast and keeps the number of the scale; an edit by
    another client is reported as drift and healed.
    """
    folder = tmp_path / "custom_resource"
    shutil.copytree(csar.SAMPLES / "custom_resource", folder)
    for path in folder.rglob("*.yaml"):
        text = path.read_text()
        path.write_text(
            text.replace("telephony.example.org", f"{unique_name}.example.org")
        )
    router = ObjectRef("apps", "Deployment", namespace, "call-router")

    def number():
        return cluster.get(router)["spec"]["replicas"]

    run("instantiate", unique_name, folder)
    assert 1 == number()
    report = run(
        "scale", unique_name, "--aspect", "routers", "--number-of-steps", "2"
    )
    assert ["scaled"] == [row["action"] for row in report["objects"]]
    assert 3 == number()
    run("scale", unique_name, "--aspect", "routers", "--level", "1")
    assert 2 == number()
    said = run(
        "scale", unique_name, "--aspect", "routers", "--number-of-steps", "9"
    )
    assert "its levels are 0 to 3" in said
    run("scale", unique_name, "Deployment/call-router", "--replicas", "4")
    assert 4 == number()
    said = run("scale", unique_name, "Service/call-router", "--replicas", "2")
    assert "no replica count" in said

    manifest = folder / "Files" / "kubernetes" / "router.yaml"
    manifest.write_text(manifest.read_text().replace(IMAGE, NEWER))
    foretold = run("forecast", unique_name, folder)
    changed = {
        (row["kind"], field["after"])
        for row in foretold["objects"]
        for field in row["differences"]
    }
    assert {("Deployment", NEWER)} == changed
    run("change", unique_name, folder)
    assert 4 == number()

    before = pods(cluster, namespace)
    cluster.delete(
        service := ObjectRef("", "Service", namespace, "call-router"),
        cluster.get(service)["metadata"]["uid"],
    )
    assert {"call-router": ["missing"]} == drifted(
        run("drift", unique_name, code=5)
    )
    run("heal", unique_name, "--all")
    assert 4 == len(pods(cluster, namespace) - before)
    assert {} == drifted(run("drift", unique_name))
    run("terminate", unique_name)


def pods(cluster, namespace):
    """Of those that are not ending: their UIDs."""
    return {
        pod["metadata"]["uid"]
        for pod in cluster.list_objects(POD, namespace, "app=call-router")
        if "deletionTimestamp" not in pod["metadata"]
    }


def drifted(report):
    return {row["name"]: row["drift"] for row in report["objects"]}


@pytest.mark.capi
@pytest.mark.requirement("TK-16", "TK-17", "D6")
def test_the_workload_cluster_sample_lives(
    cluster, namespace, unique_name, run, tmp_path
):
    """The selected machine is deleted, and the control plane stays.

    A worker is healed; the next version replaces every machine, as forecast.
    """

    def machines(label):
        listed = cluster.list_objects(MACHINE, namespace, label)
        return {machine["metadata"]["name"] for machine in listed}

    workers = f"{CAPI}/deployment-name=workload-workers"
    control_plane = f"{CAPI}/control-plane"
    run("instantiate", unique_name, SAMPLE)
    own, first = machines(control_plane), machines(workers)

    run("scale", unique_name, "--aspect", "workers", "--number-of-steps", "1")
    assert first < machines(workers)
    (old,) = first
    leaving = ["--machines-to-delete", old]
    run("scale", unique_name, "--aspect", "workers", "--level", "0", *leaving)

    assert 1 == len(machines(workers))
    assert old not in machines(workers)
    assert own == machines(control_plane)
    said = run(
        "scale",
        unique_name,
        "kubeadmcontrolplane/workload-control-plane",
        "--replicas",
        "2",
    )
    assert "must be odd" in said

    (sick,) = machines(workers)
    run("heal", unique_name, f"Machine/{sick}")
    assert machines(workers).isdisjoint({sick})

    csar.build(SAMPLE, tmp_path / "newer.zip", variant="v1_36")
    foretold = run("forecast", unique_name, tmp_path / "newer.zip")
    assert {"KubeadmControlPlane": 1, "MachineDeployment": 1} == {
        row["kind"]: row["rollout"]["machines"]
        for row in foretold["objects"]
        if row["rollout"]
    }
    before = machines(workers) | machines(control_plane)
    run("change", unique_name, tmp_path / "newer.zip")
    after = machines(workers) | machines(control_plane)
    assert 2 == len(after)
    assert after.isdisjoint(before)
    run("terminate", unique_name)
