"""Which files of the package an operation on a Deployment executes."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model.objects import ObjectRef
from tests.fakes import FakeCluster
from tests.fakes.workloads import Workloads
from tests.functional import manifests
from tests.tracer import PACKAGE
from tests.tracer import Tracer
from tests.unit.packages import make_package

WEB = ObjectRef("apps", "Deployment", "default", "web")
FILES = 22
"""At most, with the API server played by the fake cluster."""


@pytest.fixture
def cluster(clock):
    return FakeCluster(Workloads(), idle=clock.idle)


def test_a_scale_of_a_deployment_passes_few_files(cluster, operation_args):
    """From 1 to 3 replicas, below the front ends."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(manifests.deployment("web", 1)),
    )
    with Tracer() as traced:
        lcm.scale(lcm.Request(cluster, "one", **operation_args), {WEB: 3})

    assert 3 == cluster.get(WEB)["spec"]["replicas"]
    assert FILES >= len(traced.files), sorted(traced.files)


CLUSTER_API_ONLY = {
    "engine/kubernetes_versions.py",
    "engine/topology_targets.py",
    "lcm/changing/version_step.py",
    "lcm/execution/template_retention.py",
    "lcm/healing/remediation.py",
    "lcm/machines/machine_healing.py",
    "lcm/machines/machine_scaling.py",
    "lcm/machines/machine_selection.py",
}


@pytest.mark.parametrize("operation", ["scale", "change", "heal"])
def test_a_deployment_passes_no_file_of_cluster_api(
    cluster, operation_args, operation
):
    """Its strategy is selected once, and not checked in each step."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(manifests.deployment("web", 1)),
    )
    changed = make_package(manifests.deployment("web", 1, hostname="a"))
    request = lcm.Request(cluster, "one", **operation_args)
    run = {
        "scale": lambda: lcm.scale(request, {WEB: 3}),
        "change": lambda: lcm.change(request, changed),
        "heal": lambda: lcm.heal(request),
    }

    with Tracer() as traced:
        report = run[operation]()

    assert report.objects
    assert set() == CLUSTER_API_ONLY & traced.files.keys()


def test_the_files_of_cluster_api_exist():
    """The list of files names none that was moved."""
    assert [] == [
        path for path in CLUSTER_API_ONLY if not (PACKAGE / path).is_file()
    ]
