"""A wait for members: until they may go, and until others are there."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.lcm.healing import remediation
from tacker_k8s_cr.lcm.healing import wait_replaced
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.journal import MemberRef
from tacker_k8s_cr.wait.progress import AwaitedObject
from tacker_k8s_cr.wait.progress import WaitState
from tests.fakes import FakeCluster
from tests.functional import manifests
from tests.unit.lcm.test_heal import machine

GROUP = "cluster.x-k8s.io"
KEEPER = ObjectRef(
    f"controlplane.{GROUP}", "KubeadmControlPlane", "default", "k"
)


@pytest.fixture
def cluster(clock):
    found = FakeCluster(idle=clock.idle)
    found.create(manifests.definition(GROUP, "Machine"), "test")
    kind = "KubeadmControlPlane"
    found.create(manifests.definition(f"controlplane.{GROUP}", kind), "test")
    found.create(
        {
            "apiVersion": f"controlplane.{GROUP}/v1",
            "kind": kind,
            "metadata": {"name": "k", "namespace": "default"},
            "spec": {"replicas": 3},
        },
        "test",
    )
    return found


@pytest.fixture
def make(cluster):
    """Store a machine of the control plane; its UID."""

    def made(name, *, held=False, ready=True, **condition):
        given = machine(name, control_plane=True, ready=ready)
        given["apiVersion"] = f"{GROUP}/v1"
        metadata = given["metadata"]
        del metadata["uid"]
        metadata["labels"][f"{GROUP}/control-plane-name"] = "k"
        metadata["ownerReferences"][0]["uid"] = objects.uid(
            cluster.get(KEEPER)
        )
        if held:
            metadata["finalizers"] = ["example.org/held"]
        obj = cluster.create(given, "test")
        status = given["status"]
        if condition:
            said = {"status": "False", **condition}
            status["conditions"].append(said)
        cluster.report(ObjectRef.of(obj), status)
        return objects.uid(obj)

    return made


@pytest.fixture
def waited(cluster, clock):
    def wait(old, seconds=60, *, stall_timeout=20.0, patient=False, **wanted):
        uid = objects.uid(cluster.get(KEEPER))
        progress = WaitState(
            kinds.BUILT_IN, stall_timeout=stall_timeout, wait_all=patient
        )
        wait_replaced.wait_replaced(
            cluster,
            wait_replaced.ReplacementGoal(
                frozenset(old),
                frozenset({GroupKind(GROUP, "Machine")}),
                {KEEPER: uid},
                **wanted,
            ),
            progress.with_awaited({KEEPER: AwaitedObject(uid, 0, clock.now)}),
            Deadline.after(seconds, clock),
            listen=lambda progress: None,
            guard=lambda: None,
        )

    return wait


def test_a_machine_waits_while_another_is_being_deleted(cluster, make, waited):
    """Whichever client requested it: it waits for the replacement."""
    old = {make("a")}
    make("b")
    held = make("c", held=True)
    ref = ObjectRef(GROUP, "Machine", "default", "c")
    cluster.delete(ref, held)

    with pytest.raises(
        errors.ReadinessTimeout, match=r"Machine.*/c is being deleted"
    ):
        waited(old, before=True)

    cluster.patch(ref, {"metadata": {"finalizers": None}}, "test")
    with pytest.raises(
        errors.ReadinessTimeout, match=r"2 of 3 Machine\(s\) exist"
    ):
        waited(old, before=True)
    make("d")
    waited(old, before=True)


def test_machines_that_are_replaced_later_need_not_be_healthy(make, waited):
    """Their turn is to come; without it the heal would wait for ever."""
    make("a")
    make("b")
    sick = make("c", ready=False)

    with pytest.raises(errors.ReadinessTimeout, match="2 of 3 member"):
        waited({"gone"})

    waited({"gone"}, later=frozenset({sick}))


def test_an_annotation_that_no_controller_follows_ends_the_heal(
    clock, make, waited
):
    """With the message of its controller, long before the deadline."""
    make("a")
    make("b")
    marked = make(
        "c",
        type="OwnerRemediated",
        reason="CannotBeRemediated",
        message="etcd would lose its quorum",
    )

    with pytest.raises(
        errors.ObjectsFailed, match="etcd would lose its quorum"
    ):
        waited({marked}, 600)

    assert clock.now < 60


def test_a_machine_deleted_meanwhile_needs_no_annotation(cluster, make):
    """What it was to come to has come; another's of its name is not touched.

    The mark goes to the UID.
    """
    other = make("a")
    ref = ObjectRef(GROUP, "Machine", "default", "a")
    missing = ObjectRef(GROUP, "Machine", "default", "b")
    goers = [
        MemberRef(ref, "former", KEEPER),
        MemberRef(missing, "gone", KEEPER),
    ]

    remediation.request_remediation(cluster, goers, "test", lambda: None)

    assert not remediation.is_annotated(cluster.get(ref))
    remediation.request_remediation(
        cluster, [MemberRef(ref, other, KEEPER)], "test", lambda: None
    )
    assert remediation.is_annotated(cluster.get(ref))


def test_a_wait_for_a_deleted_object_ends(cluster, waited):
    """No controller creates members for it any more."""
    uid = objects.uid(cluster.get(KEEPER))
    cluster.delete(KEEPER, uid)
    cluster.create(
        {
            "apiVersion": f"controlplane.{GROUP}/v1",
            "kind": "KubeadmControlPlane",
            "metadata": {"name": "k", "namespace": "default"},
            "spec": {"replicas": 3},
        },
        "test",
    )
    gone = {KEEPER: uid}

    with pytest.raises(
        errors.ObjectsFailed, match="deleted by another client"
    ):
        wait_replaced.wait_replaced(
            cluster,
            wait_replaced.ReplacementGoal(frozenset({"a"}), frozenset(), gone),
            WaitState(kinds.BUILT_IN).with_awaited(
                {KEEPER: AwaitedObject(uid, 0, 0)}
            ),
            Deadline.after(60),
            listen=lambda progress: None,
            guard=lambda: None,
        )
