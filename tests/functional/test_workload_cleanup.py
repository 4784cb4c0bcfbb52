"""A workload cluster is cleared before its Cluster is deleted."""

from __future__ import annotations

import pathlib

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube import workload_kubeconfig
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tests import hosted_cluster

pytestmark = [pytest.mark.plane, pytest.mark.capi]

SAMPLE = (
    pathlib.Path(__file__).parents[2]
    / "samples/vnf_packages/capi_workload_cluster"
)
CAPI = "cluster.x-k8s.io"
HELD = "example.org/cloud"
BY_CLOUD = "service.kubernetes.io/load-balancer-cleanup"
SHIFT = 2000
"""Of the ports of the second control plane."""


def service(name, sort):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"type": sort, "ports": [{"port": 80}]},
    }


@pytest.fixture
def instance(make_request, unique_name):
    """An instance of the sample, and its workload cluster's Secret."""
    k8s_cr.instantiate(make_request(timeout=300), k8s_cr.load(SAMPLE))
    return unique_name


@pytest.mark.requirement("P18", "F7")
def test_a_cluster_ends_clean_and_leaves_no_load_balancer(
    cluster, namespace, instance, make_request, leftover_objects
):
    """The package that Helm can never remove again.

    On request, load balancers are deleted first, while the cluster's
    controllers can still release their cloud resources. Until they are deleted
    the Cluster is not changed.
    """
    ref = ObjectRef(CAPI, "Cluster", namespace, "workload")
    secret = cluster.get(workload_kubeconfig.secret_ref(ref))
    far = k8s_cr.connect(kubeconfig=workload_kubeconfig.kubeconfig_of(secret))
    balancer = ObjectRef("", "Service", "default", "balancer")
    held = service("balancer", "LoadBalancer")
    held["metadata"]["finalizers"] = [HELD]
    far.create(held, "tests")
    far.create(service("inside", "ClusterIP"), "tests")
    options = k8s_cr.Options(cleanup=frozenset({"services"}))
    seen = []

    with pytest.raises(errors.CleanupFailed, match="balancer") as caught:
        k8s_cr.terminate(make_request(timeout=12, options=options))

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
            # This server would process it some time later.
            far.delete(balancer, "")
        if ref in progress.awaited and len(seen) == 1:
            seen.append(far.get(balancer))
            seen.append(far.get(ObjectRef("", "Service", "default", "inside")))

    report = k8s_cr.terminate(
        make_request(timeout=240, options=options, on_progress=play)
    )

    uid, left, other = seen
    assert metadata["uid"] == uid
    assert None is left
    assert other
    assert None is cluster.get(ref)
    assert [] == leftover_objects(instance, namespace)
    assert {"deleted"} == {row.action.value for row in report.objects}
    far.close()


# -- In a real one -----------------------------------------------------------


@pytest.fixture(scope="module")
def workload_plane(tmp_path_factory):
    """A second control plane, with its own controllers and a node."""
    with hosted_cluster.start_plane(
        tmp_path_factory.mktemp("workload"), SHIFT
    ) as plane:
        yield plane


@pytest.fixture
def workload_cluster(workload_plane):
    path = str(workload_plane.folders.kubeconfig)
    connected = k8s_cr.connect(kubeconfig=path)
    yield connected
    connected.close()


def volume(name, folder, claim):
    """One that Kubernetes' own controller removes with its claim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "finalizers": [HELD]},
        "spec": {
            "capacity": {"storage": "1Mi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"namespace": "default", "name": claim},
            "hostPath": {"path": folder},
        },
    }


def database():
    labels = {"app": "db"}
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "1Mi"}},
        },
    }
    mount = {"name": "data", "mountPath": "/data"}
    container = {
        "name": "a",
        "image": "example.org/a",
        "volumeMounts": [mount],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container]},
            },
            "volumeClaimTemplates": [claim],
        },
    }


def until(true):
    limit = k8s_cr.Deadline.after(30)
    while not true():
        assert not limit.expired


@pytest.mark.requirement("P18", "F7")
def test_load_balancers_and_claims_are_deleted_before_a_real_cluster(
    cluster,
    kubectl,
    namespace,
    unique_name,
    make_package,
    make_request,
    workload_cluster,
    workload_plane,
    leftover_objects,
):
    """Cloud resources are released while their controllers run.

    The controllers of the workload cluster take away its Pods, its claims and
    its volumes; the test plays the cloud's. A repeated termination waits for
    the objects whose deletion the first one requested and that still exist.
    """
    hosted_cluster.definitions(kubectl)
    cluster.create(
        hosted_cluster.kubeconfig_secret(
            unique_name, namespace, workload_plane
        ),
        "t",
    )
    package = make_package(*hosted_cluster.manifests(unique_name, SHIFT))
    k8s_cr.instantiate(make_request(timeout=120), package)
    balancer = service("balancer", "LoadBalancer")
    balancer["metadata"]["finalizers"] = [BY_CLOUD]
    folder = f"/tmp/{unique_name}"  # elsewhere Kubernetes removes none
    for obj in (
        balancer,
        volume(unique_name, folder, "data-db-0"),
        database(),
    ):
        workload_cluster.create(obj, "tests")
    balancer, disk, claim, pod, db = (
        ObjectRef("", "Service", "default", "balancer"),
        ObjectRef("", "PersistentVolume", "", unique_name),
        ObjectRef("", "PersistentVolumeClaim", "default", "data-db-0"),
        ObjectRef("", "Pod", "default", "db-0"),
        ObjectRef("apps", "StatefulSet", "default", "db"),
    )
    until(lambda: phase(workload_cluster, claim) == "Bound")
    until(lambda: phase(workload_cluster, pod) == "Running")
    ref = ObjectRef(CAPI, "Cluster", namespace, unique_name)
    options = k8s_cr.Options(
        cleanup=frozenset({"services", "persistentvolumeclaims"})
    )

    def ended(seconds, **kwargs):
        return k8s_cr.terminate(
            make_request(timeout=seconds, options=options), **kwargs
        )

    with pytest.raises(errors.CleanupFailed, match="balancer") as caught:
        ended(4)

    assert f"{BY_CLOUD}: the controller of the cloud" in str(caught.value)
    assert workload_cluster.get(claim)
    workload_cluster.patch(
        balancer, {"metadata": {"finalizers": None}}, "cloud"
    )

    # The claim goes, and its volume is held: twice, and told each time.
    for _ in range(2):
        with pytest.raises(errors.CleanupFailed, match=unique_name) as caught:
            ended(6)
        assert HELD in str(caught.value)
        assert [None] * 4 == list(
            map(workload_cluster.get, (balancer, claim, pod, db))
        )
        assert "deletionTimestamp" not in cluster.get(ref)["metadata"]

    workload_cluster.patch(disk, {"metadata": {"finalizers": None}}, "cloud")
    ended(120)

    assert None is workload_cluster.get(disk)
    assert None is cluster.get(ref)
    secret = workload_kubeconfig.secret_ref(ref)
    assert cluster.get(secret)
    assert [] == leftover_objects(unique_name, namespace)


def phase(far, ref):
    return objects.field(far.get(ref), ("status", "phase"))
