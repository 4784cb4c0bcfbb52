"""Members are replaced in place, with the real controllers."""

from __future__ import annotations

import pathlib

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.report import Action
from tests.functional import manifests

pytestmark = pytest.mark.plane

POD = GroupKind("", "Pod")
MACHINE = GroupKind("cluster.x-k8s.io", "Machine")
CLUSTER = (
    pathlib.Path(__file__).parents[2]
    / "samples/vnf_packages/capi_workload_cluster"
)


@pytest.fixture
def life(namespace, deadline):
    return {"namespace": namespace, "deadline": deadline}


@pytest.fixture
def members(cluster, namespace):
    """UIDs of the members that work, by name."""

    def found(kind=POD, selector=""):
        return {
            obj["metadata"]["name"]: objects.uid(obj)
            for obj in cluster.list_objects(kind, namespace, selector)
            if not objects.field(obj, ("metadata", "deletionTimestamp"))
        }

    return found


def pod(name, **spec):
    container = {"name": "main", "image": "example.org/a:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def stateful_set(name, replicas):
    found = manifests.deployment(name, replicas)
    return {
        **found,
        "kind": "StatefulSet",
        "spec": {**found["spec"], "serviceName": name},
    }


def healed(report):
    return {row.ref.name for row in report.rows if row.action is Action.HEALED}


def test_a_chosen_pod_is_replaced_and_no_other(
    cluster, namespace, packed, life, unique, members
):
    """The controller makes another; its siblings stay (G3, TK-10)."""
    package = packed(manifests.deployment("web", 3))
    k8s_cr.instantiate(cluster, unique, package, **life)
    before = members()
    name, uid = sorted(before.items())[0]

    report = k8s_cr.heal(cluster, unique, {uid}, **life)

    after = members()
    assert {name} == healed(report)
    assert 3 == len(after)
    assert {uid} == set(before.values()) - set(after.values())
    web = cluster.get(ObjectRef("apps", "Deployment", namespace, "web"))
    assert 3 == web["status"]["availableReplicas"]
    assert "instantiated" == report.phase


def test_a_pod_that_was_healed_counts_as_healed(
    cluster, packed, life, unique, members
):
    """Who repeats a heal need not know how far the first one came."""
    package = packed(manifests.deployment("web", 2))
    k8s_cr.instantiate(cluster, unique, package, **life)
    uid = sorted(members().values())[0]
    k8s_cr.heal(cluster, unique, {uid}, **life)
    after = members()

    report = k8s_cr.heal(cluster, unique, {uid}, **life)

    assert 1 == len(healed(report))
    assert after == members()


def test_a_member_that_keeps_its_name_is_another_one(
    cluster, packed, life, unique, members
):
    """By UID: a StatefulSet gives its pods their names again (T12)."""
    package = packed(stateful_set("db", 2))
    k8s_cr.instantiate(cluster, unique, package, **life)
    before = members()

    k8s_cr.heal(cluster, unique, {before["db-0"]}, **life)

    after = members()
    assert before.keys() == after.keys()
    assert before["db-0"] != after["db-0"]
    assert before["db-1"] == after["db-1"]


def test_a_bare_pod_is_made_again_from_the_record(
    cluster, packed, life, unique, members
):
    """Nobody else would: the instance owns it (XO-9)."""
    package = packed(pod("alone"), manifests.config_map("settings"))
    k8s_cr.instantiate(cluster, unique, package, **life)
    before = members()["alone"]

    report = k8s_cr.heal(cluster, unique, {before}, **life)

    assert {"alone"} == healed(report)
    assert before != members()["alone"]
    assert "current" in {
        row.verdict.state.value
        for row in k8s_cr.status(cluster, unique, **life).rows
        if row.ref.name == "alone"
    }


def test_healing_all_restores_what_the_package_says(
    cluster, namespace, packed, life, unique, members
):
    """What is missing is made, what drifted is taken back, numbers stay.

    And every member is another one (G3, P7).
    """
    package = packed(
        manifests.deployment("web", 1),
        manifests.config_map("settings", key="ours"),
        manifests.config_map("lost"),
        pod("alone"),
    )
    k8s_cr.instantiate(cluster, unique, package, **life)
    web = ObjectRef("apps", "Deployment", namespace, "web")
    k8s_cr.scale(cluster, unique, {web: 3}, **life)
    settings = ObjectRef("", "ConfigMap", namespace, "settings")
    lost = ObjectRef("", "ConfigMap", namespace, "lost")
    cluster.patch(settings, {"data": {"key": "theirs"}}, "somebody")
    cluster.delete(lost, objects.uid(cluster.get(lost)))
    before = members()

    report = k8s_cr.heal(cluster, unique, **life)

    assert set(before) == healed(report)
    assert "ours" == cluster.get(settings)["data"]["key"]
    assert cluster.get(lost)
    after = members()
    assert 4 == len(after)
    assert set() == set(before.values()) & set(after.values())
    assert 3 == cluster.get(web)["spec"]["replicas"]


def test_an_object_that_is_made_again_has_the_number_of_the_scale(
    cluster, namespace, packed, life, unique
):
    """Not that of its manifest (G3)."""
    package = packed(manifests.deployment("web", 1))
    k8s_cr.instantiate(cluster, unique, package, **life)
    web = ObjectRef("apps", "Deployment", namespace, "web")
    k8s_cr.scale(cluster, unique, {web: 3}, **life)
    cluster.delete(web, objects.uid(cluster.get(web)))

    k8s_cr.heal(cluster, unique, **life)

    assert 3 == cluster.get(web)["spec"]["replicas"]


def test_a_stranger_is_not_healed(cluster, packed, life, unique, members):
    """Nothing is written for a UID that is no member's."""
    package = packed(manifests.deployment("web", 1))
    k8s_cr.instantiate(cluster, unique, package, **life)
    before = members()

    with pytest.raises(errors.RequestInvalid, match="has the UID nobody"):
        k8s_cr.heal(cluster, unique, {"nobody", *before.values()}, **life)

    assert before == members()
    assert "instantiated" == k8s_cr.status(cluster, unique, **life).phase


def test_to_heal_nobody_is_to_wait(cluster, packed, life, unique, members):
    """Where all that was named is gone already, what there is is judged."""
    package = packed(manifests.deployment("web", 1))
    k8s_cr.instantiate(cluster, unique, package, **life)
    before = members()

    report = k8s_cr.heal(cluster, unique, frozenset(), **life)

    assert before == members()
    assert [("web", "current")] == [
        (row.ref.name, row.verdict.state.value) for row in report.rows
    ]


@pytest.mark.capi
def test_machines_are_replaced_and_the_cluster_stays(
    cluster, namespace, unique, members, traces
):
    """A chosen worker, then all (G3).

    The only machine of a control plane cannot be replaced: chosen it is
    refused, of all it is left out.
    """
    life = {"namespace": namespace, "deadline": k8s_cr.Deadline.after(240)}
    k8s_cr.instantiate(cluster, unique, k8s_cr.load(CLUSTER), **life)
    ref = ObjectRef("cluster.x-k8s.io", "Cluster", namespace, "workload")
    uid = objects.uid(cluster.get(ref))
    label = "cluster.x-k8s.io/control-plane"
    only = members(MACHINE, label)
    workers = members(MACHINE, f"!{label}")
    assert 1 == len(only)

    with pytest.raises(errors.NotHealable, match="the only machine"):
        k8s_cr.heal(cluster, unique, set(only.values()), **life)
    assert only == members(MACHINE, label)

    one = sorted(workers.values())[0]
    k8s_cr.heal(cluster, unique, {one}, **life)
    after = members(MACHINE, f"!{label}")
    assert len(workers) == len(after)
    assert one not in after.values()

    report = k8s_cr.heal(cluster, unique, **life)

    assert set(only) == {
        row.ref.name for row in report.rows if row.action is Action.KEPT
    }
    assert only == members(MACHINE, label)
    assert set() == (
        set(after.values()) & set(members(MACHINE, f"!{label}").values())
    )
    assert uid == objects.uid(cluster.get(ref))
    k8s_cr.terminate(cluster, unique, **life)
    assert [] == traces(unique, namespace)
