"""Built-in kinds as packages use them, on a real API server."""

from __future__ import annotations

import json

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tests.functional import manifests

pytestmark = pytest.mark.plane

RBAC = "rbac.authorization.k8s.io"


class Recorder:
    """A cluster that notes the names of the objects that are written."""

    def __init__(self, cluster, written=None):
        self._cluster = cluster
        self.written = [] if written is None else written

    def __getattr__(self, name):
        return getattr(self._cluster, name)

    def with_deadline(self, deadline):
        return Recorder(self._cluster.with_deadline(deadline), self.written)

    def apply(self, manifest, manager, *, dry_run=False, **more):
        if not dry_run:
            self.written.append(ObjectRef.of(manifest))
        return self._cluster.apply(manifest, manager, dry_run=dry_run, **more)

    def create(self, manifest, manager):
        self.written.append(ObjectRef.of(manifest))
        return self._cluster.create(manifest, manager)

    def order(self, *kinds):
        """The kinds in the order in which their objects were written."""
        return [ref.kind for ref in self.written if ref.kind in kinds]


def service(name, **spec):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, **spec},
    }


def port(name, number, protocol="TCP", **more):
    return {"name": name, "port": number, "protocol": protocol, **more}


def account(name):
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name},
    }


RULES = [
    {
        "apiGroups": ["apps"],
        "resources": ["deployments"],
        "verbs": ["get", "list"],
    },
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["watch"]},
]


def cluster_role(name):
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": RULES,
    }


def cluster_role_binding(name, namespace):
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {
            "apiGroup": RBAC,
            "kind": "ClusterRole",
            "name": name,
        },
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": "reader",
                "namespace": namespace,
            }
        ],
    }


# -- Namespaces and labels ----------------------------------------------------


@pytest.mark.requirement("IN-5")
def test_a_namespace_is_created_first_with_its_labels(
    cluster, make_package, make_request, unique_name, terminate
):
    """Before the objects inside, although it comes last in the package."""
    labels = {"example.org/tenant": "edge", "example.org/stage": "lab"}
    home = manifests.namespace(unique_name)
    home["metadata"]["labels"] = labels
    recorder = Recorder(cluster)
    package = make_package(
        manifests.config_map("a", unique_name),
        {**account("b"), "metadata": {"name": "b", "namespace": unique_name}},
        home,
    )

    k8s_cr.instantiate(make_request(recorder), package)

    live = cluster.get(ObjectRef("", "Namespace", "", unique_name))
    assert labels.items() <= live["metadata"]["labels"].items()
    ordered = recorder.order("Namespace", "ConfigMap", "ServiceAccount")
    assert "Namespace" == ordered[0]
    assert {"ConfigMap", "ServiceAccount"} == set(ordered[1:])
    terminate()


@pytest.mark.requirement("IN-10")
def test_every_object_has_the_labels_of_the_caller_and_of_its_owner(
    cluster, namespace, make_package, make_request, unique_name, terminate
):
    """Beside those of its manifest; also in no namespace, and in another."""
    said = {"example.org/order": unique_name}
    own = {"example.org/part": "settings"}
    settings = manifests.config_map("a")
    settings["metadata"]["labels"] = own
    package = make_package(
        settings,
        manifests.namespace(unique_name),
        manifests.config_map("b", unique_name),
        manifests.deployment("web"),
        service("web", ports=[port("http", 80)]),
        account("reader"),
        cluster_role(unique_name),
    )
    owner = {"k8s-cr.tacker.openstack.org/instance": unique_name}

    report = k8s_cr.instantiate(
        make_request(), package, policy=Policy(labels=said)
    )

    assert 7 == len(report.objects)
    for row in report.objects:
        labels = cluster.get(row.ref)["metadata"]["labels"]
        assert {**said, **owner}.items() <= labels.items(), row.ref
    live = cluster.get(ObjectRef("", "ConfigMap", namespace, "a"))
    assert own.items() <= live["metadata"]["labels"].items()
    terminate()


# -- Services -----------------------------------------------------------------


@pytest.mark.requirement("IN-15")
def test_all_named_ports_of_a_service_are_kept_by_an_update(
    cluster, namespace, make_package, make_request, terminate
):
    """Two protocols on one number as well, which a merge by number loses."""
    ref = ObjectRef("", "Service", namespace, "signalling")
    before = [
        port("sip", 5060),
        port("sip-udp", 5060, "UDP"),
        port("management", 8080),
    ]
    after = [
        port("sip", 5060),
        port("sip-udp", 5060, "UDP"),
        port("management", 8081),
        port("media", 5004, "UDP"),
    ]

    def ports():
        listed = cluster.get(ref)["spec"]["ports"]
        keys = ("name", "port", "protocol")
        return [{key: item[key] for key in keys} for item in listed]

    k8s_cr.instantiate(
        make_request(), make_package(service("signalling", ports=before))
    )
    live = cluster.get(ref)["spec"]
    assert "ClusterIP" == live["type"]
    assert before == ports()

    k8s_cr.change(
        make_request(),
        make_package(service("signalling", ports=after), name="b"),
    )

    assert after == ports()
    assert live["clusterIP"] == cluster.get(ref)["spec"]["clusterIP"]
    terminate()


@pytest.fixture
def node_port(cluster):
    """A number of the usual range that no Service has."""
    listed = cluster.list_objects(GroupKind("", "Service"), "")
    taken = {
        item.get("nodePort")
        for obj in listed
        for item in obj["spec"].get("ports", ())
    }
    return next(n for n in range(32767, 30000, -1) if n not in taken)


@pytest.mark.requirement("IN-16")
def test_a_node_port_of_the_package_is_used(
    cluster, namespace, make_package, make_request, node_port, terminate
):
    """Of a Service with SCTP; a change of something else leaves it."""
    ref = ObjectRef("", "Service", namespace, "core")

    def package(number, name):
        ports = [port("ngap", number, "SCTP", nodePort=node_port)]
        return make_package(
            service("core", type="NodePort", ports=ports), name=name
        )

    def given():
        [found] = cluster.get(ref)["spec"]["ports"]
        return found["nodePort"], found["protocol"], found["port"]

    k8s_cr.instantiate(make_request(), package(38412, "a"))
    assert (node_port, "SCTP", 38412) == given()
    k8s_cr.change(make_request(), package(38413, "b"))
    assert (node_port, "SCTP", 38413) == given()
    terminate()


@pytest.mark.requirement("IN-16")
def test_an_allocated_node_port_is_named(
    cluster, namespace, make_package, make_request, node_port
):
    """With the Service that asks for it; nothing of the package is left."""
    taken = service(
        "first",
        type="NodePort",
        ports=[port("ngap", 38412, "SCTP", nodePort=node_port)],
    )
    taken["metadata"]["namespace"] = namespace
    cluster.create(taken, "tests")
    ports = [port("ngap", 38412, "SCTP", nodePort=node_port)]
    package = make_package(
        manifests.config_map("a"),
        service("second", type="NodePort", ports=ports),
    )

    with pytest.raises(errors.Rejected) as caught:
        k8s_cr.instantiate(make_request(), package)

    said = str(caught.value)
    assert f"Service/{namespace}/second" in said
    assert str(node_port) in said
    assert "already allocated" in said
    for ref in (
        ObjectRef("", "ConfigMap", namespace, "a"),
        ObjectRef("", "Service", namespace, "second"),
    ):
        assert cluster.get(ref) is None


# -- Roles of the whole cluster -----------------------------------------------


@pytest.mark.requirement("IN-19")
def test_a_cluster_role_needs_a_policy_that_permits_it(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    restricted_cluster,
):
    """The rules of RBAC; without permission nothing at all is written.

    With permission the role has all rules of its manifest: groups,
    resources and verbs.
    """
    package = make_package(
        manifests.config_map("a"), cluster_role(unique_name)
    )
    ref = ObjectRef(RBAC, "ClusterRole", "", unique_name)
    settings = ObjectRef("", "ConfigMap", namespace, "a")

    with pytest.raises(errors.PermissionsMissing) as caught:
        k8s_cr.instantiate(make_request(restricted_cluster()), package)

    assert "clusterroles" in str(caught.value)
    assert cluster.get(ref) is None
    assert cluster.get(settings) is None

    verbs = ["get", "list", "watch", "create", "patch", "delete"]
    permitted = restricted_cluster(
        cluster_rules=[
            {
                "apiGroups": [RBAC],
                "resources": ["clusterroles"],
                "verbs": [*verbs, "escalate"],
            }
        ]
    )
    k8s_cr.instantiate(make_request(permitted), package)
    assert RULES == cluster.get(ref)["rules"]
    k8s_cr.terminate(make_request(permitted))
    assert cluster.get(ref) is None


@pytest.mark.requirement("IN-20")
def test_a_cluster_role_binding_comes_after_its_role_and_its_account(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    kubectl,
    terminate,
):
    """The account has the role's permissions; all is deleted at the end."""
    recorder = Recorder(cluster)
    package = make_package(
        cluster_role_binding(unique_name, namespace),
        account("reader"),
        cluster_role(unique_name),
    )
    kinds = ("ClusterRole", "ServiceAccount", "ClusterRoleBinding")

    k8s_cr.instantiate(make_request(recorder), package)

    ordered = recorder.order(*kinds)
    assert set(kinds) == set(ordered)
    assert "ClusterRoleBinding" == ordered[-1]
    impersonated = f"--as=system:serviceaccount:{namespace}:reader"
    allowed = kubectl.run(
        "auth", "can-i", "list", "deployments.apps", "-A", impersonated
    )
    assert 0 == allowed.returncode, allowed.stderr
    terminate()
    refused = kubectl.run(
        "auth", "can-i", "list", "deployments.apps", "-A", impersonated
    )
    assert refused.returncode


# -- Pods ---------------------------------------------------------------------


CNI = {
    "k8s.v1.cni.cncf.io/networks": json.dumps(
        [
            {
                "name": "n2",
                "interface": "n2",
                "ips": ["192.0.2.10/24"],
                "gateway": ["192.0.2.1"],
            }
        ]
    ),
    "cni.projectcalico.org/ipAddrs": '["198.51.100.7"]',
}
"""How a Pod asks Multus and Calico for a fixed address."""


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
@pytest.mark.requirement("IN-26")
def test_annotations_of_a_pod_template_are_not_touched(
    cluster, namespace, make_package, make_request, kind, terminate
):
    """Its Pods ask the CNI for their fixed address, word for word.

    A change of the package that leaves them alone does so as well.
    """
    workload = manifests.deployment("amf")
    workload["kind"] = kind
    workload["spec"]["template"]["metadata"]["annotations"] = dict(CNI)
    if kind == "DaemonSet":
        del workload["spec"]["replicas"]
    if kind == "StatefulSet":
        workload["spec"]["serviceName"] = "amf"
    ref = ObjectRef("apps", kind, namespace, "amf")

    def annotations():
        template = cluster.get(ref)["spec"]["template"]
        return template["metadata"]["annotations"]

    k8s_cr.instantiate(make_request(), make_package(workload))

    assert annotations() == CNI
    pods = list(
        cluster.list_objects(GroupKind("", "Pod"), namespace, "app=amf")
    )
    assert pods
    for pod in pods:
        assert CNI.items() <= pod["metadata"]["annotations"].items()
    k8s_cr.change(
        make_request(),
        make_package(workload, manifests.config_map("more"), name="b"),
    )
    assert annotations() == CNI
    terminate()


# -- Six kinds, three verbs ---------------------------------------------------


def pod(name):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "example.org/a:1"}]},
    }


def secret(name):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": {"key": "planted-first"},
    }


def edited(manifest, **parts):
    return {**manifest, **parts}


def labelled(manifest):
    """With another label, which is what a kind without a spec can change."""
    metadata = {**manifest["metadata"], "labels": {"edited": "yes"}}
    return edited(manifest, metadata=metadata)


SYNCED = {
    "ConfigMap": (
        manifests.config_map("one"),
        lambda obj: edited(obj, data={"key": "other"}),
        lambda obj: {"key": "other"} == obj["data"],
    ),
    "Secret": (
        secret("one"),
        lambda obj: edited(obj, stringData={"key": "planted-other"}),
        # In base64.
        lambda obj: {"key": "cGxhbnRlZC1vdGhlcg=="} == obj["data"],
    ),
    "Pod": (
        pod("one"),
        lambda obj: edited(
            obj,
            spec={
                "containers": [{"name": "main", "image": "example.org/a:2"}]
            },
        ),
        lambda obj: "example.org/a:2" == obj["spec"]["containers"][0]["image"],
    ),
    "ServiceAccount": (
        account("one"),
        lambda obj: edited(obj, imagePullSecrets=[{"name": "pull"}]),
        lambda obj: [{"name": "pull"}] == obj["imagePullSecrets"],
    ),
    "Service": (
        service("one", ports=[port("http", 80)]),
        lambda obj: service("one", ports=[port("http", 8080)]),
        lambda obj: [8080] == [p["port"] for p in obj["spec"]["ports"]],
    ),
    "Namespace": (
        manifests.namespace("one"),
        labelled,
        lambda obj: "yes" == obj["metadata"]["labels"]["edited"],
    ),
}
"""By kind: a manifest, what edits it, and whether a live object is edited."""


@pytest.mark.parametrize("kind", SYNCED)
@pytest.mark.requirement("XO-18")
def test_an_object_is_created_updated_and_deleted(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    kind,
    terminate,
):
    """The same object all the while, and no longer there at the end."""
    first, edit, is_edited = SYNCED[kind]
    where = namespace
    if kind == "Namespace":
        first, where = manifests.namespace(unique_name), ""
    ref = ObjectRef("", kind, where, first["metadata"]["name"])

    created = k8s_cr.instantiate(make_request(), make_package(first))
    live = cluster.get(ref)
    assert [ref] == [row.ref for row in created.objects]
    assert ["created"] == [row.action.value for row in created.objects]

    updated = k8s_cr.change(
        make_request(), make_package(edit(first), name="b")
    )
    now = cluster.get(ref)
    assert ["configured"] == [row.action.value for row in updated.objects]
    assert is_edited(now)
    assert objects.uid(live) == objects.uid(now)

    deleted = terminate()
    assert ["deleted"] == [row.action.value for row in deleted.objects]
    assert cluster.get(ref) is None
