"""What a Cluster's topology makes is scaled through the Cluster."""

from __future__ import annotations

import dataclasses

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import kinds
from tacker_k8s_cr.engine import replicas as numbers
from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Aspect
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.state import store
from tests.functional import topology_cluster
from tests.functional.kill_after_write import Killed
from tests.functional.kill_after_write import kill_when_waiting

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
    """The contents of the topology."""
    found = cluster.get(ref)["spec"]["topology"]
    if not group:
        return found["controlPlane"]["replicas"]
    (entry,) = (
        entry
        for entry in found["workers"]["machineDeployments"]
        if entry["name"] == group
    )
    return entry["replicas"]


@pytest.mark.requirement("TK-16", "P7", "P8", "P9", "D3", "I5", "I6")
def test_the_replicas_are_set_in_the_topology(
    cluster, namespace, make_package, unique_name, made, machines, make_request
):
    """By the entry's name, and nothing else changes.

    What the topology made may be named by its own name, or by its place in the
    Cluster. No machine is replaced: all from before are there, or less of the
    same. A package that is applied again changes no number, also of what
    another client has scaled since. A failed scale-out is rolled back. A VDU
    is the entry of its name.
    """
    ref = ObjectRef(CAPI, "Cluster", namespace, "workload")
    package = dataclasses.replace(
        make_package(
            *topology_cluster.cluster_class(),
            # The level of the VNFD sets the number, not the manifest.
            topology_cluster.cluster(
                "workload", md_0=2, md_1=1, auto=AUTOSCALED
            ),
        ),
        vnfd=VNFD,
    )
    k8s_cr.instantiate(make_request(), package)
    own, other = machines(), machines("md-1")
    first = machines("md-0")
    assert 1 == len(first)

    with pytest.raises(Killed):
        k8s_cr.scale(
            make_request(on_progress=kill_when_waiting),
            aspect="workers",
            level=3,
        )
    assert 4 == replicas(cluster, ref, "md-0")
    k8s_cr.roll_back(make_request())
    assert 1 == replicas(cluster, ref, "md-0")
    assert 1 == len(machines("md-0"))

    k8s_cr.scale(make_request(), aspect="workers", number_of_steps=1)
    after = machines("md-0")
    inventory = store.read(cluster, unique_name, namespace).inventory
    found = members.by_vdu(cluster, kinds.BUILT_IN, inventory)
    assert after == {member.uid for member in found["md-0"]}
    assert {"md-0": 2} == numbers.live_replicas(
        cluster, kinds.BUILT_IN, inventory
    )

    by_name = ObjectRef.of(made("md-0"))
    k8s_cr.scale(make_request(), {by_name: 3})

    assert 3 == replicas(cluster, ref, "md-0")
    assert after < machines("md-0")
    after = machines("md-0")
    assert 3 == len(after)

    place = ObjectRef(
        CAPI, "Cluster", namespace, "workload:machineDeployments.md-0"
    )
    for _ in range(2):  # doing it twice is doing it once
        k8s_cr.scale(make_request(), {place: 2})
    assert 2 == made("md-0")["spec"]["replicas"]
    assert machines("md-0") < after
    assert 2 == len(machines("md-0"))

    ours = cluster.get(ref)["metadata"]["generation"]
    k8s_cr.change(make_request(), package)
    assert ours == cluster.get(ref)["metadata"]["generation"]
    assert 2 == replicas(cluster, ref, "md-0")

    theirs = cluster.get(ref)
    workers = theirs["spec"]["topology"]["workers"]
    workers["machineDeployments"][1]["replicas"] = 2
    cluster.patch(ref, {"spec": {"topology": {"workers": workers}}}, "them")
    k8s_cr.change(make_request(), package)
    assert 2 == replicas(cluster, ref, "md-1")
    assert 2 == len(machines("md-1"))
    assert other < machines("md-1")

    k8s_cr.scale(make_request(), {place: 0})
    assert set() == machines("md-0")

    auto = ref._replace(name="workload:machineDeployments.auto")
    with pytest.raises(errors.AutoscalerConflict, match="between 1 and 2"):
        k8s_cr.scale(make_request(), {auto: 3})
    adjusting = make_request(
        options=k8s_cr.Options(autoscaler_limits="adjust")
    )
    k8s_cr.scale(adjusting, {auto: 3})
    assert 3 == len(machines("auto"))
    k8s_cr.change(make_request(), package)
    found = made("auto")
    assert 3 == found["spec"]["replicas"]
    for name in AUTOSCALED["metadata"]["annotations"]:
        assert "3" == found["metadata"]["annotations"][name]

    control_plane = ObjectRef(
        CAPI, "Cluster", namespace, "workload:controlPlane"
    )
    with pytest.raises(errors.NotScalable, match="must be odd"):
        k8s_cr.scale(make_request(), {control_plane: 2})
    assert 1 == replicas(cluster, ref)
    k8s_cr.scale(make_request(), {control_plane: 3})
    assert 3 == replicas(cluster, ref)
    assert 3 == len(machines())
    assert own < machines()

    unknown = ObjectRef(
        CAPI, "Cluster", namespace, "workload:machineDeployments.md-9"
    )
    with pytest.raises(errors.NotScalable, match=r"machineDeployments\.md-0"):
        k8s_cr.scale(make_request(), {unknown: 2})

    k8s_cr.terminate(make_request())
    assert cluster.get(ref) is None
