"""An operation ends in time, and reports why it failed."""

from __future__ import annotations

import os
import socket
import threading

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.state import leases
from tests.functional import manifests

pytestmark = pytest.mark.plane


def job(name, **spec):
    """Its Pod finds no node, and so never ends on its own."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "nodeSelector": {"no": "such-node"},
                    "containers": [
                        {"name": "main", "image": "example.org/a:1"}
                    ],
                }
            },
            **spec,
        },
    }


@pytest.mark.requirement("T10", "P14", "C7")
def test_every_object_that_is_not_current_is_named(make_request, make_package):
    """With state, reason, age and the words of what it made."""
    names = {"web", "db"}
    stuck = (
        manifests.deployment(name, nodeSelector={"no": "such-node"})
        for name in names
    )
    package = make_package(*stuck, manifests.config_map("a"))

    with pytest.raises(errors.ReadinessTimeout) as caught:
        k8s_cr.instantiate(make_request(timeout=5), package)

    assert names == {item.ref.name for item in caught.value.pending}
    for item in caught.value.pending:
        assert 2 < item.age < 8
        line = f"{item.ref}: in progress: availableReplicas 0/1 (for "
        assert f"{line}{item.age:.0f} s)" in str(caught.value)
        assert any("FailedScheduling" in note for note in item.notes)
        assert all(note in str(caught.value) for note in item.notes)
    assert 3 == len(caught.value.written)
    k8s_cr.terminate(make_request())


@pytest.mark.requirement("P21")
def test_the_journal_has_the_progress_of_the_operation(
    make_request, make_package
):
    """Who comes next reads it, and takes the operation up."""
    stuck = manifests.deployment("web", nodeSelector={"no": "such-node"})
    with pytest.raises(errors.ReadinessTimeout):
        k8s_cr.instantiate(make_request(timeout=3), make_package(stuck))

    report = k8s_cr.status(make_request())
    assert "instantiating" == report.phase
    k8s_cr.instantiate(
        make_request(), make_package(manifests.deployment("web"))
    )
    k8s_cr.terminate(make_request())


def test_what_a_finalizer_holds_back_is_explained(
    cluster, namespace, make_package, make_request
):
    """Terminate names the object and its finalizer."""
    held = manifests.config_map("a")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    k8s_cr.instantiate(make_request(), make_package(held))

    with pytest.raises(errors.DeletionTimeout, match=r"example\.org/hold"):
        k8s_cr.terminate(make_request(timeout=3))

    ref = objects.ObjectRef("", "ConfigMap", namespace, "a")
    cluster.patch(ref, {"metadata": {"finalizers": None}}, "tests")
    k8s_cr.terminate(make_request())


@pytest.mark.requirement("P15", "C4")
def test_a_job_that_failed_ends_the_wait_at_once(
    cluster, namespace, make_package, make_request
):
    """Long before the deadline; the Deployment is not waited for any more.

    The Job controller itself reports that the Job has failed at its deadline.
    The error contains its message.
    """
    waiting = manifests.deployment("web", nodeSelector={"no": "such-node"})
    package = make_package(job("migrate", activeDeadlineSeconds=1), waiting)
    ref = objects.ObjectRef("batch", "Job", namespace, "migrate")
    hour = k8s_cr.Deadline.after(3600)

    with pytest.raises(errors.ObjectsFailed) as caught:
        k8s_cr.instantiate(make_request(deadline=hour), package)

    failed = {
        item.ref: item.verdict
        for item in caught.value.pending
        if item.verdict.state is State.FAILED
    }
    assert [ref] == list(failed)
    assert "DeadlineExceeded" in failed[ref].reason
    assert hour.remaining > 3400
    assert caught.value.seconds < 200
    # The Job controller may still be deleting the Pod.
    conditions = cluster.get(ref)["status"]["conditions"]
    assert {"FailureTarget", "Failed"} & {c["type"] for c in conditions}
    k8s_cr.terminate(make_request())


@pytest.mark.requirement("P15")
def test_on_request_all_settle_before_a_failure_ends_the_wait(
    cluster, namespace, make_package, make_request
):
    """The other object is current by then, so the error names the Job only."""
    slow = manifests.deployment("web", 3)
    package = make_package(job("migrate", activeDeadlineSeconds=1), slow)
    web = objects.ObjectRef("apps", "Deployment", namespace, "web")

    with pytest.raises(errors.ObjectsFailed) as caught:
        k8s_cr.instantiate(
            make_request(
                timeout=3600, options=k8s_cr.Options(on_failure="wait_all")
            ),
            package,
        )

    assert ["migrate"] == [item.ref.name for item in caught.value.pending]
    assert 3 == cluster.get(web)["status"]["availableReplicas"]
    k8s_cr.terminate(make_request())


def test_a_failed_when_rule_ends_the_wait_at_once(
    cluster, namespace, make_package, make_request, unique_name
):
    """Failure that is certain is not waited for."""
    failed = {objects.PREFIX + "failed-when": "status.verdict=bad"}
    group = f"{unique_name}.example.org"
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

    with pytest.raises(errors.ObjectsFailed) as caught:
        k8s_cr.instantiate(
            make_request(on_progress=play),
            make_package(manifests.definition(group, "Thing"), thing),
        )

    assert [ref] == [item.ref for item in caught.value.pending]
    k8s_cr.terminate(make_request())


@pytest.mark.requirement("P1", "C2", "C5")
def test_a_resource_that_never_reports_names_the_rule_to_add(
    make_request, make_package, unique_name
):
    """An unknown kind is not current before its status reports it."""
    group = f"{unique_name}.example.org"
    package = make_package(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "one"),
    )

    with pytest.raises(errors.ReadinessTimeout, match="ready-when"):
        k8s_cr.instantiate(make_request(timeout=4), package)
    k8s_cr.terminate(make_request())


def test_a_kind_without_status_is_current_once_stored(
    make_request, make_package, unique_name
):
    """There is no controller that could report anything."""
    group = f"{unique_name}.example.org"
    package = make_package(
        manifests.definition(group, "Thing", status=False),
        manifests.custom(group, "Thing", "one"),
    )

    k8s_cr.instantiate(make_request(), package)
    k8s_cr.terminate(make_request())


@pytest.mark.requirement("M6")
def test_a_second_operation_is_refused_while_the_first_runs(
    cluster, namespace, make_package, make_request, unique_name
):
    """The error names the holder, as the Lease does; nothing is written.

    The first operation completes as if there had been no other.
    """
    package = make_package(
        manifests.config_map("a"), manifests.deployment("web")
    )
    other = make_package(manifests.config_map("b"), name="other")
    lease = leases.ref(unique_name, namespace)
    refused = []

    def interfere(progress):
        locked = cluster.get(lease)
        if refused or locked is None:
            return
        holder = locked["spec"]["holderIdentity"]
        for operation in (
            lambda: k8s_cr.instantiate(make_request(), other),
            lambda: k8s_cr.terminate(make_request()),
        ):
            with pytest.raises(errors.OperationInProgress) as caught:
                operation()
            refused.append((caught.value, holder))

    k8s_cr.instantiate(make_request(on_progress=interfere), package)

    assert 2 == len(refused)
    for error, holder in refused:
        # The machine and the process, and a number of this operation.
        assert holder.startswith(f"{socket.gethostname()}/{os.getpid()}/")
        assert holder == error.holder
        assert f"its lock is held by {holder}" in str(error)
    assert cluster.get(objects.ObjectRef("", "ConfigMap", namespace, "a"))
    b = objects.ObjectRef("", "ConfigMap", namespace, "b")
    assert cluster.get(b) is None
    report = k8s_cr.status(make_request())
    assert "instantiated" == report.phase
    k8s_cr.terminate(make_request())
