"""What a real server answers and does not keep, and generated names."""

from __future__ import annotations

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.report import Action
from tests.functional import manifests

pytestmark = pytest.mark.plane

TOKEN = "an-unknown-bearer-token-0123456789"
PATH = {"nonResourceAttributes": {"path": "/version", "verb": "get"}}


def review(kind, group="authorization", **more):
    return {
        "apiVersion": f"{group}.k8s.io/v1",
        "kind": kind,
        "metadata": {},
        **more,
    }


REVIEWS = (
    review("SubjectAccessReview", spec={"user": "alice", **PATH}),
    review("SelfSubjectAccessReview", spec=PATH),
    review("SelfSubjectRulesReview", spec={"namespace": "default"}),
    review("SelfSubjectReview", group="authentication"),
    review("TokenReview", group="authentication", spec={"token": TOKEN}),
)


def test_reviews_are_answered_and_nothing_is_left(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """Each with what the server said, and no value of it that is secret.

    So it is with a Binding, which binds a Pod that no scheduler sees.
    """
    local = review(
        "LocalSubjectAccessReview",
        spec={
            "user": "alice",
            "resourceAttributes": {"namespace": namespace, "verb": "list"},
        },
    )
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "alone"},
        "spec": {
            **manifests.deployment("x")["spec"]["template"]["spec"],
            "schedulerName": "none",
        },
    }
    node = next(iter(cluster.list_metadata(GroupKind("", "Node"))))
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "alone"},
        "target": {"kind": "Node", "name": node["metadata"]["name"]},
    }
    package = make_package(*REVIEWS, local, pod, binding)

    report = k8s_cr.instantiate(make_request(), package)

    notes = {
        row.ref.kind: "\n".join(row.notes)
        for row in report.objects
        if row.action is Action.SENT
    }
    assert {obj["kind"] for obj in (*REVIEWS, local, binding)} == set(notes)
    assert "status.allowed: true" in notes["SelfSubjectAccessReview"]
    assert "status.allowed: false" in notes["LocalSubjectAccessReview"]
    assert TOKEN not in str(report.as_dict())
    assert {"alone"} == {
        row.ref.name for row in k8s_cr.status(make_request()).objects
    }
    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)


def test_a_generated_name_is_an_ordinary_name(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """Waited for, kept by a change, deleted at the end."""
    web = {
        **manifests.deployment("unused"),
        "metadata": {"generateName": "web-"},
    }
    report = k8s_cr.instantiate(make_request(), make_package(web))
    (row,) = report.objects
    live = cluster.get(row.ref)

    assert 1 == live["status"]["availableReplicas"]
    more = make_package(web, manifests.config_map("more"))
    k8s_cr.change(make_request(), more)
    assert live["metadata"]["uid"] == cluster.get(row.ref)["metadata"]["uid"]
    drift = k8s_cr.drift(make_request())
    assert () == drift.objects

    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)


def test_a_binding_of_a_pod_that_does_not_exist_is_refused(
    make_request, namespace, make_package, unique_name, leftover_objects
):
    """The server's words say why, and nothing is left."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "absent"},
        "target": {"kind": "Node", "name": "node-0"},
    }
    with pytest.raises(errors.Rejected, match='pods "absent" not found'):
        k8s_cr.instantiate(
            make_request(), make_package(manifests.config_map("a"), binding)
        )
    assert [] == leftover_objects(unique_name, namespace)
