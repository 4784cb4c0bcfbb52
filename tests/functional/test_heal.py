"""Members are replaced in place, with the real controllers."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchEvent
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.report import Action
from tests.functional import manifests
from tests.functional import topology_cluster

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
    return {
        row.ref.name for row in report.objects if row.action is Action.HEALED
    }


@pytest.mark.requirement("G3")
def test_a_chosen_pod_is_replaced_and_no_other(
    cluster, namespace, make_package, make_request, members
):
    """The controller makes another; its siblings stay."""
    package = make_package(manifests.deployment("web", 3))
    k8s_cr.instantiate(make_request(), package)
    before = members()
    name, uid = sorted(before.items())[0]

    report = k8s_cr.heal(make_request(), {uid})

    after = members()
    assert {name} == healed(report)
    assert 3 == len(after)
    assert {uid} == set(before.values()) - set(after.values())
    web = cluster.get(ObjectRef("apps", "Deployment", namespace, "web"))
    assert 3 == web["status"]["availableReplicas"]
    assert "instantiated" == report.phase


def test_a_pod_that_was_healed_counts_as_healed(
    make_request, make_package, members
):
    """Who repeats a heal need not know how far the first one came."""
    package = make_package(manifests.deployment("web", 2))
    k8s_cr.instantiate(make_request(), package)
    uid = sorted(members().values())[0]
    k8s_cr.heal(make_request(), {uid})
    after = members()

    report = k8s_cr.heal(make_request(), {uid})

    assert 1 == len(healed(report))
    assert after == members()


@pytest.mark.requirement("T12")
def test_a_member_that_keeps_its_name_is_another_one(
    make_request, make_package, members
):
    """By UID: a StatefulSet gives its pods their names again."""
    package = make_package(stateful_set("db", 2))
    k8s_cr.instantiate(make_request(), package)
    before = members()

    k8s_cr.heal(make_request(), {before["db-0"]})

    after = members()
    assert before.keys() == after.keys()
    assert before["db-0"] != after["db-0"]
    assert before["db-1"] == after["db-1"]


@pytest.mark.requirement("XO-9")
def test_a_bare_pod_is_made_again_from_the_record(
    cluster, namespace, make_package, make_request, members
):
    """No controller would: the instance owns it.

    Nor if it has vanished: then it has the UID that the record has of it.
    """
    package = make_package(pod("alone"), manifests.config_map("settings"))
    k8s_cr.instantiate(make_request(), package)
    before = members()["alone"]

    report = k8s_cr.heal(make_request(), {before})

    assert {"alone"} == healed(report)
    assert before != members()["alone"]
    assert "current" in {
        row.verdict.state.value
        for row in k8s_cr.status(make_request()).objects
        if row.ref.name == "alone"
    }

    before = members()["alone"]
    alone = ObjectRef("", "Pod", namespace, "alone")
    cluster.delete(alone, before, grace_seconds=0)
    assert "alone" not in members()

    report = k8s_cr.heal(make_request(), {before})

    assert {"alone"} == healed(report)
    assert before != members()["alone"]


def test_healing_all_restores_the_content_of_the_package(
    cluster, namespace, make_package, make_request, members
):
    """Missing objects are created, drift is reverted, replicas stay.

    And every member is another one.
    """
    package = make_package(
        manifests.deployment("web", 1),
        manifests.config_map("settings", key="ours"),
        manifests.config_map("lost"),
        pod("alone"),
    )
    k8s_cr.instantiate(make_request(), package)
    web = ObjectRef("apps", "Deployment", namespace, "web")
    k8s_cr.scale(make_request(), {web: 3})
    settings = ObjectRef("", "ConfigMap", namespace, "settings")
    lost = ObjectRef("", "ConfigMap", namespace, "lost")
    cluster.patch(settings, {"data": {"key": "theirs"}}, "other-manager")
    cluster.delete(lost, objects.uid(cluster.get(lost)))
    before = members()

    report = k8s_cr.heal(make_request())

    assert set(before) == healed(report)
    assert "ours" == cluster.get(settings)["data"]["key"]
    assert cluster.get(lost)
    after = members()
    assert 4 == len(after)
    assert set() == set(before.values()) & set(after.values())
    assert 3 == cluster.get(web)["spec"]["replicas"]


def test_an_object_that_is_made_again_has_the_number_of_the_scale(
    cluster, namespace, make_package, make_request
):
    """Not that of its manifest."""
    package = make_package(manifests.deployment("web", 1))
    k8s_cr.instantiate(make_request(), package)
    web = ObjectRef("apps", "Deployment", namespace, "web")
    k8s_cr.scale(make_request(), {web: 3})
    cluster.delete(web, objects.uid(cluster.get(web)))

    k8s_cr.heal(make_request())

    assert 3 == cluster.get(web)["spec"]["replicas"]


def test_a_stranger_is_not_healed(make_request, make_package, members):
    """Nothing is written for a UID that is not a member's."""
    package = make_package(manifests.deployment("web", 1))
    k8s_cr.instantiate(make_request(), package)
    before = members()

    with pytest.raises(errors.RequestInvalid, match="has the UID unknown"):
        k8s_cr.heal(make_request(), {"unknown", *before.values()})

    assert before == members()
    assert "instantiated" == k8s_cr.status(make_request()).phase


def test_a_heal_of_deleted_members_only_waits(
    make_request, make_package, members
):
    """If all named members are already deleted, the others are judged."""
    package = make_package(manifests.deployment("web", 1))
    k8s_cr.instantiate(make_request(), package)
    before = members()

    report = k8s_cr.heal(make_request(), frozenset())

    assert before == members()
    assert [("web", "current")] == [
        (row.ref.name, row.verdict.state.value) for row in report.objects
    ]


@pytest.mark.capi
@pytest.mark.requirement("G3")
def test_machines_are_replaced_and_the_cluster_stays(
    cluster, namespace, unique_name, members, leftover_objects, make_request
):
    """A chosen worker, then all; deleted, or remediated.

    The only machine of a control plane cannot be replaced: chosen it is
    refused, of all it is left out. A worker that is only marked is found
    sick by its health check, and its MachineSet replaces it.
    """
    package = watched(k8s_cr.load(CLUSTER), "workers", WORKERS)
    k8s_cr.instantiate(make_request(), package)
    ref = ObjectRef("cluster.x-k8s.io", "Cluster", namespace, "workload")
    uid = objects.uid(cluster.get(ref))
    label = CONTROL_PLANE
    only = members(MACHINE, label)
    workers = members(MACHINE, f"!{label}")
    assert 1 == len(only)

    with pytest.raises(errors.NotHealable, match="the only Machine"):
        k8s_cr.heal(make_request(), set(only.values()))
    assert only == members(MACHINE, label)

    one = sorted(workers.values())[0]
    k8s_cr.heal(make_request(), {one})
    after = members(MACHINE, f"!{label}")
    assert len(workers) == len(after)
    assert one not in after.values()

    marking = k8s_cr.Options(machine_heal_strategy="remediate")
    with cluster.watch([Watch(MACHINE, namespace, f"!{label}")]) as seen:
        seen.next_events(60)
        report = k8s_cr.heal(make_request(options=marking))
        moved = seen.next_events(60)

    assert set(only) == {
        row.ref.name for row in report.objects if row.action is Action.RETAINED
    }
    assert only == members(MACHINE, label)
    found = {
        (objects.uid(item.obj), condition["status"], condition["reason"])
        for item in moved
        if isinstance(item, WatchEvent)
        for condition in objects.field(item.obj, ("status", "conditions"), ())
        if condition["type"] == "HealthCheckSucceeded"
    }
    for uid_ in after.values():
        assert (uid_, "False", "HasRemediateAnnotation") in found
    assert set() == (
        set(after.values()) & set(members(MACHINE, f"!{label}").values())
    )
    assert uid == objects.uid(cluster.get(ref))
    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)


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
@pytest.mark.requirement("G3", "I4")
def test_one_machine_of_a_control_plane_at_a_time(
    cluster, namespace, unique_name, members, leftover_objects, make_request
):
    """Deleted, or remediated by their controller.

    At no time are two of them on their way out. A mark helps only where a
    health check watches, and is refused elsewhere before anything is
    written.
    """
    package = of_three(k8s_cr.load(CLUSTER / "Files/kubernetes"))
    k8s_cr.instantiate(make_request(), package)
    # Defaults of Cluster API and its webhooks do not count as drift.
    assert () == k8s_cr.drift(make_request()).objects
    before = members(MACHINE, CONTROL_PLANE)
    first, second, third = sorted(before.values())

    watch = Watch(MACHINE, namespace, CONTROL_PLANE)
    with cluster.watch([watch]) as watching:
        watching.next_events(60)
        report = k8s_cr.heal(make_request(), {first, second})
        seen = watching.next_events(60)

    after = members(MACHINE, CONTROL_PLANE)
    assert {third} == set(before.values()) & set(after.values())
    assert 3 == len(after)
    assert 2 == report.count(Action.HEALED)
    going: set[str] = set()
    most = 0
    for item in seen:
        if isinstance(item, WatchEvent):
            asked = objects.field(item.obj, ("metadata", "deletionTimestamp"))
            if asked and not item.deleted:
                going.add(objects.uid(item.obj))
            else:
                going.discard(objects.uid(item.obj))
            most = max(most, len(going))
    assert 1 == most

    marking = k8s_cr.Options(machine_heal_strategy="remediate")
    workers = members(MACHINE, f"!{CONTROL_PLANE}")
    with pytest.raises(errors.NotHealable, match="no MachineHealthCheck"):
        k8s_cr.heal(make_request(options=marking), set(workers.values()))
    assert workers == members(MACHINE, f"!{CONTROL_PLANE}")

    (name,) = (name for name, uid in before.items() if uid == third)
    k8s_cr.heal(make_request(options=marking), {third})

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
    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.capi
@pytest.mark.requirement("TK-10", "G3")
def test_machines_that_a_topology_made_are_members_of_the_cluster(
    make_request,
    namespace,
    make_package,
    unique_name,
    members,
    leftover_objects,
):
    """Those of its control plane too, though no package holds it."""
    package = make_package(
        *topology_cluster.cluster_class(),
        topology_cluster.cluster("workload", 3, md_0=1),
    )
    k8s_cr.instantiate(make_request(), package)
    assert () == k8s_cr.drift(make_request()).objects
    before = members(MACHINE)
    old = {
        *sorted(members(MACHINE, CONTROL_PLANE).values())[:1],
        *members(MACHINE, f"!{CONTROL_PLANE}").values(),
    }

    report = k8s_cr.heal(make_request(), old)

    after = members(MACHINE)
    assert 2 == report.count(Action.HEALED)
    assert 4 == len(after)
    assert old == set(before.values()) - set(after.values())
    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)


def asking(workload, cpu):
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": cpu}}
    return workload


@pytest.mark.parametrize("on_failure", ["fail_fast", "wait_all"])
def test_a_heal_that_cannot_succeed_ends_early_with_the_cause(
    cluster,
    namespace,
    make_package,
    make_request,
    members,
    on_failure,
    deadline,
):
    """It is in no status: its controller reports it by events.

    The one that is blocked ends the heal, at once or when the others have
    their new members. With the cause gone the same heal goes on.
    """
    package = make_package(
        asking(stateful_set("db", 2), "1"),
        asking(manifests.deployment("web", 1), "1m"),
    )
    k8s_cr.instantiate(make_request(), package)
    before = members()
    full = ObjectRef("", "ResourceQuota", namespace, "full")
    limit = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "full", "namespace": namespace},
        "spec": {"hard": {"requests.cpu": "1500m"}},
    }
    cluster.create(limit, "other-manager")
    web = next(uid for name, uid in before.items() if name[:3] == "web")
    chosen = {before["db-0"], web}
    begun = deadline.remaining

    with pytest.raises(errors.ObjectsFailed, match="exceeded quota") as caught:
        k8s_cr.heal(
            make_request(
                options=k8s_cr.Options(stall_timeout=5, on_failure=on_failure)
            ),
            chosen,
        )

    assert begun - deadline.remaining < 120
    blocked, *rest = caught.value.pending
    assert "db" == blocked.ref.name
    if on_failure == "wait_all":
        assert [] == rest
        assert 2 == len(members())
    assert "healing" == k8s_cr.status(make_request()).phase
    cluster.delete(full, objects.uid(cluster.get(full)))
    k8s_cr.heal(make_request(), chosen)
    assert set() == chosen & set(members().values())


def test_what_no_package_holds_any_more_is_refused(
    make_request, make_package, members
):
    """A Pod that a change kept: with it no other is touched."""
    kept = pod("alone")
    prune = {"k8s-cr.tacker.openstack.org/prune": "false"}
    kept["metadata"]["annotations"] = prune
    web = manifests.deployment("web", 1)
    k8s_cr.instantiate(make_request(), make_package(web, kept))
    k8s_cr.change(make_request(), make_package(web, name="b"))
    before = members()

    with pytest.raises(errors.NotHealable, match="not in the package"):
        k8s_cr.heal(make_request(), set(before.values()))

    assert before == members()
    report = k8s_cr.heal(make_request())
    assert {"alone"} == {
        row.ref.name for row in report.objects if row.action is Action.RETAINED
    }
    assert before["alone"] == members()["alone"]
