"""Whose words explain an object that does not settle."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import plugin_guard
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import PendingObject
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.wait.diagnostics import explain
from tests.fakes import FakeCluster
from tests.functional import manifests

WEB = ObjectRef("apps", "Deployment", "default", "web")
SET = ObjectRef("apps", "ReplicaSet", "default", "web-1")
CAPI = "cluster.x-k8s.io"
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"


@pytest.fixture
def cluster():
    return FakeCluster()


def made(cluster, manifest, owner=None, **metadata):
    found = {**manifest["metadata"], "namespace": "default", **metadata}
    if owner:
        obj = cluster.world.objects[owner].obj
        found["ownerReferences"] = [
            {
                "apiVersion": obj["apiVersion"],
                "kind": owner.kind,
                "name": owner.name,
                "uid": objects.uid(obj),
            }
        ]
    return cluster.create({**manifest, "metadata": found}, "other-manager")


def replica_set(name):
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}},
    }


def pod(name):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {},
    }


def warned(cluster, ref, reason, seen=""):
    uid = objects.uid(cluster.world.objects[ref].obj)
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{ref.name}.{reason}"},
        "involvedObject": {"uid": uid},
        "type": "Warning",
        "reason": reason,
        "message": "as reported",
        **({"lastTimestamp": seen} if seen else {}),
    }
    made(cluster, event)


def notes(cluster, ref):
    item = PendingObject(ref, Verdict(State.IN_PROGRESS, "so it is"), 1.0)
    (found,) = explain.with_explanations(cluster, kinds.BUILT_IN, [item])
    return found.notes


@pytest.fixture
def web(cluster):
    """A Deployment with a ReplicaSet, that with a Pod; all tell of trouble."""
    made(cluster, manifests.deployment("web"))
    made(cluster, replica_set("web-1"), WEB)
    made(cluster, pod("web-1-1"), SET)
    warned(cluster, WEB, "Own")
    warned(cluster, SET, "FailedCreate")


def about(found, name):
    return [note for note in found if name in note]


@pytest.mark.requirement("P14")
def test_events_of_all_descendants_are_shown(cluster, web):
    """Its own events, what it made, and what that made."""
    found = notes(cluster, WEB)

    assert about(found, "event Own")
    assert about(found, "ReplicaSet.apps/default/web-1: event FailedCreate")
    assert about(found, "Pod/default/web-1-1: in progress")


@pytest.mark.requirement("P14")
def test_the_last_three_warning_events_of_an_object_are_reported(cluster):
    """Earlier ones are left out."""
    made(cluster, manifests.deployment("web"))
    for number in range(5):
        warned(cluster, WEB, f"Reason{number}", f"2026-01-01T00:0{number}:00Z")

    found = [note for note in notes(cluster, WEB) if "event Reason" in note]

    assert {"Reason2", "Reason3", "Reason4"} == {
        note.split("event ")[1].split()[0].rstrip(":,") for note in found
    }


def test_an_error_of_a_handler_below_is_reported_with_the_rest(cluster, web):
    """It explains nothing, and hides neither the error nor the events."""

    def stumbles(obj):
        raise LookupError

    kind = GroupKind("apps", "ReplicaSet")
    registry = kinds.BUILT_IN.with_handlers(
        {kind: plugin_guard.guard(Handler(stumbles, name="mine"))}
    )
    item = PendingObject(WEB, Verdict(State.IN_PROGRESS, "so it is"), 1.0)

    (found,) = explain.with_explanations(cluster, registry, [item])

    assert about(found.notes, "event Own")
    assert about(
        found.notes,
        "point mine: ReplicaSet.apps/default/web-1: assess raised LookupError",
    )


def test_events_that_may_not_be_read_hide_nothing_else(cluster, web):
    """The messages of what it created are shown anyway."""
    refused = errors.Forbidden("list", "events", "default", "no")
    for _ in range(3):
        cluster.fail(refused, "list", GroupKind("", "Event"))

    found = notes(cluster, WEB)

    assert not about(found, "event")
    assert about(found, "Pod/default/web-1-1: in progress")


def test_what_was_made_and_may_not_be_read_hides_no_events(cluster, web):
    """Nor do pods hide the ReplicaSet."""
    refused = errors.Forbidden("list", "pods", "default", "no")
    cluster.fail(refused, "list", GroupKind("", "Pod"))

    found = notes(cluster, WEB)

    assert about(found, "event Own")
    assert about(found, "ReplicaSet.apps/default/web-1: in progress")


def test_one_child_that_may_not_be_read_hides_no_other(cluster):
    """Each is read for itself."""
    refs = define_cluster_api(cluster)
    refused = errors.Forbidden("get", "infras", "default", "no")
    cluster.fail(refused, "get", refs["infra"])
    made(
        cluster,
        resource("MachineDeployment", "md"),
        labels={CLUSTER_NAME: "c"},
    )

    assert about(notes(cluster, refs["cluster"]), "/default/md: in progress")


def test_an_object_of_the_same_labels_is_not_quoted(cluster, web):
    """It was not created for this one: it has other owners, or none."""
    made(cluster, manifests.config_map("other"))
    other = ObjectRef("", "ConfigMap", "default", "other")
    made(cluster, replica_set("stray"))
    made(cluster, replica_set("theirs"), other)
    made(cluster, pod("stray-pod"))

    found = notes(cluster, WEB)

    assert about(found, "web-1")
    assert not about(found, "stray") + about(found, "theirs")


def resource(kind, name, **spec):
    return {
        "apiVersion": f"{CAPI}/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def define_cluster_api(cluster):
    for kind in ("Cluster", "MachineDeployment", "MachinePool", "Infra"):
        cluster.create(manifests.definition(CAPI, kind), "other-manager")
    infra = {"apiGroup": CAPI, "kind": "Infra", "name": "i"}
    made(cluster, resource("Cluster", "c", infrastructureRef=infra))
    return {
        "cluster": ObjectRef(CAPI, "Cluster", "default", "c"),
        "infra": ObjectRef(CAPI, "Infra", "default", "i"),
    }


def test_an_object_with_the_label_of_a_cluster_is_quoted_for_it(cluster):
    """Cluster API sets it before the object has owners."""
    refs = define_cluster_api(cluster)
    made(
        cluster,
        resource("MachineDeployment", "md"),
        labels={CLUSTER_NAME: "c"},
    )

    assert about(notes(cluster, refs["cluster"]), "/default/md: in progress")


def test_an_object_that_cannot_be_read_is_listed_without_notes(cluster, web):
    """The others are listed with theirs."""
    refused = errors.Forbidden("get", "deployments", "default", "no")
    for _ in range(2):
        cluster.fail(refused, "get", WEB)

    assert () == notes(cluster, WEB)


def node(**ready):
    conditions = [{"type": "Ready", **ready}] if ready else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "far"},
        "status": {"conditions": conditions},
    }


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (None, "which does not exist"),
        (node(), "which is not Ready: its status is not reported"),
        (node(status="Unknown", message="No word."), "not Ready: No word."),
        (node(status="True"), "which is Ready"),
    ],
)
def test_a_pod_being_deleted_is_shown_with_its_node(cluster, there, said):
    """Only its kubelet can end it."""
    if there:
        cluster.create(there, "other-manager")
    manifest = pod("web-1")
    manifest["spec"]["nodeName"] = "far"
    obj = made(cluster, manifest, finalizers=["example.org/hold"])
    ref = ObjectRef.of(obj)
    cluster.delete(ref, objects.uid(obj))

    found = notes(cluster, ref)

    assert about(found, "it has to end on Node/far, ")
    assert about(found, said)


def test_a_node_that_may_not_be_read_is_named_all_the_same(cluster):
    """Few users may read nodes."""
    manifest = pod("web-1")
    manifest["spec"]["nodeName"] = "far"
    obj = made(cluster, manifest, finalizers=["example.org/hold"])
    ref = ObjectRef.of(obj)
    cluster.delete(ref, objects.uid(obj))
    refused = errors.Forbidden("get", "nodes", "", "no")
    cluster.fail(refused, "get", ObjectRef("", "Node", "", "far"))

    found = notes(cluster, ref)

    assert about(found, "it has to end on Node/far, which cannot be read")


def test_a_server_that_answers_nothing_is_asked_once(cluster, web):
    """The operation is late already: many silences would add up."""
    away = errors.Unreachable("https://fake.example.org", "no answer")
    cluster.fail(away, "get", WEB)
    before = cluster.requests

    (found,) = notes(cluster, WEB)

    assert found.endswith("cannot be reached: no answer")
    assert before + 1 == cluster.requests


def test_a_server_that_refuses_to_show_an_object_is_asked_on(cluster, web):
    """What the object made may be readable."""
    refused = errors.Forbidden("get", "deployments", "default", "no")
    cluster.fail(refused, "get", WEB)

    assert about(notes(cluster, WEB), "Pod/default/web-1-1: in progress")
