"""Objects that the server answers and does not keep, and generated names."""

from __future__ import annotations

import contextlib

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr.lcm import create_only
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.report import Action
from tests.fakes import FakeCluster
from tests.functional import manifests
from tests.unit.lcm.deaths import deaths
from tests.unit.lcm.deaths import nothing
from tests.unit.lcm.deaths import owned
from tests.unit.lcm.deaths import records
from tests.unit.lcm.deaths import run
from tests.unit.packages import package

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
    return record.read(cluster, "one", "default").inventory


def created(cluster, ref=REF):
    return cluster.sent.count(("create", ref))


# -- Answered, and not kept --------------------------------------------------


def test_a_review_is_sent_once_and_reported(cluster, life):
    """It is neither in the inventory nor waited for (R3)."""
    given = package(REVIEW, manifests.config_map("a"))
    report = lcm.instantiate(cluster, "one", given, **life)

    assert 1 == created(cluster)
    (row,) = [row for row in report.rows if row.action is Action.SENT]
    assert REF == row.ref
    assert (
        "from a.yaml, document 1",
        "status.allowed: true",
        "status.reason: RBAC: allowed",
    ) == row.notes
    assert ["a"] == [ref.name for ref in recorded(cluster).owned]

    lcm.heal(cluster, "one", **life)
    other = package(REVIEW, manifests.config_map("a", b="c"))
    lcm.change(cluster, "one", other, **life)
    lcm.roll_back(cluster, "one", **life)
    lcm.terminate(cluster, "one", **life)
    assert 1 == created(cluster)
    assert [] == records(cluster)


def test_a_package_may_hold_nothing_else(cluster, life):
    """It is an instance without objects."""
    lcm.instantiate(cluster, "one", package(REVIEW, REVIEW), **life)

    assert 2 == created(cluster)
    assert {} == recorded(cluster).owned


def test_a_review_is_not_labelled(cluster, life):
    """The server refuses a review with metadata."""
    local = {
        **REVIEW,
        "kind": "LocalSubjectAccessReview",
        "metadata": {"namespace": ""},
    }
    lcm.instantiate(cluster, "one", package(REVIEW, local), **life)

    assert [{}, {"namespace": "default"}] == [
        obj["metadata"] for obj in cluster.world.answered
    ]


def test_a_refused_review_takes_the_package_back(cluster, life):
    """As any other object that the server refuses."""
    cluster.fail(errors.Rejected(REF, 422, "Invalid", "no"), "create", REF)
    given = package(manifests.config_map("a"), REVIEW)

    with pytest.raises(errors.Rejected):
        lcm.instantiate(cluster, "one", given, **life)

    assert ([], []) == (owned(cluster), records(cluster))


@pytest.mark.parametrize("node", ["n", "other"])
def test_what_an_earlier_attempt_did_is_no_error(cluster, life, node):
    """The Pod of a Binding is bound to its Node, and not to another (R3)."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "a",
            "annotations": {
                "k8s-cr.tacker.openstack.org/readiness": "created"
            },
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
    done = errors.Outdated(ref, f"pod a is already assigned to node {node}")
    cluster.fail(done, "create", ref)
    given = package(pod, binding)

    if node != "n":
        with pytest.raises(errors.Rejected, match="assigned to node other"):
            lcm.instantiate(cluster, "one", given, **life)
        assert ([], []) == (owned(cluster), records(cluster))
        return
    report = lcm.instantiate(cluster, "one", given, **life)
    (row,) = [row for row in report.rows if row.action is Action.SENT]
    assert "the Pod is bound to the Node already" == row.notes[1]


def test_an_object_without_a_name_is_refused(cluster, life):
    """Of a kind that the server keeps, whoever defined it."""
    thing = {**manifests.custom("example.org", "Thing", "x"), "metadata": {}}
    given = package(manifests.definition("example.org", "Thing"), thing)

    with pytest.raises(errors.PackageInvalid) as caught:
        lcm.instantiate(cluster, "one", given, **life)

    assert (
        "a.yaml, document 2: Thing.example.org: lacks metadata.name"
    ) == str(caught.value)
    assert [] == owned(cluster)


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
    ] == [*create_only.described(request, response)]


# -- Names from prefixes -----------------------------------------------------


def test_a_generated_name_stays(cluster, life):
    """A change makes the object again only if its manifest differs (R7)."""
    report = lcm.instantiate(cluster, "one", package(GENERATED), **life)
    (row,) = report.rows
    assert row.ref.name.startswith("settings-")
    assert len("settings-12345") == len(row.ref.name)

    same = package(GENERATED, manifests.config_map("b"))
    lcm.change(cluster, "one", same, **life)
    assert {row.ref.name, "b"} == set(owned(cluster))
    lcm.heal(cluster, "one", **life)
    assert {row.ref.name, "b"} == set(owned(cluster))

    other = package({**GENERATED, "data": {"x": "y"}})
    lcm.change(cluster, "one", other, **life)
    (name,) = owned(cluster)
    assert name != row.ref.name
    lcm.roll_back(cluster, "one", **life)
    assert {row.ref.name, "b"} == set(owned(cluster))

    lcm.terminate(cluster, "one", **life)
    assert ([], []) == (owned(cluster), records(cluster))


def test_two_manifests_that_say_the_same_are_two_objects(cluster, life):
    """As kubectl create makes them."""
    lcm.instantiate(cluster, "one", package(GENERATED, GENERATED), **life)

    assert 2 == len(set(owned(cluster)))


@pytest.mark.parametrize("finish", [True, False], ids=["finish", "undo"])
def test_a_death_at_any_request_makes_no_second_object(clock, finish):
    """The name is in the record before the first request with it (R7)."""
    given = package(GENERATED, REVIEW, manifests.config_map("b"))

    def fresh():
        return FakeCluster(idle=clock.idle)

    died = 0
    for cluster in deaths(lcm.instantiate, nothing, fresh, clock, given):
        died += 1
        if finish:
            with contextlib.suppress(errors.InstanceExists):
                run(lcm.instantiate, cluster, clock, given)
            assert 2 == len(owned(cluster))
        with contextlib.suppress(errors.InstanceUnknown):
            run(lcm.terminate, cluster, clock)
        assert ([], []) == (owned(cluster), records(cluster))
    assert died > 5
