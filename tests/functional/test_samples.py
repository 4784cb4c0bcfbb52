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

from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tests import schemas
from tests.secrecy.watch import Watch
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
    namespace: str, kubeconfig: pathlib.Path, shows: Watch
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
        shows.look("the program's output", ended.stdout + ended.stderr)
        schemas.check([*argv, "json"], ended.stdout)
        if ended.returncode == code:
            return json.loads(ended.stdout)
        return ended.stderr

    return _run


def test_the_custom_resource_sample_lives(
    cluster, namespace, unique, run, tmp_path
):
    """Scaled by its aspect and by the object, changed, healed (TK-5, TK-20).

    The change is foretold and keeps the number of the scale (E1, P9); what
    somebody edited is told as drift and healed (G4).
    """
    folder = tmp_path / "custom_resource"
    shutil.copytree(csar.SAMPLES / "custom_resource", folder)
    for path in folder.rglob("*.yaml"):
        text = path.read_text()
        path.write_text(
            text.replace("telephony.example.org", f"{unique}.example.org")
        )
    router = ObjectRef("apps", "Deployment", namespace, "call-router")

    def number():
        return cluster.get(router)["spec"]["replicas"]

    run("instantiate", unique, folder)
    assert 1 == number()
    report = run("scale", unique, "--aspect", "routers", "--steps", "2")
    assert ["scaled"] == [row["action"] for row in report["objects"]]
    assert 3 == number()
    run("scale", unique, "--aspect", "routers", "--to-level", "1")
    assert 2 == number()
    said = run("scale", unique, "--aspect", "routers", "--steps", "9")
    assert "its levels are 0 to 3" in said
    run("scale", unique, "Deployment/call-router", "--replicas", "4")
    assert 4 == number()
    said = run("scale", unique, "Service/call-router", "--replicas", "2")
    assert "no number of replicas" in said

    manifest = folder / "Files" / "kubernetes" / "router.yaml"
    manifest.write_text(manifest.read_text().replace(IMAGE, NEWER))
    foretold = run("forecast", unique, folder)
    changed = {
        (row["kind"], field["after"])
        for row in foretold["objects"]
        for field in row["differences"]
    }
    assert {("Deployment", NEWER)} == changed
    run("change", unique, folder)
    assert 4 == number()

    before = pods(cluster, namespace)
    cluster.delete(
        service := ObjectRef("", "Service", namespace, "call-router"),
        cluster.get(service)["metadata"]["uid"],
    )
    assert {"call-router": ["missing"]} == drifted(
        run("drift", unique, code=5)
    )
    run("heal", unique, "--all")
    assert 4 == len(pods(cluster, namespace) - before)
    assert {} == drifted(run("drift", unique))
    run("terminate", unique)


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
def test_the_workload_cluster_sample_lives(
    cluster, namespace, unique, run, tmp_path
):
    """The chosen machine goes, and the control plane stays (TK-16, P9).

    A worker is healed; the next version replaces every machine, as it is
    foretold (TK-17, TK-20, G3).
    """

    def machines(label):
        listed = cluster.list_objects(MACHINE, namespace, label)
        return {machine["metadata"]["name"] for machine in listed}

    workers = f"{CAPI}/deployment-name=workload-workers"
    control_plane = f"{CAPI}/control-plane"
    run("instantiate", unique, SAMPLE)
    own, first = machines(control_plane), machines(workers)

    run("scale", unique, "--aspect", "workers", "--steps", "1")
    assert first < machines(workers)
    (old,) = first
    leaving = ["--leaving", old]
    run("scale", unique, "--aspect", "workers", "--to-level", "0", *leaving)

    assert 1 == len(machines(workers))
    assert old not in machines(workers)
    assert own == machines(control_plane)
    said = run(
        "scale",
        unique,
        "kubeadmcontrolplane/workload-control-plane",
        "--replicas",
        "2",
    )
    assert "must be odd" in said

    (sick,) = machines(workers)
    run("heal", unique, f"Machine/{sick}")
    assert machines(workers).isdisjoint({sick})

    csar.build(SAMPLE, tmp_path / "newer.zip", variant="v1_36")
    foretold = run("forecast", unique, tmp_path / "newer.zip")
    assert {"KubeadmControlPlane": 1, "MachineDeployment": 1} == {
        row["kind"]: row["rollout"]["machines"]
        for row in foretold["objects"]
        if row["rollout"]
    }
    before = machines(workers) | machines(control_plane)
    run("change", unique, tmp_path / "newer.zip")
    after = machines(workers) | machines(control_plane)
    assert 2 == len(after)
    assert after.isdisjoint(before)
    run("terminate", unique)
