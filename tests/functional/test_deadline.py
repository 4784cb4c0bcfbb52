"""An operation ends in time, and says why it did not end well."""

from __future__ import annotations

import threading

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.recording import lock
from tests.functional import manifests

pytestmark = pytest.mark.plane


def test_every_object_that_is_not_current_is_named(
    cluster, namespace, packed, deadline, unique
):
    """With state, reason, age and the words of what it made (P14, T10)."""
    stuck = manifests.deployment("web", nodeSelector={"no": "such-node"})
    package = packed(stuck, manifests.config_map("a"))

    with pytest.raises(errors.NotReady) as caught:
        k8s_cr.instantiate(
            cluster,
            unique,
            package,
            namespace=namespace,
            deadline=k8s_cr.Deadline.after(5),
        )

    (item,) = caught.value.unsettled
    assert "web" == item.ref.name
    assert 2 < item.age < 8
    assert any("FailedScheduling" in note for note in item.notes)
    assert 2 == len(caught.value.written)
    k8s_cr.terminate(cluster, unique, namespace=namespace, deadline=deadline)


def test_the_journal_says_how_far_it_came(
    cluster, namespace, packed, deadline, unique
):
    """Who comes next reads it, and takes the operation up."""
    stuck = manifests.deployment("web", nodeSelector={"no": "such-node"})
    life = {"namespace": namespace}
    with pytest.raises(errors.NotReady):
        k8s_cr.instantiate(
            cluster,
            unique,
            packed(stuck),
            deadline=k8s_cr.Deadline.after(3),
            **life,
        )

    report = k8s_cr.status(cluster, unique, deadline=deadline, **life)
    assert "instantiating" == report.phase
    k8s_cr.instantiate(
        cluster,
        unique,
        packed(manifests.deployment("web")),
        deadline=deadline,
        **life,
    )
    k8s_cr.terminate(cluster, unique, deadline=deadline, **life)


def test_what_a_finalizer_holds_back_is_explained(
    cluster, namespace, packed, deadline, unique
):
    """Terminate names the object and its finalizer (P16)."""
    held = manifests.config_map("a")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    life = {"namespace": namespace}
    k8s_cr.instantiate(
        cluster, unique, packed(held), deadline=deadline, **life
    )

    with pytest.raises(errors.NotGone, match=r"example\.org/hold"):
        k8s_cr.terminate(
            cluster, unique, deadline=k8s_cr.Deadline.after(3), **life
        )

    ref = objects.ObjectRef("", "ConfigMap", namespace, "a")
    cluster.patch(ref, {"metadata": {"finalizers": None}}, "tests")
    k8s_cr.terminate(cluster, unique, deadline=deadline, **life)


def test_a_failed_job_ends_the_wait_at_once(
    cluster, namespace, packed, deadline, unique
):
    """Failure that is certain is not waited for (P15)."""
    failed = {objects.PREFIX + "failed-when": "status.verdict=bad"}
    group = f"{unique}.example.org"
    thing = manifests.custom(group, "Thing", "one", failed)
    ref = objects.ObjectRef(group, "Thing", namespace, "one")
    played = threading.Event()

    def play(progress):
        # The test plays the controller, when the object is there.
        if ref in progress.awaited and not played.is_set():
            played.set()
            cluster.patch(
                ref,
                {"status": {"verdict": "bad"}},
                "controller",
                subresource="status",
            )

    with pytest.raises(errors.Failed) as caught:
        k8s_cr.instantiate(
            cluster,
            unique,
            packed(manifests.definition(group, "Thing"), thing),
            namespace=namespace,
            deadline=deadline,
            listen=play,
        )

    assert [ref] == [item.ref for item in caught.value.unsettled]
    k8s_cr.terminate(cluster, unique, namespace=namespace, deadline=deadline)


def test_a_resource_that_never_reports_names_the_rule_to_add(
    cluster, namespace, packed, deadline, unique
):
    """An unknown kind is not current before it says so (P1, P2)."""
    group = f"{unique}.example.org"
    package = packed(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "one"),
    )

    with pytest.raises(errors.NotReady, match="current-when"):
        k8s_cr.instantiate(
            cluster,
            unique,
            package,
            namespace=namespace,
            deadline=k8s_cr.Deadline.after(4),
        )
    k8s_cr.terminate(cluster, unique, namespace=namespace, deadline=deadline)


def test_a_kind_without_status_is_current_once_stored(
    cluster, namespace, packed, deadline, unique
):
    """There is nobody who could report anything (P2)."""
    group = f"{unique}.example.org"
    package = packed(
        manifests.definition(group, "Thing", status=False),
        manifests.custom(group, "Thing", "one"),
    )
    life = {"namespace": namespace, "deadline": deadline}

    k8s_cr.instantiate(cluster, unique, package, **life)
    k8s_cr.terminate(cluster, unique, **life)


def test_a_second_operation_is_refused_while_the_first_runs(
    cluster, namespace, packed, deadline, unique
):
    """The holder of the lock is named, and nothing is mixed (M6)."""
    with (
        lock.locked(cluster, unique, namespace, deadline),
        pytest.raises(errors.Busy),
    ):
        k8s_cr.instantiate(
            cluster,
            unique,
            packed(manifests.config_map("a")),
            namespace=namespace,
            deadline=deadline,
        )

    k8s_cr.instantiate(
        cluster,
        unique,
        packed(manifests.config_map("a")),
        namespace=namespace,
        deadline=deadline,
    )
    k8s_cr.terminate(cluster, unique, namespace=namespace, deadline=deadline)
