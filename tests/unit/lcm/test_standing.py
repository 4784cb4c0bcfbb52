"""How an instance stands while, or after, objects of it were deleted."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.cli import tree
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.recording.ledger import Ledger
from tacker_k8s_cr.report import Action
from tests.functional import manifests
from tests.unit.packages import package

HOLD = "example.org/hold"


def ref(name, kind="ConfigMap", group=""):
    return ObjectRef(group, kind, "default", name)


def held(manifest):
    manifest["metadata"]["finalizers"] = [HOLD]
    return manifest


def gone(cluster, one):
    cluster.delete(one, objects.uid(cluster.get(one)))


@pytest.fixture
def ending(cluster, clock, life):
    """An instance whose end timed out, in the stage of two ConfigMaps."""
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "later"},
    }
    space = manifests.namespace("space")
    given = package(
        manifests.config_map("goes"),
        held(manifests.config_map("hangs")),
        account,
        space,
    )
    lcm.instantiate(cluster, "one", given, **life)
    with pytest.raises(errors.NotGone):
        lcm.terminate(cluster, "one", deadline=Deadline.after(5, clock))


def rows(cluster, life):
    report = lcm.status(cluster, "one", **life)
    return {row.ref.name: row for row in report.rows}, report


def test_what_an_instance_deleted_itself_has_not_failed(cluster, life, ending):
    """Its own termination did, which timed out for another object."""
    found, report = rows(cluster, life)

    assert Action.DELETED is found["goes"].action
    assert State.CURRENT is found["goes"].verdict.state
    assert "deleted by the terminate of this instance" == (
        found["goes"].verdict.reason
    )
    assert State.TERMINATING is found["hangs"].verdict.state
    assert State.CURRENT is found["space"].verdict.state
    shown = io.StringIO()
    Console(file=shown, width=200).print(tree.tree(report, 200))
    assert "goes  gone  deleted by the terminate of" in shown.getvalue()


def test_what_a_later_stage_would_delete_was_removed_by_another(
    cluster, life, ending
):
    """Its deletion was not requested yet."""
    gone(cluster, ObjectRef("", "Namespace", "", "space"))

    found, _ = rows(cluster, life)

    assert State.FAILED is found["space"].verdict.state


def test_what_a_change_deleted_has_not_failed(cluster, clock, life):
    """It took away what the new package no longer names."""
    first = package(
        manifests.config_map("stays"),
        manifests.config_map("goes"),
        held(manifests.config_map("hangs")),
    )
    second = package(manifests.config_map("stays"))
    lcm.instantiate(cluster, "one", first, **life)
    with pytest.raises(errors.NotGone):
        lcm.change(cluster, "one", second, deadline=Deadline.after(5, clock))

    found, _ = rows(cluster, life)

    assert "deleted by the change of this instance" == (
        found["goes"].verdict.reason
    )
    gone(cluster, ref("stays"))
    found, _ = rows(cluster, life)
    assert State.FAILED is found["stays"].verdict.state


def test_an_operation_that_came_too_late_says_what_to_do(cluster, life):
    """Another one has ended between its look and its lock."""
    given = package(manifests.config_map("a"))
    lcm.instantiate(cluster, "one", given, **life)
    ledger = Ledger(cluster, "one", "default")
    ledger.read()
    lcm.change(cluster, "one", package(manifests.config_map("b")), **life)

    with (
        pytest.raises(errors.Busy) as caught,
        ledger.locked(life["deadline"]),
    ):
        """It is refused before it can do anything."""

    assert (
        "the instance one was changed by another operation after this one had "
        "read its record; nothing was written: run this operation again"
    ) == str(caught.value)


def test_a_claim_is_judged_by_its_class_as_while_it_was_waited_for(
    cluster, clock, life
):
    """A pod uses it, so a class that is not there is what it lacks."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "storageClassName": "none",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    with pytest.raises(errors.NotReady) as caught:
        lcm.instantiate(
            cluster, "one", package(claim), deadline=Deadline.after(5, clock)
        )
    (waited,) = caught.value.unsettled

    found, _ = rows(cluster, life)

    assert waited.verdict.reason == found["data"].verdict.reason


def test_an_operation_that_has_not_completed_is_a_warning(
    cluster, clock, life
):
    """With its error, and the objects that are not written."""
    given = package(manifests.config_map("a"), manifests.config_map("b"))
    cluster.fail(errors.Unavailable("b", 503, "no"), "patch", ref("b"))
    with pytest.raises(errors.Unavailable):
        lcm.instantiate(
            cluster, "one", given, options=Options(dry_run=False), **life
        )

    _, report = rows(cluster, life)

    first, second = report.warnings
    assert first.startswith("instantiate has not completed: b: no (503")
    assert "not written yet: 1 object(s): ConfigMap/default/b" == second
    lcm.instantiate(cluster, "one", given, **life)
    assert () == rows(cluster, life)[1].warnings
