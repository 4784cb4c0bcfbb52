"""What holds a volume, or a claim, that is being deleted."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import PendingObject
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.wait.diagnostics import explain
from tests.fakes import FakeCluster
from tests.fakes.volumes import CLAIM
from tests.fakes.volumes import play_volumes
from tests.functional import volumes

PV = ObjectRef("", "PersistentVolume", "", "pv-1")
DATA = ObjectRef("", CLAIM.kind, "default", "data-db-0")
GOING = Verdict(State.TERMINATING, "deletion requested")


@pytest.fixture
def cluster():
    return FakeCluster(play_volumes)


def made(cluster, manifest, **metadata):
    found = {**manifest["metadata"], **metadata}
    return cluster.create({**manifest, "metadata": found}, "other")


def request_deletion(cluster, ref):
    cluster.delete(ref, objects.uid(cluster.get(ref)))


def notes(cluster, ref):
    (found,) = explain.with_explanations(
        cluster, kinds.BUILT_IN, [PendingObject(ref, GOING, 1.0)]
    )
    return [note for note in found.notes if note.startswith("it is ")]


def pod(claim):
    mount = {"name": "d", "persistentVolumeClaim": {"claimName": claim}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "user", "namespace": "default"},
        "spec": {"volumes": [mount]},
    }


def test_the_stateful_set_of_a_claim_is_named(cluster):
    """With the instance that has it."""
    made(cluster, volumes.volume("pv-1", "manual"))
    made(
        cluster,
        volumes.stateful_set("db", "manual"),
        namespace="default",
        labels={objects.INSTANCE: "site-b"},
    )
    request_deletion(cluster, PV)

    assert [
        "it is bound to PersistentVolumeClaim/default/data-db-0 (of "
        "StatefulSet.apps/default/db of instance site-b)"
    ] == notes(cluster, PV)


def test_the_pod_that_uses_a_claim_is_named(cluster):
    """Of the volume, and of the claim itself."""
    made(cluster, volumes.volume("pv-1", "manual"))
    made(
        cluster,
        volumes.claim("mine", "manual", "default"),
        finalizers=["kubernetes.io/pvc-protection"],
    )
    cluster.create(pod("mine"), "other")
    mine = ObjectRef("", CLAIM.kind, "default", "mine")
    request_deletion(cluster, PV)
    assert [
        "it is bound to PersistentVolumeClaim/default/mine (used by "
        "Pod/default/user)"
    ] == notes(cluster, PV)
    cluster.world.controller = None
    request_deletion(cluster, mine)

    assert ["it is used by Pod/default/user"] == notes(cluster, mine)
    (said,) = notes(cluster, PV)
    assert "(which is being deleted, too; used by Pod/default/user)" in said


def test_a_pod_that_has_ended_uses_nothing(cluster):
    """Kubernetes then deletes the claim."""
    made(
        cluster,
        volumes.claim("mine", "manual", "default"),
        finalizers=["kubernetes.io/pvc-protection"],
    )
    cluster.create(pod("mine"), "other")
    user = ObjectRef("", "Pod", "default", "user")
    cluster.report(user, {"phase": "Succeeded"})
    mine = ObjectRef("", CLAIM.kind, "default", "mine")
    cluster.world.controller = None
    request_deletion(cluster, mine)

    assert [] == notes(cluster, mine)


def test_what_may_not_be_read_is_left_out(cluster):
    """The claim is named by the volume, and nothing hides the rest."""
    made(cluster, volumes.volume("pv-1", "manual"))
    made(cluster, volumes.stateful_set("db", "manual"), namespace="default")
    request_deletion(cluster, PV)
    for kind in ("pods", "statefulsets"):
        cluster.fail(
            errors.Forbidden("list", kind, "default", "no"),
            "list",
            {"pods": objects.GroupKind("", "Pod")}.get(
                kind, objects.GroupKind("apps", "StatefulSet")
            ),
        )

    assert [f"it is bound to {DATA}"] == notes(cluster, PV)
