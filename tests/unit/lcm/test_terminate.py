"""What is done so that objects go, or stay, and what is said while they do."""

from __future__ import annotations

import base64
import logging

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.engine import finalizers
from tacker_k8s_cr.engine import grace_period
from tacker_k8s_cr.engine import orphan
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.lcm.stages.deletion_watchdog import DeletionWatchdog
from tacker_k8s_cr.lcm.termination import workload_cleanup
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import PendingObject
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.wait.diagnostics import explain
from tacker_k8s_cr.wait.diagnostics import finalizer_owners
from tacker_k8s_cr.wait.diagnostics import missing_references
from tacker_k8s_cr.wait.progress import AwaitedObject
from tacker_k8s_cr.wait.progress import Goal
from tacker_k8s_cr.wait.progress import WaitState
from tests.fakes import FakeCluster
from tests.functional import manifests

HELD = "example.org/hold"
MANAGER = objects.MANAGER + "one"
A = ObjectRef("", "ConfigMap", "default", "a")
WORKLOAD = ObjectRef("cluster.x-k8s.io", "Cluster", "default", "site")


@pytest.fixture
def cluster():
    return FakeCluster()


def made(cluster, manifest, **metadata):
    manifest = {
        **manifest,
        "metadata": {
            "namespace": "default",
            **manifest["metadata"],
            **metadata,
        },
    }
    obj = cluster.create(manifest, "other-manager")
    return ObjectRef.of(obj), objects.uid(obj)


def owned_by(ref, uid, api_version="apps/v1"):
    return [
        {
            "apiVersion": api_version,
            "kind": ref.kind,
            "name": ref.name,
            "uid": uid,
        }
    ]


def deleting_object(cluster, manifest, **metadata):
    """An object with a deletionTimestamp that a finalizer holds."""
    ref, uid = made(cluster, manifest, finalizers=[HELD], **metadata)
    return cluster.delete(ref, uid)


def notes(cluster, obj):
    item = PendingObject(
        ObjectRef.of(obj), Verdict(State.TERMINATING, "so it is"), 1.0
    )
    (found,) = explain.with_explanations(cluster, kinds.BUILT_IN, [item])
    return found.notes


# -- Finalizers --------------------------------------------------------------


@pytest.mark.requirement("P16")
def test_only_the_deleted_object_loses_its_finalizers(cluster, caplog):
    """Another of its name, and one that is not going, keep them."""
    obj = deleting_object(cluster, manifests.config_map("a"))
    other, _ = made(cluster, manifests.config_map("b"), finalizers=[HELD])
    seen = {A: obj, other: cluster.get(other)}

    taken = finalizers.remove_finalizers(cluster, seen, {A, other}, MANAGER)

    assert {A: (HELD,)} == taken
    assert None is cluster.get(A)
    assert [HELD] == cluster.get(other)["metadata"]["finalizers"]
    warned = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert [f"{A}: finalizers removed"] == [
        record.getMessage().partition(",")[0] for record in warned
    ]

    remade = {A: obj, **{}}
    made(cluster, manifests.config_map("a"), finalizers=[HELD])
    assert {} == finalizers.remove_finalizers(cluster, remade, {A}, MANAGER)


def test_what_the_server_itself_cleans_up_is_left_to_it(cluster):
    """Without it the stored objects of the kind would come back."""
    defined = manifests.definition("example.org", "Thing")
    ref, uid = made(
        cluster,
        defined,
        namespace="",
        finalizers=[HELD, finalizers.CRD_CLEANUP],
    )
    obj = cluster.delete(ref, uid)

    finalizers.remove_finalizers(cluster, {ref: obj}, {ref}, MANAGER)

    left = cluster.get(ref)["metadata"]["finalizers"]
    assert [finalizers.CRD_CLEANUP] == left


def test_an_object_is_named_by_what_the_terminate_deletes(cluster):
    """A deleted one is not an error; a foreign one is."""
    made(cluster, manifests.config_map("theirs"))
    theirs = ObjectRef("", "ConfigMap", "", "theirs")

    assert {A} == finalizers.resolve_requested(
        cluster,
        [A, ObjectRef("", "ConfigMap", "", "gone")],
        {A},
        "one",
        "default",
    )
    with pytest.raises(errors.RequestInvalid, match="default/theirs"):
        finalizers.resolve_requested(cluster, [theirs], {A}, "one", "default")


# -- Orphaned objects ---------------------------------------------------------


@pytest.mark.requirement("F4")
def test_an_orphaned_object_keeps_all_but_the_label(cluster):
    """Even where no other manager applies its fields."""
    ours = manifests.config_map("a", "default")
    ours["metadata"]["labels"] = {objects.INSTANCE: "one", "own": "x"}
    obj = cluster.apply(ours, MANAGER).obj

    there = orphan.orphan(
        cluster,
        {A: objects.uid(obj), ObjectRef("", "ConfigMap", "default", "b"): "u"},
        MANAGER,
    )

    assert {A} == there
    left = cluster.get(A)
    assert {"own": "x"} == left["metadata"]["labels"]
    assert {"key": "value"} == left["data"]


def test_what_has_an_owner_that_stays_is_not_collected(cluster):
    """Only the last of its owners takes an object along."""
    first, one = made(cluster, manifests.config_map("first"))
    second, two = made(cluster, manifests.config_map("second"))
    owners = owned_by(first, one, "v1") + owned_by(second, two, "v1")
    kept, _ = made(cluster, manifests.config_map("a"), ownerReferences=owners)

    assert {} == orphan.find_collected_dependents(
        cluster, [kept], {first: one}
    )
    both = {first: one, second: two}
    assert {kept: first} == orphan.find_collected_dependents(
        cluster, [kept], both
    )


# -- Grace -------------------------------------------------------------------


def test_only_pods_that_are_deleted_have_a_shorter_grace_period(cluster):
    """And none that ends sooner on its own."""
    web, uid = made(cluster, manifests.deployment("web"))
    set_, set_uid = made(
        cluster,
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "web-1"},
            "spec": {},
        },
        ownerReferences=owned_by(web, uid),
    )

    def pod(name, seconds, **metadata):
        spec = {"terminationGracePeriodSeconds": seconds}
        return made(
            cluster,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name},
                "spec": spec,
            },
            **metadata,
        )

    owners = owned_by(set_, set_uid)
    slow, _ = pod("slow", 30, ownerReferences=owners)
    pod("quick", 3, ownerReferences=owners)
    pod("theirs", 30)

    grace_period.shorten_grace_periods(cluster, {web: uid, A: "u"}, 5)

    assert [slow] == [ref for verb, ref in cluster.sent if verb == "delete"]


def test_pods_that_may_not_be_listed_have_their_own_time(cluster):
    """The end does not fail for that."""
    web, uid = made(cluster, manifests.deployment("web"))
    no = errors.Forbidden("list", "pods", "default", "no")
    for kind in (*grace_period.POD_CONTROLLERS, grace_period.POD):
        cluster.fail(no, "list", kind)

    grace_period.shorten_grace_periods(cluster, {web: uid}, 0)

    assert not [ref for verb, ref in cluster.sent if verb == "delete"]


# -- Who holds it ------------------------------------------------------------


def role(name, group, resource):
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "namespace": ""},
        "rules": [
            {"apiGroups": [group], "resources": [resource], "verbs": ["*"]}
        ],
    }


def binding(name, account):
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name, "namespace": ""},
        "roleRef": {"kind": "ClusterRole", "name": name},
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": account,
                "namespace": "default",
            }
        ],
    }


@pytest.fixture
def make_thing(cluster):
    made(cluster, manifests.definition("example.org", "Thing"), namespace="")
    return deleting_object(
        cluster, manifests.custom("example.org", "Thing", "x")
    )


def running(cluster, name, available, **status):
    ref, _ = made(cluster, manifests.deployment(name, serviceAccountName=name))
    cluster.report(ref, {"availableReplicas": available, **status})
    return ref


def test_a_controller_is_found_by_its_rights(cluster, make_thing):
    """One that may do everything to everything is not named for it."""
    for name, group in (("works", "example.org"), ("admin", "*")):
        made(cluster, role(name, group, "things"))
        made(cluster, binding(name, name))
        running(cluster, name, 1)

    (note,) = notes(cluster, make_thing)

    assert (
        f"finalizer {HELD}: its controller Deployment.apps/default/works runs "
        "(1 of 1)"
    ) == note


@pytest.mark.requirement("F6")
def test_the_cause_of_an_unavailable_controller_is_reported(
    cluster, make_thing
):
    """Its own condition has it."""
    running(
        cluster,
        "hold",
        0,
        conditions=[
            {
                "type": "Available",
                "status": "False",
                "message": "Deployment does not have minimum availability.",
            }
        ],
    )

    note, remedy = notes(cluster, make_thing)

    assert "does not run: Deployment does not have minimum" in note
    assert f"--remove-finalizers {ObjectRef.of(make_thing)}" in remedy


@pytest.mark.requirement("F6")
def test_a_controller_without_a_leader_is_reported(cluster, make_thing):
    """Its Pods run, and none of them renews the Lease."""
    running(cluster, "hold", 1)
    for name, holder, at in (
        ("of-hold", "hold-7f-x_1", "2026-01-01T00:00:00.000000Z"),
        ("of-another", "other-5d-y_1", "2026-01-01T00:10:00.000000Z"),
    ):
        made(
            cluster,
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": name},
                "spec": {
                    "holderIdentity": holder,
                    "leaseDurationSeconds": 15,
                    "renewTime": at,
                },
            },
        )

    (note,) = notes(cluster, make_thing)

    assert "its Lease of-hold was last renewed at 00:00:00" in note


def test_the_leader_of_a_longer_name_is_anothers(cluster, make_thing):
    """Names of Pods begin with that of their workload."""
    for name in ("hold", "hold-webhook"):
        running(cluster, name, 1)
    made(
        cluster,
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "of-webhook"},
            "spec": {
                "holderIdentity": "hold-webhook-7f-x_1",
                "renewTime": "2026-01-01T00:00:00.000000Z",
            },
        },
    )

    (note,) = notes(cluster, make_thing)

    assert note.endswith(
        "its controller Deployment.apps/default/hold runs (1 of 1)"
    )


@pytest.mark.requirement("F6")
def test_the_manager_of_an_unknown_finalizer_is_named(cluster, make_thing):
    """By the field manager, and when it last wrote."""
    entries = [
        {
            "manager": "other-manager",
            "time": "2026-01-01T00:00:00Z",
            "fieldsV1": {"f:metadata": {"f:finalizers": {f'v:"{HELD}"': {}}}},
        },
        {"manager": "another", "fieldsV1": {"f:spec": {}}},
    ]
    obj = {**make_thing, "metadata": {**make_thing["metadata"]}}
    obj["metadata"]["managedFields"] = entries

    note, remedy = finalizer_owners.FinalizerDiagnosis(cluster).describe(obj)

    assert (
        f"finalizer {HELD}: set by other-manager, which last wrote to the "
        "object at 2026-01-01T00:00:00Z; "
        "no workload of this cluster is known by that name"
    ) == note
    assert f"--remove-finalizers {ObjectRef.of(make_thing)}" in remedy


@pytest.mark.requirement("F6")
def test_finalizers_of_kubernetes_are_explained(cluster):
    """And the garbage collector's which objects are left."""
    ref, uid = made(
        cluster,
        manifests.config_map("a"),
        finalizers=["foregroundDeletion", "kubernetes.io/pvc-protection"],
    )
    obj = cluster.delete(ref, uid)
    made(
        cluster,
        manifests.config_map("b"),
        finalizers=[HELD],
        ownerReferences=owned_by(ref, uid, "v1"),
    )

    found = notes(cluster, obj)

    assert (
        f"it owns ConfigMap/default/b, which still exists, held by {HELD}"
        in found
    )
    assert any("no Pod on a node uses the claim" in note for note in found)


def test_a_paused_object_is_reported(cluster):
    """Its controllers ignore it: no deletion would ever complete."""
    made(cluster, manifests.definition("example.org", "Thing"), namespace="")
    obj = deleting_object(
        cluster, manifests.custom("example.org", "Thing", "x", paused=True)
    )

    assert any("it is paused" in note for note in notes(cluster, obj))


def test_the_remaining_content_of_a_namespace_is_reported():
    """In the words of its own conditions."""
    obj = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "x"},
        "status": {
            "conditions": [
                {
                    "type": "NamespaceContentRemaining",
                    "status": "True",
                    "message": "things.example.org has 1 resource instances",
                },
                {
                    "type": "NamespaceDeletionDiscoveryFailure",
                    "status": "False",
                    "message": "All resources successfully discovered",
                },
            ]
        },
    }

    assert [
        "NamespaceContentRemaining is True: things.example.org has 1 "
        "resource instances"
    ] == list(finalizer_owners.deletion_conditions(obj))


def test_references_to_absent_objects_are_named(cluster):
    """Of either form, with a kind or by the name of the key."""
    made(cluster, manifests.config_map("there"))
    obj = {
        "metadata": {"namespace": "default"},
        "spec": {
            "infrastructureRef": {
                "apiGroup": "infra.example.org",
                "kind": "Net",
                "name": "gone",
            },
            "identityRef": {"name": "cloud"},
            "configMapRef": {"name": "there"},
            "parts": [{"credentialsSecretRef": {"name": "key"}}],
            "tls": {"secretName": "cert"},
            "other": {"kind": "Plan", "name": "of-no-group"},
        },
    }

    assert {
        ObjectRef("infra.example.org", "Net", "default", "gone"),
        ObjectRef("", "Secret", "default", "cloud"),
        ObjectRef("", "Secret", "default", "key"),
        ObjectRef("", "Secret", "default", "cert"),
    } == set(missing_references.find_missing(cluster, obj))


def test_stuck_objects_are_reported_before_the_deadline(
    cluster, make_thing, caplog
):
    """At once where nothing lets it go; all of it after half a minute.

    That is reported again at twice the time.
    """
    now = [0.0]
    deadline = Deadline.after(1000, lambda: now[0])
    ref = ObjectRef.of(make_thing)
    progress = (
        WaitState(kinds.BUILT_IN, Goal.DELETED)
        .with_awaited({ref: AwaitedObject(objects.uid(make_thing), 0, 0)})
        .with_observed([make_thing], 0)
    )
    waiting = DeletionWatchdog(cluster, deadline, lambda p: None, lambda: None)
    waiting.listen(progress)

    told = []
    for second in range(0, 100, 5):
        now[0] = float(second)
        caplog.clear()
        waiting.guard()
        if any(r.levelno == logging.WARNING for r in caplog.records):
            told.append(second)

    assert [5, 30, 60] == told
    assert 0 == len(caplog.records)


# -- Workload clusters -------------------------------------------------------


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://far.example.org:6443"}}]
users: [{name: a, user: {token: planted-token}}]
"""


def workload(cluster, *, initialized=True):
    cluster.apply(
        manifests.definition("cluster.x-k8s.io", "Cluster"), "other-manager"
    )
    made(
        cluster,
        {
            "apiVersion": "cluster.x-k8s.io/v1",
            "kind": "Cluster",
            "metadata": {"name": "site"},
            "spec": {},
        },
    )
    initialization = {"controlPlaneInitialized": initialized}
    cluster.report(WORKLOAD, {"initialization": initialization})
    made(
        cluster,
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "site-kubeconfig"},
            "data": {"value": base64.b64encode(KUBECONFIG.encode()).decode()},
        },
    )


def cleared(cluster, far, *what, deadline=None):
    return workload_cleanup.clean_up(
        cluster,
        WORKLOAD,
        frozenset(what),
        deadline or Deadline.after(100.0),
        connect=lambda kubeconfig: far,
    )


def service(name, sort):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"type": sort},
    }


@pytest.mark.requirement("P18")
def test_claims_are_deleted_with_all_their_users(cluster):
    """Only on request; Pods without claims stay."""
    far = FakeCluster()
    workload(cluster)
    made(far, service("balancer", "LoadBalancer"))
    web, _ = made(far, manifests.deployment("web"))
    db, uid = made(
        far,
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "db"},
            "spec": {},
        },
    )
    claim, _ = made(
        far,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data-db-0"},
            "spec": {},
        },
    )
    volume = {"persistentVolumeClaim": {"claimName": "data-db-0"}}
    pod, _ = made(
        far,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "db-0"},
            "spec": {"volumes": [{"name": "data", **volume}]},
        },
        ownerReferences=owned_by(db, uid),
    )
    other, _ = made(
        far,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "other"},
            "spec": {"volumes": [{"name": "tmp", "emptyDir": {}}]},
        },
    )

    assert {db, pod, claim} == set(
        cleared(cluster, far, workload_cleanup.CLAIMS)
    )

    assert far.get(other)

    assert None is far.get(db)
    assert None is far.get(claim)
    assert far.get(web)
    assert far.get(ObjectRef("", "Service", "default", "balancer"))


@pytest.mark.requirement("P18")
def test_data_stays_unless_it_is_asked_for(cluster):
    """Load balancers alone go without it."""
    far = FakeCluster()
    workload(cluster)
    balancer, _ = made(far, service("balancer", "LoadBalancer"))
    inside, _ = made(far, service("inside", "ClusterIP"))
    claim, _ = made(
        far,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {},
        },
    )

    assert (balancer,) == cleared(cluster, far, workload_cleanup.SERVICES)

    assert far.get(inside)
    assert far.get(claim)


def test_a_cluster_that_never_worked_is_not_asked(cluster):
    """Nothing could have been made in it."""
    workload(cluster, initialized=False)

    def refuse(kubeconfig):
        raise AssertionError("no request is expected")

    assert () == workload_cleanup.clean_up(
        cluster,
        WORKLOAD,
        frozenset(workload_cleanup.ALL),
        Deadline.after(100),
        connect=refuse,
    )


def test_a_cluster_without_its_kubeconfig_stays(cluster):
    """Its cloud resources would be left without a report."""
    workload(cluster)
    secret = ObjectRef("", "Secret", "default", "site-kubeconfig")
    cluster.delete(secret, objects.uid(cluster.get(secret)))

    with pytest.raises(errors.CleanupFailed) as caught:
        cleared(cluster, FakeCluster(), workload_cleanup.SERVICES)

    assert f"it has no kubeconfig, {secret}" in str(caught.value)
    assert "terminate without cleanup" in str(caught.value)


def test_an_unreachable_cluster_stays_and_the_next_step_is_named(cluster):
    """The error shows nothing of the credential."""
    far = FakeCluster()
    workload(cluster)
    away = errors.Unreachable("https://far.example.org:6443", "no answer")
    far.fail(away, "list")

    with pytest.raises(errors.CleanupFailed, match="no answer") as caught:
        cleared(cluster, far, workload_cleanup.SERVICES)

    assert "terminate without cleanup" in str(caught.value)
    assert "planted" not in str(caught.value)


def test_a_late_deletion_has_begun_and_timed_out(cluster, clock):
    """The exit code is that of a time-out, as without a workload cluster."""
    far = FakeCluster(idle=clock.idle)
    workload(cluster)
    made(far, service("balancer", "LoadBalancer"), finalizers=[HELD])

    with pytest.raises(errors.CleanupFailed) as caught:
        cleared(
            cluster,
            far,
            workload_cleanup.SERVICES,
            deadline=Deadline.after(20, clock),
        )

    assert caught.value.deadline_passed
    assert caught.value.has_written
    far.fail(errors.Forbidden("list", "services", "", "no"), "list")
    with pytest.raises(errors.CleanupFailed) as caught:
        cleared(cluster, far, workload_cleanup.SERVICES)
    assert not caught.value.deadline_passed
    assert not caught.value.has_written


# -- Ends that are repeated --------------------------------------------------


def test_what_was_to_be_kept_is_kept_by_the_next_try(cluster):
    """Though its request does not say so again."""
    given = Package(
        "test",
        tuple(
            Document(manifest, "a.yaml")
            for manifest in (
                manifests.config_map("a"),
                {
                    **manifests.config_map("b"),
                    "metadata": {"name": "b", "finalizers": [HELD]},
                },
            )
        ),
    )
    now = [0.0]
    cluster.world.idle = lambda seconds: now.__setitem__(0, now[0] + 5)

    def life():
        return {"deadline": Deadline.after(60, lambda: now[0])}

    lcm.instantiate(lcm.Request(cluster, "one", **life()), given)
    options = Options(on_terminate={A: True})
    with pytest.raises(errors.DeletionTimeout):
        lcm.terminate(lcm.Request(cluster, "one", options=options, **life()))
    other = ObjectRef("", "ConfigMap", "default", "b")
    cluster.patch(other, {"metadata": {"finalizers": None}}, "other-manager")

    report = lcm.terminate(lcm.Request(cluster, "one", **life()))

    assert cluster.get(A)
    assert [A] == [
        r.ref for r in report.objects if r.action is Action.RETAINED
    ]


def test_a_write_after_the_terminate_is_deleted_with_the_next_one(cluster):
    """A write may get no answer, and reach etcd when all is removed."""
    given = Package("test", (Document(manifests.config_map("a"), "a.yaml"),))
    sent = []

    def seen(_fake, obj):
        if obj["kind"] in ("ConfigMap", "Secret"):
            sent.append(obj)

    cluster.world.controller = seen
    lcm.instantiate(
        lcm.Request(cluster, "one", deadline=Deadline.never()), given
    )
    cluster.world.controller = None
    lcm.terminate(lcm.Request(cluster, "one", deadline=Deadline.never()))
    head = "tacker-k8s-cr.one"
    late = {
        objects.ObjectRef.of(obj): obj
        for obj in sent
        if obj["metadata"]["name"] != head
    }
    for obj in late.values():
        kept = ("name", "namespace", "labels")
        metadata = {key: obj["metadata"][key] for key in kept}
        cluster.apply({**obj, "metadata": metadata}, f"{objects.MANAGER}one")
    assert {"ConfigMap", "Secret"} == {ref.kind for ref in late}

    lcm.terminate(lcm.Request(cluster, "one", deadline=Deadline.never()))

    assert [] == [ref for ref in late if cluster.get(ref)]
    with pytest.raises(errors.InstanceNotFound):
        lcm.terminate(lcm.Request(cluster, "one", deadline=Deadline.never()))
