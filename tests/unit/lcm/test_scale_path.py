"""How much of the package it takes to scale a Deployment."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model.objects import ObjectRef
from tests.fakes import FakeCluster
from tests.fakes.workloads import Workloads
from tests.functional import manifests
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
