"""How an instance stands while, or after, objects of it were deleted."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tacker_k8s_cr.cli import tree
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state.session import RecordSession
from tests.functional import manifests
from tests.unit.packages import make_package

HOLD = "example.org/hold"


def ref(name, kind="ConfigMap", group=""):
    return ObjectRef(group, kind, "default", name)


def held(manifest):
    manifest["metadata"]["finalizers"] = [HOLD]
    return manifest


def delete_object(cluster, one):
    cluster.delete(one, objects.uid(cluster.get(one)))


@pytest.fixture
def terminating_instance(cluster, clock, operation_args):
    """An instance whose end timed out, in the stage of two ConfigMaps."""
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "later"},
    }
    space = manifests.namespace("space")
    given = make_package(
        manifests.config_map("goes"),
        held(manifests.config_map("hangs")),
        account,
        space,
    )
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    with pytest.raises(errors.DeletionTimeout):
        lcm.terminate(
            lcm.Request(cluster, "one", deadline=Deadline.after(5, clock))
        )


def rows(cluster, life):
    report = lcm.status(lcm.Request(cluster, "one", **life))
    return {row.ref.name: row for row in report.objects}, report


def test_an_object_deleted_by_its_instance_has_not_failed(
    cluster, operation_args, terminating_instance
):
    """Its own termination did, which timed out for another object."""
    found, report = rows(cluster, operation_args)

    assert Action.DELETED is found["goes"].action
    assert State.CURRENT is found["goes"].verdict.state
    assert "deleted by the terminate of this instance" == (
        found["goes"].verdict.reason
    )
    assert State.TERMINATING is found["hangs"].verdict.state
    assert State.CURRENT is found["space"].verdict.state
    shown = io.StringIO()
    Console(file=shown, width=200).print(tree.build_tree(report, 200))
    assert "goes  deleted  deleted by the terminate of" in shown.getvalue()


def test_what_a_later_stage_would_delete_was_removed_by_another(
    cluster, operation_args, terminating_instance
):
    """Its deletion was not requested yet."""
    delete_object(cluster, ObjectRef("", "Namespace", "", "space"))

    found, _ = rows(cluster, operation_args)

    assert State.FAILED is found["space"].verdict.state


def test_what_a_change_deleted_has_not_failed(cluster, clock, operation_args):
    """It took away what the new package no longer names."""
    first = make_package(
        manifests.config_map("stays"),
        manifests.config_map("goes"),
        held(manifests.config_map("hangs")),
    )
    second = make_package(manifests.config_map("stays"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), first)
    with pytest.raises(errors.DeletionTimeout):
        lcm.change(
            lcm.Request(cluster, "one", deadline=Deadline.after(5, clock)),
            second,
        )

    found, _ = rows(cluster, operation_args)

    assert "deleted by the change of this instance" == (
        found["goes"].verdict.reason
    )
    delete_object(cluster, ref("stays"))
    found, _ = rows(cluster, operation_args)
    assert State.FAILED is found["stays"].verdict.state


def test_a_late_operation_reports_the_next_step(cluster, operation_args):
    """Another one has ended between its look and its lock."""
    given = make_package(manifests.config_map("a"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    ledger = RecordSession(cluster, "one", "default")
    ledger.read()
    lcm.change(
        lcm.Request(cluster, "one", **operation_args),
        make_package(manifests.config_map("b")),
    )

    with (
        pytest.raises(errors.OperationInProgress) as caught,
        ledger.locked(operation_args["deadline"]),
    ):
        """It is refused before it can do anything."""

    assert (
        "instance one was changed by another operation after this one had "
        "read its record\nRead the status of the instance, then repeat the "
        "operation"
    ) == str(caught.value)


def test_a_claim_is_assessed_by_its_class_as_in_the_wait(
    cluster, clock, operation_args
):
    """A pod uses it, so the reason is a class that does not exist."""
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
    with pytest.raises(errors.ReadinessTimeout) as caught:
        lcm.instantiate(
            lcm.Request(cluster, "one", deadline=Deadline.after(5, clock)),
            make_package(claim),
        )
    (waited,) = caught.value.pending

    found, _ = rows(cluster, operation_args)

    assert waited.verdict.reason == found["data"].verdict.reason


def test_an_operation_that_has_not_completed_is_a_warning(
    cluster, clock, operation_args
):
    """With its error, and the objects that are not written."""
    given = make_package(manifests.config_map("a"), manifests.config_map("b"))
    cluster.fail(errors.Unavailable("b", 503, "no"), "patch", ref("b"))
    with pytest.raises(errors.Unavailable):
        lcm.instantiate(
            lcm.Request(
                cluster,
                "one",
                options=Options(dry_run=False),
                **operation_args,
            ),
            given,
        )

    _, report = rows(cluster, operation_args)

    first, second = report.warnings
    assert first.startswith("instantiate has not completed: b: no (503")
    assert "not written yet: 1 object(s): ConfigMap/default/b" == second
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    assert () == rows(cluster, operation_args)[1].warnings
