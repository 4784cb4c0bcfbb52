"""When objects are current, blocked and failed, on real controllers."""

from __future__ import annotations

import base64
import threading
import urllib.parse

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tests.functional import manifests
from tests.functional import unknown_provider
from tools.plane import stages

pytestmark = pytest.mark.plane

DEMO = "demo.example.org"


def widget(size, **spec):
    return manifests.custom(DEMO, "Widget", "w", replicas=1, size=size, **spec)


# -- Custom resources --------------------------------------------------------


@pytest.mark.stages
@pytest.mark.requirement("TK-21", "T5", "P1", "CR-1")
def test_a_controller_that_comes_late_is_waited_for(
    cluster, namespace, make_package, make_request
):
    """Silence is not success, and no old status counts.

    The controller of a slow Widget reports nothing for ten seconds. After the
    change it takes one more; its former status is True all the while.
    """
    ref = ObjectRef(DEMO, "Widget", namespace, "w")

    report = k8s_cr.instantiate(make_request(), make_package(widget("slow")))

    assert 9 < report.seconds
    assert 1 == cluster.get(ref)["status"]["observedGeneration"]

    changed = make_package(widget("small"), name="b")
    report = k8s_cr.change(make_request(), changed)

    assert 2 == cluster.get(ref)["status"]["observedGeneration"]
    assert 0.8 < report.seconds
    k8s_cr.terminate(make_request())


@pytest.mark.requirement("P1", "P2", "C3", "C8")
def test_an_object_without_a_status_is_assessed_by_its_package(
    make_request, make_package, unique_name
):
    """Stored is enough for one, a rule for another, strict the rest.

    None of them has a controller.
    """
    group = f"{unique_name}.example.org"
    created = {objects.PREFIX + "readiness": "exists"}
    rule = {objects.PREFIX + "ready-when": "spec.size=big"}
    package = make_package(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "created", created),
        manifests.custom(group, "Thing", "ruled", rule, size="big"),
        manifests.custom(group, "Thing", "strict"),
    )

    with pytest.raises(errors.ReadinessTimeout) as caught:
        k8s_cr.instantiate(make_request(timeout=4), package)

    assert ["strict"] == [item.ref.name for item in caught.value.pending]
    k8s_cr.terminate(make_request())


# -- What asks for nothing ---------------------------------------------------


@pytest.mark.requirement("T4", "P2", "IN-17")
def test_none_of_something_is_current(make_request, make_package, unique_name):
    """No replicas, no node that matches, no address of its own.

    Nor is a claim waited for that no pod uses, a Job that is not to run, or
    one that is deleted as soon as it is complete.
    """
    none = manifests.deployment("none", replicas=0)
    stateful = {
        **none,
        "kind": "StatefulSet",
        "spec": {**none["spec"], "serviceName": "headless"},
    }
    daemons = manifests.deployment("daemons", None, nodeSelector={"no": "one"})
    package = make_package(
        none,
        stateful,
        {**daemons, "kind": "DaemonSet"},
        job("later", suspend=True),
        job("brief", ttlSecondsAfterFinished=0),
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": unique_name},
            "provisioner": "example.org/absent",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "unused"},
            "spec": {
                "storageClassName": unique_name,
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
        service("elsewhere", type="ExternalName", externalName="example.org"),
        service("headless", clusterIP="None", selector={"app": "none"}),
    )

    report = k8s_cr.instantiate(make_request(), package)

    assert {State.CURRENT} == {row.verdict.state for row in report.objects}
    assert 9 == len(report.objects)
    said = {row.ref.kind: row.verdict.reason for row in report.objects}
    assert "no node matches" == said["DaemonSet"]
    assert "0 replica(s) available" == said["Deployment"]
    k8s_cr.terminate(make_request())


def job(name, **spec):
    container = {"name": "main", "image": "example.org/a:1"}
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": pod}, **spec},
    }


def service(name, **spec):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": spec,
    }


# -- Blocked and failed ------------------------------------------------------


class Kubelet:
    """Plays the kubelet of Pods that no node takes.

    The image of one does not exist. For the other it only repeats events that
    it cannot set up its network.
    """

    def __init__(self, cluster, namespace):
        self._cluster = cluster
        self._namespace = namespace
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._over.set()
        self._thread.join()

    def _work(self):
        told = 0
        while not self._over.wait(0.5):
            told += 1
            for pod in self._cluster.list_objects(
                GroupKind("", "Pod"), self._namespace
            ):
                if pod["metadata"]["labels"]["app"] == "image":
                    self._pull(pod)
                else:
                    self._network(pod, told)

    def _pull(self, pod):
        waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
        container = {
            "name": "main",
            "image": "example.org/a:1",
            "imageID": "",
            "restartCount": 0,
            "ready": False,
            "state": {"waiting": waiting},
        }
        self._cluster.patch(
            ObjectRef.of(pod),
            {"status": {"containerStatuses": [container]}},
            "tests",
            subresource="status",
        )

    def _network(self, pod, told):
        metadata = pod["metadata"]
        about = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": metadata["name"],
            "namespace": self._namespace,
            "uid": metadata["uid"],
        }
        self._cluster.apply(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {
                    "name": f"{metadata['name']}.network",
                    "namespace": self._namespace,
                },
                "involvedObject": about,
                "type": "Warning",
                "reason": "FailedCreatePodSandBox",
                "message": "no such network",
                "count": told,
            },
            "tests",
        )


@pytest.mark.requirement("P11", "C4")
def test_errors_below_an_object_end_the_operation(
    cluster, namespace, make_package, make_request, unique_name
):
    """In the words of what it made, when all have settled.

    The Deployments themselves only say that a replica is not available. One
    that asks for nothing else than time gets it until the deadline.
    """
    nowhere = {"nodeSelector": {"no": "such-node"}}
    bad = {objects.PREFIX + "failed-when": "spec.size=bad"}
    group = f"{unique_name}.example.org"
    package = make_package(
        manifests.deployment("image", **nowhere),
        manifests.deployment("network", **nowhere),
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "failed", bad, size="bad"),
        manifests.config_map("a"),
    )

    with (
        Kubelet(cluster, namespace),
        pytest.raises(errors.ObjectsFailed) as caught,
    ):
        k8s_cr.instantiate(
            make_request(
                options=k8s_cr.Options(stall_timeout=3, on_failure="wait_all")
            ),
            package,
        )

    found = {item.ref.name: item.verdict for item in caught.value.pending}
    assert {
        "image": State.BLOCKED,
        "network": State.BLOCKED,
        "failed": State.FAILED,
    } == {name: verdict.state for name, verdict in found.items()}
    assert "ImagePullBackOff: no such image" in found["image"].reason
    assert "event FailedCreatePodSandBox" in found["network"].reason
    assert "no such network" in found["network"].reason
    k8s_cr.terminate(make_request())


# -- An unknown provider -----------------------------------------------------


@pytest.fixture
def provider(cluster, kubectl, namespace, unique_name, kubeconfig):
    """Its kinds and controllers; the API server is the workload's, too."""
    made = unknown_provider.UnknownProvider(unique_name)
    brought = []

    def bring(*several):
        brought.extend(cluster.create(one, "tests") for one in several)

    bring(*made.definitions(), made.node())
    node = ObjectRef("", "Node", "", made.name)
    kubectl("wait", f"node/{node.name}", "--for=condition=Ready")
    told = {
        "status": {"nodeInfo": {"kubeletVersion": unknown_provider.VERSION}}
    }
    cluster.patch(node, told, "tests", subresource="status")
    kubectl.wait_established(made.definitions())
    stages.wait_published(kubectl, stages.groups(made.stages()))
    bring(*made.stages())
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": f"{unique_name}-kubeconfig",
                "namespace": namespace,
                "labels": {"cluster.x-k8s.io/cluster-name": unique_name},
            },
            "type": "cluster.x-k8s.io/secret",
            "data": {
                "value": base64.b64encode(kubeconfig.read_bytes()).decode()
            },
        },
        "tests",
    )
    yield made
    # A failed test may leave it, and without its provider it would stay.
    where = ("--namespace", namespace, "--ignore-not-found", "--timeout=60s")
    kubectl("delete", "clusters.cluster.x-k8s.io", unique_name, *where)
    for obj in reversed(brought):
        cluster.delete(ObjectRef.of(obj), objects.uid(obj))


@pytest.mark.capi
@pytest.mark.stages
@pytest.mark.requirement("TK-11", "P12", "A2")
def test_a_provider_without_a_handler(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    provider,
    leftover_objects,
):
    """Its clusters live by the contract, without a line of code."""
    server = urllib.parse.urlsplit(cluster.server)
    package = make_package(*provider.package((server.hostname, server.port)))
    machine = GroupKind(
        unknown_provider.INFRASTRUCTURE, provider.kind("Machine")
    )

    report = k8s_cr.instantiate(make_request(), package)

    said = {row.ref.kind: str(row.verdict) for row in report.objects}
    assert "current: Available, 1 worker(s)" == said["Cluster"]
    assert "current: 1 machine(s) ready" == said["MachineDeployment"]
    assert "current: provisioned" == said[provider.kind("Cluster")]
    assert "current: initialized" == said[provider.kind("ControlPlane")]
    assert 1 == len(list(cluster.list_objects(machine, namespace)))

    k8s_cr.terminate(make_request())

    assert [] == list(cluster.list_objects(machine, namespace))
    assert [] == leftover_objects(unique_name, namespace)
