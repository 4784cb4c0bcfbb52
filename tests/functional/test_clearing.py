"""A workload cluster is cleared before its Cluster is deleted."""

from __future__ import annotations

import pathlib

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import workload
from tacker_k8s_cr.objects import ObjectRef
from tests import hosted

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


# -- In a real one -----------------------------------------------------------


@pytest.fixture(scope="module")
def workload_plane(tmp_path_factory):
    """A second control plane, with its own controllers and a node."""
    with hosted.plane(tmp_path_factory.mktemp("workload"), SHIFT) as plane:
        yield plane


@pytest.fixture
def far(workload_plane):
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
        assert not limit.passed


def test_load_balancers_and_claims_go_before_a_real_cluster(
    cluster,
    kubectl,
    namespace,
    unique,
    packed,
    life,
    far,
    workload_plane,
    traces,
):
    """What a cloud has is given back while its controllers run (P18, F7).

    The controllers of the workload cluster take away its Pods, its claims and
    its volumes; the test plays the cloud's. An end that is repeated waits for
    what the first one has asked to go and that is still there.
    """
    hosted.known(kubectl)
    cluster.create(hosted.secret(unique, namespace, workload_plane), "t")
    package = packed(*hosted.manifests(unique, SHIFT))
    k8s_cr.instantiate(cluster, unique, package, **life(120))
    balancer = service("balancer", "LoadBalancer")
    balancer["metadata"]["finalizers"] = [BY_CLOUD]
    folder = f"/tmp/{unique}"  # elsewhere Kubernetes removes none
    for obj in (balancer, volume(unique, folder, "data-db-0"), database()):
        far.create(obj, "tests")
    balancer, disk, claim, pod, db = (
        ObjectRef("", "Service", "default", "balancer"),
        ObjectRef("", "PersistentVolume", "", unique),
        ObjectRef("", "PersistentVolumeClaim", "default", "data-db-0"),
        ObjectRef("", "Pod", "default", "db-0"),
        ObjectRef("apps", "StatefulSet", "default", "db"),
    )
    until(lambda: phase(far, claim) == "Bound")
    until(lambda: phase(far, pod) == "Running")
    ref = ObjectRef(CAPI, "Cluster", namespace, unique)
    options = k8s_cr.Options(clear=frozenset({"load-balancers", "claims"}))

    def ended(seconds, **kwargs):
        return k8s_cr.terminate(
            cluster, unique, options=options, **life(seconds), **kwargs
        )

    with pytest.raises(errors.NotCleared, match="balancer") as caught:
        ended(4)

    assert f"{BY_CLOUD}: the controller of the cloud" in str(caught.value)
    assert far.get(claim)
    far.patch(balancer, {"metadata": {"finalizers": None}}, "cloud")

    # The claim goes, and its volume is held: twice, and told each time.
    for _ in range(2):
        with pytest.raises(errors.NotCleared, match=unique) as caught:
            ended(6)
        assert HELD in str(caught.value)
        assert [None] * 4 == list(map(far.get, (balancer, claim, pod, db)))
        assert "deletionTimestamp" not in cluster.get(ref)["metadata"]

    far.patch(disk, {"metadata": {"finalizers": None}}, "cloud")
    ended(120)

    assert None is far.get(disk)
    assert None is cluster.get(ref)
    secret = workload.secret_ref(ref)
    assert cluster.get(secret)
    assert [] == traces(unique, namespace)


def phase(far, ref):
    return objects.field(far.get(ref), ("status", "phase"))
