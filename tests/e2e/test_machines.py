"""What a request asks for the machines of a Cluster, through Tacker."""

from __future__ import annotations

import copy

import pytest
import yaml

from tests.e2e import held_vnf
from tests.e2e import packages
from tests.e2e.packages import Vdu
from tests.e2e.v2_views import affected_vnfcs
from tests.e2e.v2_views import assert_refused
from tests.e2e.v2_views import info_id
from tests.e2e.v2_views import levels
from tests.e2e.v2_views import vnfcs_by_vdu
from tests.functional import topology_cluster
from tools import csar as csars
from tools.tacker import rest_api

pytestmark = [pytest.mark.plane, pytest.mark.capi]

CAPI = "cluster.x-k8s.io"
GROUP = f"{CAPI}/cluster-api-autoscaler-node-group"
BOUNDS = {f"{GROUP}-min-size": "1", f"{GROUP}-max-size": "2"}
OTHER = "unix:///run/other.sock"

VDUS = (
    Vdu("control_plane", "workload-control-plane", initial=3),
    Vdu("workers", "workload-workers"),
    Vdu("auto", "auto"),
)

CHECK = {
    "apiVersion": f"{CAPI}/v1beta2",
    "kind": "MachineHealthCheck",
    "metadata": {"name": "control-plane"},
    "spec": {
        "clusterName": "workload",
        "selector": {"matchLabels": {f"{CAPI}/control-plane": ""}},
        "checks": {"nodeStartupTimeoutSeconds": 600},
    },
}


def cluster():
    """The sample's manifests, with a health check and an autoscaled pool.

    Machines of the pool take long to come.
    """
    folder = csars.SAMPLES / "capi_workload_cluster" / packages.MANIFESTS
    found = [
        manifest
        for path in sorted(folder.iterdir())
        for manifest in yaml.safe_load_all(path.read_text())
    ]
    auto, template = (
        copy.deepcopy(one(found, kind))
        for kind in ("MachineDeployment", "DevMachineTemplate")
    )
    auto["metadata"].update(name="auto", annotations=BOUNDS)
    template["metadata"]["name"] = "auto-machine"
    spec = auto["spec"]["template"]["spec"]
    spec["infrastructureRef"]["name"] = "auto-machine"
    vm = template["spec"]["template"]["spec"]["backend"]["inMemory"]["vm"]
    vm["provisioning"]["startupDuration"] = "20s"
    return [*found, template, auto, CHECK]


def one(found, kind):
    (manifest,) = (m for m in found if m["kind"] == kind)
    return manifest


def changed():
    """Bootstrap data of all workers is another."""
    found = cluster()
    spec = one(found, "KubeadmConfigTemplate")["spec"]["template"]["spec"]
    join = spec["joinConfiguration"]
    join["nodeRegistration"]["criSocket"] = OTHER
    return found


def driver_params(**params):
    return {"tacker_k8s_cr": params}


def ids(found, vdu):
    """Of the VNFCs of a VDU: what their machines are called, by their id."""
    return {
        vnfc["id"]: vnfc["computeResource"]["resourceId"]
        for vnfc in found
        if vnfc["vduId"] == vdu
    }


@pytest.mark.requirement("P9", "D6", "G3")
def test_machines_are_chosen_by_requests(
    v2,
    vim,
    make_package,
    namespace,
    kubectl,
    assert_no_leftovers,
    leftover_objects,
):
    """Which ones are deleted, how they are healed, whether any is replaced.

    A scale that names a worker removes that one, and the control plane stays.
    What an autoscaler manages is scaled when the request moves its limits, and
    the rollback restores them. A Machine of a control plane is remediated by
    the controller of that. A change that would replace Machines is refused
    with the reason if the request forbids replacement.
    """
    csar = make_package(*cluster(), vdus=VDUS)
    vnf = v2.create(csar.vnfd)
    body = rest_api.instantiation(v2, vim, csar.files, namespace=namespace)
    v2.done(vnf, "instantiate", body, 300)
    first = v2.vnfcs(vnf)
    assert [3, 1, 1] == [len(ids(first, vdu.name)) for vdu in VDUS]

    # -- Who leaves
    ((gone, name),) = ids(first, "workers").items()
    v2.done(vnf, "scale", rest_api.scaling("workers", 1), 240)
    (kept,) = ids(v2.vnfcs(vnf), "workers").keys() - {gone}
    fewer = rest_api.scaling(
        "workers", -1, **driver_params(machines_to_delete=[name])
    )
    done = v2.done(vnf, "scale", fewer, 240)
    assert {gone: "REMOVED"} == affected_vnfcs(done)
    second = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert {**vnfcs_by_vdu(first), "workers": {kept}} == second

    # -- A number that its controller would refuse
    failed = v2.run(vnf, "scale", rest_api.scaling("control_plane", 1))
    status, detail = assert_refused(failed)
    assert 422 == status
    assert "odd" in detail
    held_vnf.roll_back(v2, failed["id"])

    # -- Bounds of an autoscaler
    failed = v2.run(vnf, "scale", rest_api.scaling("auto", 2))
    status, detail = assert_refused(failed)
    assert 422 == status
    assert "between 1 and 2" in detail
    assert "autoscaler_limits: adjust" in detail
    held_vnf.roll_back(v2, failed["id"])
    moving = driver_params(autoscaler_limits="adjust", timeout=8)
    failed = v2.run(vnf, "scale", rest_api.scaling("auto", 2, **moving))
    assert 504 == assert_refused(failed)[0]
    assert ["3", "3"] == bounds(kubectl, namespace)
    held_vnf.retry_until_success(v2.rollback, failed["id"], "ROLLED_BACK")
    assert ["1", "2"] == bounds(kubectl, namespace)
    assert second == vnfcs_by_vdu(v2.vnfcs(vnf))
    assert dict.fromkeys(second, 0) == levels(v2, vnf)

    # -- Whether any is replaced
    other = make_package(*changed(), vdus=VDUS)
    params = driver_params(rollout="refuse")
    failed = v2.run(
        vnf,
        "change_vnfpkg",
        rest_api.changing(other.vnfd, other.files, **params),
    )
    status, detail = assert_refused(failed)
    assert 409 == status
    assert "1 machine(s) are replaced" in detail
    assert f"{namespace}/workload-workers" in detail
    assert OTHER in detail
    held_vnf.roll_back(v2, failed["id"], 240)
    assert second == vnfcs_by_vdu(v2.vnfcs(vnf))
    assert csar.vnfd == v2.show(vnf)["vnfdId"]

    # -- How one is healed
    machines = ids(first, "control_plane")
    ill = min(machines)
    remediating = driver_params(machine_heal_strategy="remediate")
    wrong = rest_api.healing([info_id(v2, vnf, kept)], **remediating)
    failed = v2.run(vnf, "heal", wrong)
    status, detail = assert_refused(failed)
    assert 422 == status
    assert "no MachineHealthCheck" in detail
    v2.fail(failed["id"])
    right = rest_api.healing([info_id(v2, vnf, ill)], **remediating)
    v2.done(vnf, "heal", right, 300)
    third = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert second["workers"] == third["workers"]
    assert 3 == len(third["control_plane"])
    assert {ill} == second["control_plane"] - third["control_plane"]
    keeper = ("get", "kubeadmcontrolplane", "workload-control-plane")
    path = "-o=jsonpath={.status.lastRemediation.machine}"
    assert machines[ill] == kubectl(*keeper, "-n", namespace, path)

    v2.done(vnf, "terminate", rest_api.FORCEFUL, 300)
    v2.delete(vnf)
    assert [] == leftover_objects(vnf)


def bounds(kubectl, namespace):
    found = kubectl.json("get", "machinedeployment", "auto", "-n", namespace)
    return [found["metadata"]["annotations"][name] for name in BOUNDS]


@pytest.mark.requirement("P8", "I5")
def test_a_number_of_a_topology_is_set_in_its_cluster(
    v2,
    vim,
    make_package,
    namespace,
    kubectl,
    assert_no_leftovers,
    leftover_objects,
):
    """A VDU is an entry, by name or by vdu_mapping.

    A change of the package leaves the number that the scale gave it.
    """
    manifests = [
        *topology_cluster.cluster_class(),
        topology_cluster.cluster("workload", md_0=1),
    ]
    vdus = [Vdu("workers", "md-0"), Vdu("masters", "masters", most=2)]
    csar = make_package(*manifests, vdus=vdus)
    vnf = v2.create(csar.vnfd)
    place = {"kind": "Cluster", "name": "workload:controlPlane"}
    params = {"namespace": namespace, "vdu_mapping": {"masters": place}}
    body = rest_api.instantiation(v2, vim, csar.files, **params)
    v2.done(vnf, "instantiate", body, 300)
    first = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert {"workers": 1, "masters": 1} == {v: len(first[v]) for v in first}

    v2.done(vnf, "scale", rest_api.scaling("workers", 1), 240)

    second = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert first["masters"] == second["masters"]
    assert first["workers"] < second["workers"]
    assert 2 == len(second["workers"])
    named = {"workers": 2, "masters": 1}
    assert named == numbers(kubectl, namespace)
    other = make_package(*manifests, packages.config_map("more"), vdus=vdus)
    driver_params = rest_api.changing(
        other.vnfd, other.files, vdu_mapping={"masters": place}
    )
    v2.done(vnf, "change_vnfpkg", driver_params, 300)
    assert named == numbers(kubectl, namespace)
    assert second == vnfcs_by_vdu(v2.vnfcs(vnf))
    v2.done(vnf, "terminate", rest_api.FORCEFUL, 300)
    v2.delete(vnf)
    assert [] == leftover_objects(vnf)


def numbers(kubectl, namespace):
    """As the topology of the Cluster has them."""
    cluster = kubectl.json("get", "cluster", "workload", "-n", namespace)
    found = cluster["spec"]["topology"]
    (workers,) = found["workers"]["machineDeployments"]
    return {
        "workers": workers["replicas"],
        "masters": found["controlPlane"]["replicas"],
    }
