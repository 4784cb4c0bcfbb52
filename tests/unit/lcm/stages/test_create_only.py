"""Objects that the server answers and does not keep, and generated names."""

from __future__ import annotations

import contextlib

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.lcm.stages import create_only
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.state import store
from tests.fakes import FakeCluster
from tests.functional import manifests
from tests.unit.lcm.kill_points import killed_clusters
from tests.unit.lcm.kill_points import leave_unchanged
from tests.unit.lcm.kill_points import owned_objects
from tests.unit.lcm.kill_points import record_objects
from tests.unit.lcm.kill_points import run_operation
from tests.unit.packages import make_package

REVIEW = {
    "apiVersion": "authorization.k8s.io/v1",
    "kind": "SubjectAccessReview",
    "metadata": {},
    "spec": {"user": "alice", "nonResourceAttributes": {"path": "/"}},
}
GENERATED = {
    **manifests.config_map("unused"),
    "metadata": {"generateName": "settings-"},
}
REF = ObjectRef("authorization.k8s.io", "SubjectAccessReview", "", "")


def recorded(cluster):
    return store.read(cluster, "one", "default").inventory


def created(cluster, ref=REF):
    return cluster.sent.count(("create", ref))


# -- Answered, and not kept --------------------------------------------------


def test_a_review_is_sent_once_and_reported(cluster, operation_args):
    """It is neither in the inventory nor waited for."""
    given = make_package(REVIEW, manifests.config_map("a"))
    report = lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), given
    )

    assert 1 == created(cluster)
    (row,) = [row for row in report.objects if row.action is Action.SENT]
    assert REF == row.ref
    assert (
        "from a.yaml, document 1",
        "status.allowed: true",
        "status.reason: RBAC: allowed",
    ) == row.notes
    assert ["a"] == [ref.name for ref in recorded(cluster).owned]

    lcm.heal(lcm.Request(cluster, "one", **operation_args))
    other = make_package(REVIEW, manifests.config_map("a", b="c"))
    lcm.change(lcm.Request(cluster, "one", **operation_args), other)
    lcm.roll_back(lcm.Request(cluster, "one", **operation_args))
    lcm.terminate(lcm.Request(cluster, "one", **operation_args))
    assert 1 == created(cluster)
    assert [] == record_objects(cluster)


def test_a_package_may_hold_nothing_else(cluster, operation_args):
    """It is an instance without objects."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(REVIEW, REVIEW),
    )

    assert 2 == created(cluster)
    assert {} == recorded(cluster).owned


def test_a_review_is_not_labelled(cluster, operation_args):
    """The server refuses a review with metadata."""
    local = {
        **REVIEW,
        "kind": "LocalSubjectAccessReview",
        "metadata": {"namespace": ""},
    }
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(REVIEW, local),
    )

    assert [{}, {"namespace": "default"}] == [
        obj["metadata"] for obj in cluster.world.answered
    ]


def test_a_refused_review_takes_the_package_back(cluster, operation_args):
    """As any other object that the server refuses."""
    cluster.fail(errors.Rejected(REF, 422, "Invalid", "no"), "create", REF)
    given = make_package(manifests.config_map("a"), REVIEW)

    with pytest.raises(errors.Rejected):
        lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)

    assert ([], []) == (owned_objects(cluster), record_objects(cluster))


@pytest.mark.parametrize("node", ["n", "other"])
def test_the_result_of_an_earlier_attempt_is_not_an_error(
    cluster, operation_args, node
):
    """The Pod of a Binding is bound to its Node, and not to another."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "a",
            "annotations": {"k8s-cr.tacker.openstack.org/readiness": "exists"},
        },
        "spec": {"nodeName": node},
    }
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": "n"},
    }
    ref = ObjectRef("", "Binding", "default", "a")
    done = errors.Conflict(ref, f"pod a is already assigned to node {node}")
    cluster.fail(done, "create", ref)
    given = make_package(pod, binding)

    if node != "n":
        with pytest.raises(errors.Rejected, match="assigned to node other"):
            lcm.instantiate(
                lcm.Request(cluster, "one", **operation_args), given
            )
        assert ([], []) == (owned_objects(cluster), record_objects(cluster))
        return
    report = lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), given
    )
    (row,) = [row for row in report.objects if row.action is Action.SENT]
    assert "the Pod is bound to the Node already" == row.notes[1]


def test_an_object_without_a_name_is_refused(cluster, operation_args):
    """Of a kind that the server stores, from any definition."""
    thing = {**manifests.custom("example.org", "Thing", "x"), "metadata": {}}
    given = make_package(manifests.definition("example.org", "Thing"), thing)

    with pytest.raises(errors.PackageInvalid) as caught:
        lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)

    assert (
        "a.yaml, document 2: Thing.example.org: missing metadata.name"
    ) == caught.value.outcome()
    assert [] == owned_objects(cluster)


def test_texts_of_a_response_are_hidden():
    """But those that the server writes for a reader, without secrets."""
    request = {"kind": "TokenReview", "spec": {"token": "abcdefghij"}}
    response = {
        **request,
        "status": {
            "authenticated": True,
            "error": "the token abcdefghij is old",
            "user": {"username": "alice", "groups": ["a", "b"]},
        },
    }

    assert [
        "status.authenticated: true",
        "status.error: the token *** is old",
        "status.user.username: ***",
        "status.user.groups: 2 item(s)",
    ] == [*create_only.describe_status(request, response)]


# -- Names from prefixes -----------------------------------------------------


def test_a_generated_name_stays(cluster, operation_args):
    """A change makes the object again only if its manifest differs."""
    report = lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), make_package(GENERATED)
    )
    (row,) = report.objects
    assert row.ref.name.startswith("settings-")
    assert len("settings-12345") == len(row.ref.name)

    same = make_package(GENERATED, manifests.config_map("b"))
    lcm.change(lcm.Request(cluster, "one", **operation_args), same)
    assert {row.ref.name, "b"} == set(owned_objects(cluster))
    lcm.heal(lcm.Request(cluster, "one", **operation_args))
    assert {row.ref.name, "b"} == set(owned_objects(cluster))

    other = make_package({**GENERATED, "data": {"x": "y"}})
    lcm.change(lcm.Request(cluster, "one", **operation_args), other)
    (name,) = owned_objects(cluster)
    assert name != row.ref.name
    lcm.roll_back(lcm.Request(cluster, "one", **operation_args))
    assert {row.ref.name, "b"} == set(owned_objects(cluster))

    lcm.terminate(lcm.Request(cluster, "one", **operation_args))
    assert ([], []) == (owned_objects(cluster), record_objects(cluster))


def test_two_equal_manifests_are_two_objects(cluster, operation_args):
    """As kubectl create makes them."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(GENERATED, GENERATED),
    )

    assert 2 == len(set(owned_objects(cluster)))


@pytest.mark.parametrize("finish", [True, False], ids=["finish", "undo"])
def test_a_death_at_any_request_makes_no_second_object(clock, finish):
    """The name is in the record before the first request with it."""
    given = make_package(GENERATED, REVIEW, manifests.config_map("b"))

    def fresh():
        return FakeCluster(idle=clock.idle)

    died = 0
    for cluster in killed_clusters(
        lcm.instantiate, leave_unchanged, fresh, clock, given
    ):
        died += 1
        if finish:
            with contextlib.suppress(errors.InstanceExists):
                run_operation(lcm.instantiate, cluster, clock, given)
            assert 2 == len(owned_objects(cluster))
        with contextlib.suppress(errors.InstanceNotFound):
            run_operation(lcm.terminate, cluster, clock)
        assert ([], []) == (owned_objects(cluster), record_objects(cluster))
    assert died > 5
