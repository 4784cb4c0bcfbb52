"""Machines are scaled by the manager of their number, and none is replaced."""

from __future__ import annotations

import copy
import dataclasses

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import kinds
from tacker_k8s_cr.lcm.machines import machine_annotations
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tests.functional.kill_after_write import Killed
from tests.functional.kill_after_write import kill_when_waiting
from tests.functional.test_cluster_api import CAPI
from tests.functional.test_cluster_api import MACHINE
from tests.functional.test_cluster_api import SAMPLE

pytestmark = [pytest.mark.plane, pytest.mark.capi]

KEPT = f"{CAPI}/cluster-api-autoscaler-node-group"
BOUNDS = {f"{KEPT}-min-size": "1", f"{KEPT}-max-size": "2"}
CONTROL_PLANE = GroupKind(f"controlplane.{CAPI}", "KubeadmControlPlane")


def among(package, name):
    """A copy of one of the manifests."""
    (found,) = (
        document.manifest
        for document in package.documents
        if document.manifest["metadata"]["name"] == name
        and document.manifest["kind"] == "MachineDeployment"
    )
    return copy.deepcopy(found)


def more():
    """The sample, with a set of machines and one that is autoscaled."""
    package = k8s_cr.load(SAMPLE)
    auto = among(package, "workload-workers")
    auto["metadata"].update(name="auto", annotations=BOUNDS)
    single = among(package, "workload-workers")
    single.update(kind="MachineSet")
    # Its controller writes into the selector, which is the package's.
    notes = {objects.PREFIX + "field-conflicts": "ignore"}
    single["metadata"].update(name="single", annotations=notes)
    for made in (auto, single):
        labels = {"example.org/of": made["metadata"]["name"]}
        made["spec"]["selector"] = {"matchLabels": labels}
        made["spec"]["template"]["metadata"] = {"labels": labels}
    documents = [Document(made, "more") for made in (auto, single)]
    return dataclasses.replace(
        package, documents=(*package.documents, *documents)
    )


@pytest.fixture
def machines(cluster, namespace):
    """By name the UIDs of machines with a label."""

    def found(selector):
        return {
            machine["metadata"]["name"]: machine["metadata"]["uid"]
            for machine in cluster.list_objects(MACHINE, namespace, selector)
        }

    return found


WORKERS = f"{CAPI}/deployment-name=workload-workers"
OWN = f"{CAPI}/control-plane"


@pytest.mark.requirement("P9", "D4", "D6", "I2", "I4")
def test_machines_are_scaled_by_every_route(
    cluster, namespace, machines, make_request
):
    """Only the number is sent, so that no machine is replaced.

    A MachineDeployment, to zero and back; a MachineSet; a control plane, of
    which an even number is refused. Chosen Machines go first, and a mark is
    taken off again when the scale is refused.
    """

    def ref(kind, name, group=CAPI):
        return ObjectRef(group, kind, namespace, name)

    def scale(ref, number, machines_to_delete=(), **fields):
        return k8s_cr.scale(
            make_request(**fields),
            {ref: number},
            machines_to_delete=machines_to_delete,
        )

    def bounds():
        notes = cluster.get(auto)["metadata"]["annotations"]
        return [notes[name] for name in BOUNDS]

    workers = ref("MachineDeployment", "workload-workers")
    auto = ref("MachineDeployment", "auto")
    single = ref("MachineSet", "single")
    control_plane = ref(
        "KubeadmControlPlane", "workload-control-plane", CONTROL_PLANE.group
    )
    package = more()
    k8s_cr.instantiate(make_request(), package)
    first, own = machines(WORKERS), machines(OWN)

    # -- A MachineDeployment, and chosen Machines of it
    spec = cluster.get(workers)["spec"]
    for _ in range(2):
        scale(workers, 3)
    assert {**spec, "replicas": 3} == cluster.get(workers)["spec"]
    three = machines(WORKERS)
    assert 3 == len(three)
    assert first.items() < three.items()
    chosen = sorted(three)[1]
    with pytest.raises(errors.MachineSelectionInvalid, match="were selected"):
        scale(workers, 3 - 1, machines_to_delete=sorted(three)[:2])
    with pytest.raises(
        errors.MachineSelectionInvalid, match="not Machines of it"
    ):
        scale(workers, 2, machines_to_delete=["unknown"])
    scale(workers, 2, machines_to_delete=[chosen])
    assert {n: u for n, u in three.items() if n != chosen} == machines(WORKERS)
    scale(workers, 0)
    assert {} == machines(WORKERS)
    scale(workers, 1)
    assert 1 == len(machines(WORKERS))
    assert own == machines(OWN)

    # -- A MachineSet
    before = machines("example.org/of=single")
    spec = cluster.get(single)["spec"]
    scale(single, 2)
    assert {**spec, "replicas": 2} == cluster.get(single)["spec"]
    after = machines("example.org/of=single")
    assert 2 == len(after)
    assert before.items() < after.items()

    # -- What an autoscaler keeps
    with pytest.raises(
        errors.AutoscalerConflict, match="between 1 and 2"
    ) as caught:
        scale(auto, 3)
    assert "autoscaler_limits: adjust" in str(caught.value)
    moving = {"options": k8s_cr.Options(autoscaler_limits="adjust")}
    with pytest.raises(Killed):
        scale(auto, 4, on_progress=kill_when_waiting, **moving)
    assert ["4", "4"] == bounds()
    k8s_cr.roll_back(make_request())
    assert ["1", "2"] == bounds()
    assert 1 == cluster.get(auto)["spec"]["replicas"]
    scale(auto, 3, **moving)
    assert ["3", "3"] == bounds()
    assert 3 == len(machines("example.org/of=auto"))
    k8s_cr.change(make_request(), package)
    assert ["3", "3"] == bounds()
    assert 3 == cluster.get(auto)["spec"]["replicas"]

    # -- The control plane
    with pytest.raises(errors.NotScalable, match="must be odd"):
        scale(control_plane, 2)
    spec = cluster.get(control_plane)["spec"]
    scale(control_plane, 3)
    assert {**spec, "replicas": 3} == cluster.get(control_plane)["spec"]
    three = machines(OWN)
    assert own.items() < three.items()
    unasked = dataclasses.replace(
        kinds.BUILT_IN[CONTROL_PLANE], refuse_replicas=None
    )
    with pytest.raises(errors.Rejected, match="even number") as refused:
        scale(
            control_plane,
            2,
            machines_to_delete=[sorted(three)[0]],
            registry=kinds.BUILT_IN.with_handlers({CONTROL_PLANE: unasked}),
        )
    assert "etcd" in str(refused.value)
    for machine in cluster.list_objects(MACHINE, namespace, OWN):
        assert (
            machine_annotations.DELETE_MACHINE
            not in machine["metadata"]["annotations"]
        )
    assert "instantiated" == k8s_cr.status(make_request()).phase
    gone = sorted(three)[:2]
    scale(control_plane, 1, machines_to_delete=[three[gone[0]], gone[1]])
    assert {sorted(three)[2]} == set(machines(OWN))

    k8s_cr.terminate(make_request())
