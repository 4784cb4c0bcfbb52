"""What a Cluster's topology makes is scaled through the Cluster."""

from __future__ import annotations

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tests.functional import topology

pytestmark = [pytest.mark.plane, pytest.mark.capi]

CAPI = "cluster.x-k8s.io"
DEPLOYMENT = GroupKind(CAPI, "MachineDeployment")
MACHINE = GroupKind(CAPI, "Machine")
SIDE = f"{CAPI}/deployment-name"


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
    """By the entry's name, and nothing else changes (P8, P9, TK-16).

    What the topology made may be named by its own name, or by its place in
    the Cluster. No machine is replaced: all from before are there, or less
    of the same. A package that is applied again changes no number, also of
    what somebody else has scaled since.
    """
    life = {"namespace": namespace, "deadline": k8s_cr.Deadline.after(240)}
    ref = ObjectRef(CAPI, "Cluster", namespace, "workload")
    package = packed(
        *topology.cluster_class(),
        topology.cluster("workload", md_0=1, md_1=1),
    )
    k8s_cr.instantiate(cluster, unique, package, **life)
    own, other = machines(), machines("md-1")
    first = machines("md-0")

    by_name = ObjectRef.of(made("md-0"))
    k8s_cr.scale(cluster, unique, {by_name: 3}, **life)

    assert 3 == replicas(cluster, ref, "md-0")
    after = machines("md-0")
    assert 3 == len(after)
    assert first < after

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
