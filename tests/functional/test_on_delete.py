"""Workers that take a change only when somebody deletes them."""

from __future__ import annotations

import copy
import dataclasses

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.report import Action
from tests.functional.test_change_clusters import life
from tests.functional.test_change_clusters import sample
from tests.functional.test_cluster_api import CAPI
from tests.functional.test_cluster_api import MACHINE

pytestmark = [pytest.mark.plane, pytest.mark.capi]


def package(label="a", **given):
    """The sample, whose workers wait for somebody to delete them."""
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


def test_machines_take_a_change_when_somebody_deletes_them(
    cluster, namespace, unique, workers, traces
):
    """The change does not wait for that, and replaces none (P1, P9, P10).

    It is told, and not refused where machines are not to be replaced. The
    template of the machines that are there stays as long, and goes with a
    later change. Their Cluster, too, is current meanwhile.
    """
    pool = ObjectRef(CAPI, "MachineDeployment", namespace, "workload-workers")
    former = ObjectRef(
        f"infrastructure.{CAPI}",
        "DevMachineTemplate",
        namespace,
        "workload-worker",
    )
    k8s_cr.instantiate(cluster, unique, package(), **life(namespace))
    first = workers()
    changed = package("b", workers="3s")

    forecast = lcm.forecast(cluster, unique, changed, **life(namespace))

    told = str(forecast.rollouts[pool])
    assert told.startswith(
        "1 machine(s) are replaced when somebody deletes them: "
    )
    assert {} == forecast.replaced
    report = k8s_cr.change(
        cluster,
        unique,
        changed,
        options=k8s_cr.Options(rollout="refuse"),
        **life(namespace),
    )
    rows = {row.ref: row for row in report.rows}
    assert first == workers()
    assert (told,) == rows[pool].notes
    assert Action.KEPT is rows[former].action
    assert "until somebody deletes them" in rows[former].verdict.reason
    assert cluster.get(former)
    status = k8s_cr.status(cluster, unique, **life(namespace))
    assert {State.CURRENT} == {row.verdict.state for row in status.rows}

    # -- A heal deletes the machine ------------------------------------------
    ((uid, machine),) = first.items()
    k8s_cr.heal(cluster, unique, {uid}, **life(namespace))
    report = k8s_cr.change(
        cluster, unique, package("c", workers="3s"), **life(namespace)
    )

    assert {former: Action.DELETED} == {
        row.ref: row.action for row in report.rows if row.ref == former
    }
    assert cluster.get(former) is None
    (live,) = workers().values()
    assert machine != live

    # -- And back ------------------------------------------------------------
    k8s_cr.roll_back(cluster, unique, **life(namespace))
    k8s_cr.terminate(cluster, unique, **life(namespace))
    assert [] == traces(unique, namespace)
