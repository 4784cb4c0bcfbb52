"""How much of the package it takes to scale one object of a kind.

The figures are those of the performance page. They contain the client of the
API server, the package ``kube``, which is the same for all kinds. Show them
with ``--log-cli-level=info``.
"""

from __future__ import annotations

import copy
import logging

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tests.functional import manifests
from tests.functional import topology_cluster
from tests.functional.test_cluster_api import CAPI
from tests.functional.test_cluster_api import SAMPLE
from tests.tracer import Tracer

pytestmark = pytest.mark.plane

LOG = logging.getLogger(__name__)

CREATED = {objects.PREFIX + "readiness": "exists"}


@pytest.fixture
def traced(kubeconfig, namespace, make_request, record_property):
    """Return the files of a scale to 3, on a connection of its own."""
    cluster = k8s_cr.connect(kubeconfig=str(kubeconfig))

    def scaled(package, group, kind, name):
        k8s_cr.instantiate(make_request(cluster), package)
        ref = ObjectRef(group, kind, namespace, name)
        with Tracer() as tracer:
            k8s_cr.scale(make_request(cluster), {ref: 3})
        k8s_cr.terminate(make_request(cluster))
        client = sum(name.startswith("kube/") for name in tracer.files)
        figures = {
            "files": len(tracer.files) - client,
            "client_files": client,
            "functions": tracer.functions,
        }
        for name, figure in figures.items():
            record_property(name, figure)
        LOG.info("%s: %s, %s", kind, figures, ", ".join(tracer.files))
        return tracer.files

    yield scaled
    cluster.close()


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_workload(traced, make_package, kind):
    """Nothing of Cluster API is executed for it."""
    workload = copy.deepcopy(manifests.deployment("web", 1))
    workload["kind"] = kind
    if kind == "StatefulSet":
        workload["spec"]["serviceName"] = "web"

    files = traced(make_package(workload), "apps", kind, "web")

    assert not [name for name in files if "machine" in name or "capi" in name]


def test_a_custom_resource(traced, make_package, unique_name):
    """Its definition contains the path of its replica count."""
    group = f"{unique_name}.example.org"
    package = make_package(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "one", CREATED, replicas=1),
    )

    files = traced(package, group, "Thing", "one")

    assert not [name for name in files if name.startswith("lcm/machine")]
    assert "engine/topology_scaling.py" not in files


@pytest.mark.capi
def test_a_machine_deployment(traced):
    """Its Machines are judged by the rules of Cluster API."""
    package = k8s_cr.load(SAMPLE)

    files = traced(package, CAPI, "MachineDeployment", "workload-workers")

    assert "kinds/capi/machines.py" in files


@pytest.mark.capi
def test_a_machine_deployment_of_a_topology(traced, make_package):
    """Its replica count is in the Cluster."""
    package = make_package(
        *topology_cluster.cluster_class(),
        topology_cluster.cluster("workload", md_0=1),
    )

    entry = "workload:machineDeployments.md-0"
    files = traced(package, CAPI, "Cluster", entry)

    assert "kinds/topology_replicas.py" in files
