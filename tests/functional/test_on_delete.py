"""Workers that take a change only when the user deletes them."""

from __future__ import annotations

import copy
import dataclasses

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.report import Action
from tests.functional.test_change_clusters import sample
from tests.functional.test_cluster_api import CAPI
from tests.functional.test_cluster_api import MACHINE

pytestmark = [pytest.mark.plane, pytest.mark.capi]


def package(label="a", **given):
    """The sample, whose workers wait for the user to delete them."""
    found = []
    for document in sample(**given).documents:
        manifest = copy.deepcopy(document.manifest)
        if manifest["kind"] == "MachineDeployment":
            strategy = {"type": "OnDelete"}
            manifest["spec"]["rollout"] = {"strategy": strategy}
        if manifest["kind"] == "Cluster":
            manifest["metadata"].setdefault("labels", {})["try"] = label
        found.append(Document(manifest, document.where))
    return dataclasses.replace(sample(**given), documents=tuple(found))


@pytest.fixture
def workers(cluster, namespace):
    """The Machines of the workers, by UID."""

    def found():
        return {
            objects.uid(machine): ObjectRef.of(machine)
            for machine in cluster.list_objects(MACHINE, namespace)
            if f"{CAPI}/control-plane" not in objects.labels(machine)
        }

    return found


def test_machines_get_a_change_when_a_user_deletes_them(
    cluster, namespace, unique_name, workers, leftover_objects, make_request
):
    """The change does not wait for that, and replaces none.

    It is reported, and not refused if machines must not be replaced. The
    template of the existing machines stays as long, and is deleted by a later
    change. Their Cluster, too, is current meanwhile.
    """
    pool = ObjectRef(CAPI, "MachineDeployment", namespace, "workload-workers")
    former = ObjectRef(
        f"infrastructure.{CAPI}",
        "DevMachineTemplate",
        namespace,
        "workload-worker",
    )
    k8s_cr.instantiate(make_request(timeout=600), package())
    first = workers()
    changed = package("b", workers="3s")

    forecast = lcm.forecast(make_request(timeout=600), changed)

    told = str(forecast.rollouts[pool])
    assert told.startswith(
        "1 machine(s) are replaced when a client deletes them: "
    )
    assert {} == forecast.replaced
    report = k8s_cr.change(
        make_request(timeout=600, options=k8s_cr.Options(rollout="refuse")),
        changed,
    )
    rows = {row.ref: row for row in report.objects}
    assert first == workers()
    assert (told,) == rows[pool].notes
    assert Action.RETAINED is rows[former].action
    assert "until a client deletes them" in rows[former].verdict.reason
    assert cluster.get(former)
    status = k8s_cr.status(make_request(timeout=600))
    assert {State.CURRENT} == {row.verdict.state for row in status.objects}

    # -- A heal deletes the machine ------------------------------------------
    ((uid, machine),) = first.items()
    k8s_cr.heal(make_request(timeout=600), {uid})
    report = k8s_cr.change(
        make_request(timeout=600), package("c", workers="3s")
    )

    assert {former: Action.DELETED} == {
        row.ref: row.action for row in report.objects if row.ref == former
    }
    assert cluster.get(former) is None
    (live,) = workers().values()
    assert machine != live

    # -- And back ------------------------------------------------------------
    k8s_cr.roll_back(make_request(timeout=600))
    k8s_cr.terminate(make_request(timeout=600))
    assert [] == leftover_objects(unique_name, namespace)
