"""What a Cluster's topology makes is scaled through the Cluster."""

from __future__ import annotations

import dataclasses

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr.applying import replicas as numbers
from tacker_k8s_cr.healing import members
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package.model import Aspect
from tacker_k8s_cr.package.model import Vdu
from tacker_k8s_cr.package.model import Vnfd
from tacker_k8s_cr.recording import record
from tests.functional import topology
from tests.functional.dying import Killed
from tests.functional.dying import die

pytestmark = [pytest.mark.plane, pytest.mark.capi]

CAPI = "cluster.x-k8s.io"
DEPLOYMENT = GroupKind(CAPI, "MachineDeployment")
MACHINE = GroupKind(CAPI, "Machine")
BOUNDS = f"{CAPI}/cluster-api-autoscaler-node-group"
AUTOSCALED = {
    "metadata": {
        "annotations": {
            f"{BOUNDS}-min-size": "1",
            f"{BOUNDS}-max-size": "2",
        }
    }
}
VNFD = Vnfd(
    "id",
    "simple",
    {"md-0": Vdu("md-0", "md-0", 0, 5)},
    {"workers": Aspect("workers", 4, {"md-0": (1,)})},
    {"md-0": 1},
    {},
    {},
    "",
)


@pytest.fixture
def made(cluster, namespace):
    """What the topology made of a group of workers."""

    def found(group):
        label = f"topology.{CAPI}/deployment-name={group}"
        (one,) = cluster.list_objects(DEPLOYMENT, namespace, label)
        return one

    return found


@pytest.fixture
def machines(cluster, namespace):
    """UIDs of the machines: of a group, or of the control plane."""

    def found(group=""):
        label = (
            f"topology.{CAPI}/deployment-name={group}"
            if group
            else f"{CAPI}/control-plane"
        )
        return {
            machine["metadata"]["uid"]
            for machine in cluster.list_objects(MACHINE, namespace, label)
        }

    return found


def replicas(cluster, ref, group=""):
    """What the topology says."""
    found = cluster.get(ref)["spec"]["topology"]
    if not group:
        return found["controlPlane"]["replicas"]
    (entry,) = (
        entry
        for entry in found["workers"]["machineDeployments"]
        if entry["name"] == group
    )
    return entry["replicas"]


def test_the_number_goes_into_the_topology(
    cluster, namespace, packed, unique, made, machines
):
    """By the entry's name, and nothing else changes (P8, P9, P22, TK-16).

    What the topology made may be named by its own name, or by its place in
    the Cluster. No machine is replaced: all from before are there, or less
    of the same. A package that is applied again changes no number, also of
    what somebody else has scaled since. What is scaled out and fails goes
    back. A VDU is the entry of its name.
    """
    life = {"namespace": namespace, "deadline": k8s_cr.Deadline.after(480)}
    ref = ObjectRef(CAPI, "Cluster", namespace, "workload")
    package = dataclasses.replace(
        packed(
            *topology.cluster_class(),
            # The level of the VNFD says how many, not the manifest.
            topology.cluster("workload", md_0=2, md_1=1, auto=AUTOSCALED),
        ),
        vnfd=VNFD,
    )
    k8s_cr.instantiate(cluster, unique, package, **life)
    own, other = machines(), machines("md-1")
    first = machines("md-0")
    assert 1 == len(first)

    with pytest.raises(Killed):
        k8s_cr.scale(
            cluster, unique, aspect="workers", level=3, listen=die, **life
        )
    assert 4 == replicas(cluster, ref, "md-0")
    k8s_cr.roll_back(cluster, unique, **life)
    assert 1 == replicas(cluster, ref, "md-0")
    assert 1 == len(machines("md-0"))

    k8s_cr.scale(cluster, unique, aspect="workers", steps=1, **life)
    after = machines("md-0")
    inventory = record.read(cluster, unique, namespace).inventory
    found = members.by_vdu(cluster, kinds.BUILT_IN, inventory)
    assert after == {member.uid for member in found["md-0"]}
    assert {"md-0": 2} == numbers.found(cluster, kinds.BUILT_IN, inventory)

    by_name = ObjectRef.of(made("md-0"))
    k8s_cr.scale(cluster, unique, {by_name: 3}, **life)

    assert 3 == replicas(cluster, ref, "md-0")
    assert after < machines("md-0")
    after = machines("md-0")
    assert 3 == len(after)

    place = ObjectRef(
        CAPI, "Cluster", namespace, "workload:machineDeployments.md-0"
    )
    for _ in range(2):  # doing it twice is doing it once
        k8s_cr.scale(cluster, unique, {place: 2}, **life)
    assert 2 == made("md-0")["spec"]["replicas"]
    assert machines("md-0") < after
    assert 2 == len(machines("md-0"))

    ours = cluster.get(ref)["metadata"]["generation"]
    k8s_cr.change(cluster, unique, package, **life)
    assert ours == cluster.get(ref)["metadata"]["generation"]
    assert 2 == replicas(cluster, ref, "md-0")

    theirs = cluster.get(ref)
    workers = theirs["spec"]["topology"]["workers"]
    workers["machineDeployments"][1]["replicas"] = 2
    cluster.patch(ref, {"spec": {"topology": {"workers": workers}}}, "them")
    k8s_cr.change(cluster, unique, package, **life)
    assert 2 == replicas(cluster, ref, "md-1")
    assert 2 == len(machines("md-1"))
    assert other < machines("md-1")

    k8s_cr.scale(cluster, unique, {place: 0}, **life)
    assert set() == machines("md-0")

    auto = ref._replace(name="workload:machineDeployments.auto")
    with pytest.raises(errors.NotScalable, match="between 1 and 2"):
        k8s_cr.scale(cluster, unique, {auto: 3}, **life)
    move = {"options": k8s_cr.Options(autoscaled="move"), **life}
    k8s_cr.scale(cluster, unique, {auto: 3}, **move)
    assert 3 == len(machines("auto"))
    k8s_cr.change(cluster, unique, package, **life)
    found = made("auto")
    assert 3 == found["spec"]["replicas"]
    for name in AUTOSCALED["metadata"]["annotations"]:
        assert "3" == found["metadata"]["annotations"][name]

    control_plane = ObjectRef(
        CAPI, "Cluster", namespace, "workload:controlPlane"
    )
    with pytest.raises(errors.NotScalable, match="must be odd"):
        k8s_cr.scale(cluster, unique, {control_plane: 2}, **life)
    assert 1 == replicas(cluster, ref)
    k8s_cr.scale(cluster, unique, {control_plane: 3}, **life)
    assert 3 == replicas(cluster, ref)
    assert 3 == len(machines())
    assert own < machines()

    unknown = ObjectRef(
        CAPI, "Cluster", namespace, "workload:machineDeployments.md-9"
    )
    with pytest.raises(errors.NotScalable, match=r"machineDeployments\.md-0"):
        k8s_cr.scale(cluster, unique, {unknown: 2}, **life)

    k8s_cr.terminate(cluster, unique, **life)
    assert cluster.get(ref) is None
