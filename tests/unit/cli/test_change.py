"""What a change prints before it acts."""

from __future__ import annotations

import json

import pytest

from tacker_k8s_cr.model.objects import ObjectRef
from tests.fakes.cluster import FakeCluster
from tests.functional import manifests
from tests.unit.cli.run_program import run
from tests.unit.packages import STORED

GROUP = "controlplane.cluster.x-k8s.io"
LEADER = ObjectRef(GROUP, "KubeadmControlPlane", "default", "leader")


def control_plane(version):
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": LEADER.kind,
        "metadata": {"name": LEADER.name, "annotations": dict(STORED)},
        "spec": {"replicas": 3, "version": version},
    }


@pytest.mark.requirement("P9")
def test_machines_that_are_replaced_are_printed_with_the_reason():
    """On standard error: the object, how many Machines, and the fields."""
    cluster = FakeCluster()
    kind = manifests.definition(GROUP, LEADER.kind, status=False)
    kind["spec"]["versions"][0]["name"] = "v1beta2"
    machine = manifests.definition("cluster.x-k8s.io", "Machine")
    for found in (kind, machine):
        cluster.apply(found, "other-manager")

    def program(command, version):
        code, _, err = run(
            *(command, "one", "-"),
            connect=lambda *args, **how: cluster,
            stdin=json.dumps(control_plane(version)).encode(),
        )
        assert 0 == code, err
        return err.splitlines()

    program("instantiate", "v1.35.0")
    lines = program("change", "v1.36.0")

    (line,) = (line for line in lines if "are replaced" in line)
    assert line.startswith(f"{LEADER}: 3 machine(s) are replaced: ")
    assert "spec.version: v1.35.0 -> v1.36.0" in line
    assert "v1.36.0" == cluster.get(LEADER)["spec"]["version"]
