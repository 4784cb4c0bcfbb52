"""Members are replaced in place, with the real controllers."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Changed
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.report import Action
from tests.functional import manifests
from tests.functional import topology

pytestmark = pytest.mark.plane

POD = GroupKind("", "Pod")
MACHINE = GroupKind("cluster.x-k8s.io", "Machine")
CONTROL_PLANE = "cluster.x-k8s.io/control-plane"
WORKERS = {"cluster.x-k8s.io/deployment-name": "workload-workers"}
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
    cluster, namespace, packed, life, unique, members
):
    """Nobody else would: the instance owns it (XO-9).

    Nor if it has vanished: then it has the UID that the record has of it.
    """
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

    before = members()["alone"]
    alone = ObjectRef("", "Pod", namespace, "alone")
    cluster.delete(alone, before, grace_seconds=0)
    assert "alone" not in members()

    report = k8s_cr.heal(cluster, unique, {before}, **life)

    assert {"alone"} == healed(report)
    assert before != members()["alone"]


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
    """A chosen worker, then all; deleted, or remediated (G3).

    The only machine of a control plane cannot be replaced: chosen it is
    refused, of all it is left out. A worker that is only marked is found
    sick by its health check, and its MachineSet replaces it.
    """
    life = {"namespace": namespace, "deadline": k8s_cr.Deadline.after(240)}
    package = watched(k8s_cr.load(CLUSTER), "workers", WORKERS)
    k8s_cr.instantiate(cluster, unique, package, **life)
    ref = ObjectRef("cluster.x-k8s.io", "Cluster", namespace, "workload")
    uid = objects.uid(cluster.get(ref))
    label = CONTROL_PLANE
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

    marking = k8s_cr.Options(heal_machines="remediate")
    with cluster.watching([Watch(MACHINE, namespace, f"!{label}")]) as seen:
        seen.take(60)
        report = k8s_cr.heal(cluster, unique, options=marking, **life)
        moved = seen.take(60)

    assert set(only) == {
        row.ref.name for row in report.rows if row.action is Action.KEPT
    }
    assert only == members(MACHINE, label)
    found = {
        (objects.uid(item.obj), condition["status"], condition["reason"])
        for item in moved
        if isinstance(item, Changed)
        for condition in objects.field(item.obj, ("status", "conditions"), ())
        if condition["type"] == "HealthCheckSucceeded"
    }
    for uid_ in after.values():
        assert (uid_, "False", "HasRemediateAnnotation") in found
    assert set() == (
        set(after.values()) & set(members(MACHINE, f"!{label}").values())
    )
    assert uid == objects.uid(cluster.get(ref))
    k8s_cr.terminate(cluster, unique, **life)
    assert [] == traces(unique, namespace)


def watched(package, name, labels):
    """The package with a check of the machines that have these labels."""
    check = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": {"name": name},
        "spec": {
            "clusterName": "workload",
            "selector": {"matchLabels": labels},
            "checks": {"nodeStartupTimeoutSeconds": 600},
        },
    }
    documents = (*package.documents, Document(check, "check.yaml"))
    return dataclasses.replace(package, documents=documents)


def of_three(package):
    """The package with three control plane machines, under a check."""
    documents = []
    for document in package.documents:
        manifest = document.manifest
        if manifest["kind"] == "KubeadmControlPlane":
            spec = {**manifest["spec"], "replicas": 3}
            manifest = {**manifest, "spec": spec}
        documents.append(Document(manifest, document.where))
    package = dataclasses.replace(package, documents=tuple(documents))
    return watched(package, "control-plane", {CONTROL_PLANE: ""})


@pytest.mark.capi
def test_one_machine_of_a_control_plane_at_a_time(
    cluster, namespace, unique, members, traces
):
    """Deleted, or remediated by whoever keeps it (G3).

    At no time are two of them on their way out. A mark helps only where a
    health check watches, and is refused elsewhere before anything is
    written.
    """
    life = {"namespace": namespace, "deadline": k8s_cr.Deadline.after(400)}
    package = of_three(k8s_cr.load(CLUSTER / "Files/kubernetes"))
    k8s_cr.instantiate(cluster, unique, package, **life)
    # What Cluster API fills in, and its webhooks, is no drift.
    assert () == k8s_cr.drift(cluster, unique, **life).rows
    before = members(MACHINE, CONTROL_PLANE)
    first, second, third = sorted(before.values())

    watch = Watch(MACHINE, namespace, CONTROL_PLANE)
    with cluster.watching([watch]) as watching:
        watching.take(60)
        report = k8s_cr.heal(cluster, unique, {first, second}, **life)
        seen = watching.take(60)

    after = members(MACHINE, CONTROL_PLANE)
    assert {third} == set(before.values()) & set(after.values())
    assert 3 == len(after)
    assert 2 == report.count(Action.HEALED)
    going: set[str] = set()
    most = 0
    for item in seen:
        if isinstance(item, Changed):
            asked = objects.field(item.obj, ("metadata", "deletionTimestamp"))
            if asked and not item.gone:
                going.add(objects.uid(item.obj))
            else:
                going.discard(objects.uid(item.obj))
            most = max(most, len(going))
    assert 1 == most

    marking = k8s_cr.Options(heal_machines="remediate")
    workers = members(MACHINE, f"!{CONTROL_PLANE}")
    with pytest.raises(errors.NotHealable, match="no MachineHealthCheck"):
        k8s_cr.heal(
            cluster, unique, set(workers.values()), options=marking, **life
        )
    assert workers == members(MACHINE, f"!{CONTROL_PLANE}")

    (name,) = (name for name, uid in before.items() if uid == third)
    k8s_cr.heal(cluster, unique, {third}, options=marking, **life)

    now = members(MACHINE, CONTROL_PLANE)
    assert 3 == len(now)
    assert third not in now.values()
    ref = ObjectRef(
        "controlplane.cluster.x-k8s.io",
        "KubeadmControlPlane",
        namespace,
        "workload-control-plane",
    )
    assert name == cluster.get(ref)["status"]["lastRemediation"]["machine"]
    k8s_cr.terminate(cluster, unique, **life)
    assert [] == traces(unique, namespace)


@pytest.mark.capi
def test_machines_that_a_topology_made_are_members_of_the_cluster(
    cluster, namespace, packed, unique, members, traces
):
    """Those of its control plane too, though no package holds it (G3, G1)."""
    life = {"namespace": namespace, "deadline": k8s_cr.Deadline.after(400)}
    package = packed(
        *topology.cluster_class(), topology.cluster("workload", 3, md_0=1)
    )
    k8s_cr.instantiate(cluster, unique, package, **life)
    assert () == k8s_cr.drift(cluster, unique, **life).rows
    before = members(MACHINE)
    old = {
        *sorted(members(MACHINE, CONTROL_PLANE).values())[:1],
        *members(MACHINE, f"!{CONTROL_PLANE}").values(),
    }

    report = k8s_cr.heal(cluster, unique, old, **life)

    after = members(MACHINE)
    assert 2 == report.count(Action.HEALED)
    assert 4 == len(after)
    assert old == set(before.values()) - set(after.values())
    k8s_cr.terminate(cluster, unique, **life)
    assert [] == traces(unique, namespace)


def asking(workload, cpu):
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": cpu}}
    return workload


@pytest.mark.parametrize("on_failed", ["end", "settle"])
def test_a_heal_that_cannot_succeed_ends_early_with_the_cause(
    cluster, namespace, packed, life, unique, members, on_failed
):
    """Which is in no status: its controller tells it by events (P11, G3).

    The one that is blocked ends the heal, at once or when the others have
    their new members. With the cause gone the same heal goes on.
    """
    package = packed(
        asking(stateful_set("db", 2), "1"),
        asking(manifests.deployment("web", 1), "1m"),
    )
    k8s_cr.instantiate(cluster, unique, package, **life)
    before = members()
    full = ObjectRef("", "ResourceQuota", namespace, "full")
    limit = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "full", "namespace": namespace},
        "spec": {"hard": {"requests.cpu": "1500m"}},
    }
    cluster.create(limit, "somebody")
    web = next(uid for name, uid in before.items() if name[:3] == "web")
    chosen = {before["db-0"], web}
    begun = life["deadline"].left

    with pytest.raises(errors.Failed, match="exceeded quota") as caught:
        k8s_cr.heal(
            cluster,
            unique,
            chosen,
            options=k8s_cr.Options(dwell=5, on_failed=on_failed),
            **life,
        )

    assert begun - life["deadline"].left < 120
    blocked, *rest = caught.value.unsettled
    assert "db" == blocked.ref.name
    if on_failed == "settle":
        assert [] == rest
        assert 2 == len(members())
    assert "healing" == k8s_cr.status(cluster, unique, **life).phase
    cluster.delete(full, objects.uid(cluster.get(full)))
    k8s_cr.heal(cluster, unique, chosen, **life)
    assert set() == chosen & set(members().values())


def test_what_no_package_holds_any_more_is_refused(
    cluster, packed, life, unique, members
):
    """A Pod that a change kept: with it no other is touched (G3, XO-9)."""
    kept = pod("alone")
    prune = {"k8s-cr.tacker.openstack.org/prune": "false"}
    kept["metadata"]["annotations"] = prune
    web = manifests.deployment("web", 1)
    k8s_cr.instantiate(cluster, unique, packed(web, kept), **life)
    k8s_cr.change(cluster, unique, packed(web, name="b"), **life)
    before = members()

    with pytest.raises(errors.NotHealable, match="does not hold it"):
        k8s_cr.heal(cluster, unique, set(before.values()), **life)

    assert before == members()
    report = k8s_cr.heal(cluster, unique, **life)
    assert {"alone"} == {
        row.ref.name for row in report.rows if row.action is Action.KEPT
    }
    assert before["alone"] == members()["alone"]
