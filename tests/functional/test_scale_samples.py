"""The samples scale by the command line, as their pages say."""

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
from tests.secrecy.watch import Watch
from tools import csar

pytestmark = pytest.mark.plane

PROGRAM = [sys.executable, "-m", "tacker_k8s_cr.cli.shell"]
CAPI = "cluster.x-k8s.io"
MACHINE = GroupKind(CAPI, "Machine")


@pytest.fixture
def run(
    namespace: str, kubeconfig: pathlib.Path, shows: Watch
) -> Callable[..., Any]:
    """Runs the program in the test's namespace; its report, or its words."""
    environ = {**os.environ, "KUBECONFIG": str(kubeconfig)}

    def _run(*argv: str | os.PathLike[str]) -> Any:
        ended = subprocess.run(
            [*PROGRAM, *argv, "--namespace", namespace, "--format", "json"],
            capture_output=True,
            text=True,
            timeout=240,
            env=environ,
        )
        shows.look("the program's output", ended.stdout + ended.stderr)
        return (
            json.loads(ended.stdout)
            if not ended.returncode
            else (ended.stderr)
        )

    return _run


def test_the_custom_resource_sample_scales(
    cluster, namespace, unique, run, tmp_path
):
    """By steps of its aspect, to a level, and by the object (TK-5, TK-20)."""
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
    run("terminate", unique)


@pytest.mark.capi
def test_the_workload_cluster_sample_scales(cluster, namespace, unique, run):
    """The chosen machine goes, and the control plane stays (TK-16, P9)."""

    def machines(label):
        listed = cluster.list_objects(MACHINE, namespace, label)
        return {machine["metadata"]["name"] for machine in listed}

    workers = f"{CAPI}/deployment-name=workload-workers"
    control_plane = f"{CAPI}/control-plane"
    run("instantiate", unique, csar.SAMPLES / "capi_workload_cluster")
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
    run("terminate", unique)
