"""A workload cluster is cleared before its Cluster is deleted."""

from __future__ import annotations

import pathlib

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import workload
from tacker_k8s_cr.objects import ObjectRef

pytestmark = [pytest.mark.plane, pytest.mark.capi]

SAMPLE = (
    pathlib.Path(__file__).parents[2]
    / "samples/vnf_packages/capi_workload_cluster"
)
CAPI = "cluster.x-k8s.io"
HELD = "example.org/cloud"


def service(name, sort):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"type": sort, "ports": [{"port": 80}]},
    }


@pytest.fixture
def life(namespace):
    def within(seconds):
        deadline = k8s_cr.Deadline.after(seconds)
        return {"namespace": namespace, "deadline": deadline}

    return within


@pytest.fixture
def instance(cluster, unique, life):
    """An instance of the sample, and its workload cluster's Secret."""
    k8s_cr.instantiate(cluster, unique, k8s_cr.load(SAMPLE), **life(300))
    return unique


def test_a_cluster_ends_clean_and_leaves_no_load_balancer(
    cluster, namespace, instance, life, traces
):
    """The package that Helm can never remove again (T13, P16, F1, F3).

    Asked for, load balancers go first, while the cluster's controllers can
    still give back what they have in a cloud (P18, F7). Until they are gone
    the Cluster is not touched (P17).
    """
    ref = ObjectRef(CAPI, "Cluster", namespace, "workload")
    secret = cluster.get(workload.secret_ref(ref))
    far = k8s_cr.connect(kubeconfig=workload.kubeconfig_of(secret))
    balancer = ObjectRef("", "Service", "default", "balancer")
    held = service("balancer", "LoadBalancer")
    held["metadata"]["finalizers"] = [HELD]
    far.create(held, "tests")
    far.create(service("inside", "ClusterIP"), "tests")
    options = k8s_cr.Options(clear=frozenset({"load-balancers"}))
    seen = []

    with pytest.raises(errors.NotCleared, match="balancer") as caught:
        k8s_cr.terminate(cluster, instance, options=options, **life(12))

    assert ref == caught.value.ref
    assert HELD in str(caught.value)
    assert "deletionTimestamp" in far.get(balancer)["metadata"]
    metadata = cluster.get(ref)["metadata"]
    assert "deletionTimestamp" not in metadata

    def play(progress):
        # The test plays the controller of the cloud.
        if balancer in progress.awaited and not seen:
            seen.append(objects.uid(cluster.get(ref)))
            far.patch(balancer, {"metadata": {"finalizers": None}}, "tests")
            # This server would look at it some time later.
            far.delete(balancer, "")
        if ref in progress.awaited and len(seen) == 1:
            seen.append(far.get(balancer))
            seen.append(far.get(ObjectRef("", "Service", "default", "inside")))

    report = k8s_cr.terminate(
        cluster, instance, options=options, listen=play, **life(240)
    )

    uid, left, other = seen
    assert metadata["uid"] == uid
    assert None is left
    assert other
    assert None is cluster.get(ref)
    assert [] == traces(instance, namespace)
    assert {"deleted"} == {row.action.value for row in report.rows}
    far.close()
