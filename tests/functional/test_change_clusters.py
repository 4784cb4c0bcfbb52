"""A change of package for workload clusters, with their real controllers."""

from __future__ import annotations

import copy
import dataclasses
import json

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan.forecast import ForecastAction
from tacker_k8s_cr.state import store
from tests.functional import topology_cluster
from tests.functional.kill_after_write import Killed
from tests.functional.kill_after_write import kill_when_waiting
from tests.functional.test_cluster_api import CAPI
from tests.functional.test_cluster_api import MACHINE
from tests.functional.test_cluster_api import SAMPLE
from tests.functional.test_cluster_api import with_text

pytestmark = [pytest.mark.plane, pytest.mark.capi]

SOCKET = "unix:///run/containerd/containerd.sock"


def sample(version="v1.35.0", workers="2s", socket=SOCKET, pool=""):
    """The sample, with a template of its own for the workers' machines.

    :param pool: the version of the workers, if it is another.
    """
    package = with_text(k8s_cr.load(SAMPLE), "v1.35.0", version)
    found = []
    for document in package.documents:
        manifest = copy.deepcopy(document.manifest)
        kind = manifest["kind"]
        if kind == "DevMachineTemplate":
            own = copy.deepcopy(manifest)
            own["metadata"]["name"] = "workload-worker"
            vm = own["spec"]["template"]["spec"]["backend"]["inMemory"]["vm"]
            vm["provisioning"]["startupDuration"] = workers
            found.append(Document(own, document.where))
        elif kind == "MachineDeployment":
            spec = manifest["spec"]["template"]["spec"]
            spec["infrastructureRef"]["name"] = "workload-worker"
            spec["version"] = pool or version
        elif kind == "KubeadmConfigTemplate":
            spec = manifest["spec"]["template"]["spec"]["joinConfiguration"]
            spec["nodeRegistration"]["criSocket"] = socket
        found.append(Document(manifest, document.where))
    return dataclasses.replace(package, documents=tuple(found))


@pytest.fixture
def machines(cluster, namespace):
    """UIDs of machines: of the control plane, and of the workers."""

    def found():
        leaders, workers = set(), set()
        for machine in cluster.list_objects(MACHINE, namespace):
            leads = f"{CAPI}/control-plane" in objects.labels(machine)
            (leaders if leads else workers).add(objects.uid(machine))
        return leaders, workers

    return found


@pytest.fixture
def machine_versions(cluster, namespace):
    """Which Kubernetes versions the machines have."""

    def found():
        leaders, workers = set(), set()
        for machine in cluster.list_objects(MACHINE, namespace):
            leads = f"{CAPI}/control-plane" in objects.labels(machine)
            version = machine["spec"]["version"]
            (leaders if leads else workers).add(version)
        return leaders, workers

    return found


@pytest.fixture
def templates(cluster, namespace, unique_name):
    """Names of templates of a kind that are the instance's, and are there."""

    def found(kind, group):
        wanted = GroupKind(f"{group}.{CAPI}", kind)
        owned = store.read(cluster, unique_name, namespace).inventory.owned
        return {
            ref.name
            for ref in owned
            if ref.group_kind == wanted and cluster.get(ref)
        }

    return found


@pytest.fixture
def assert_no_rollout(cluster, namespace, unique_name, make_request):
    """A change to the current state sends nothing that changes anything.

    What controllers write meanwhile counts for nothing, so that it is tried
    until they are quiet.
    """

    def seen():
        owned = store.read(cluster, unique_name, namespace).inventory.owned
        found = {ref: cluster.get(ref)["metadata"] for ref in owned}
        ours = {
            ref: (
                metadata.get("generation", None),
                [
                    entry
                    for entry in metadata["managedFields"]
                    if entry["manager"].startswith(objects.MANAGER)
                ],
            )
            for ref, metadata in found.items()
        }
        return ours, {r: m["resourceVersion"] for r, m in found.items()}

    def changed(package):
        for _ in range(5):
            ours, versions = seen()
            report = k8s_cr.change(make_request(timeout=600), package)
            assert {Action.UNCHANGED} == {row.action for row in report.objects}
            after = seen()
            assert ours == after[0]
            if versions == after[1]:
                return
        assert versions == after[1]

    return changed


@pytest.mark.requirement("TK-17", "P9", "P10", "P22", "E4", "I11")
def test_a_plain_cluster_is_changed_part_by_part(
    make_request,
    namespace,
    unique_name,
    machines,
    machine_versions,
    templates,
    leftover_objects,
    assert_no_rollout,
):
    """Rollouts are forecast with the reason, and nothing else rolls.

    The same package again writes nothing. Another flavour, or other bootstrap
    data, replaces the workers alone. A changed template is a new object, the
    former goes when no machine needs it. A version of Kubernetes goes up by
    one, the control plane first, and never down; a rollback restores all but
    that, and reports it.
    """
    pool = ObjectRef(CAPI, "MachineDeployment", namespace, "workload-workers")
    leader = ObjectRef(
        f"controlplane.{CAPI}",
        "KubeadmControlPlane",
        namespace,
        "workload-control-plane",
    )
    k8s_cr.instantiate(make_request(timeout=600), sample())
    former = machines()
    assert_no_rollout(sample())
    assert former == machines()

    # -- Another flavour of the workers, and nothing else --------------------
    flavour = sample(workers="3s")
    forecast = lcm.forecast(make_request(timeout=600), flavour)
    assert [pool] == list(forecast.rollouts)
    assert "startupDuration: 2s -> 3s" in str(forecast.rollouts[pool])
    meanwhile = []

    def watch(progress):
        if progress.is_open(pool):
            meanwhile.append(templates("DevMachineTemplate", "infrastructure"))

    report = k8s_cr.change(
        make_request(timeout=600, on_progress=watch), flavour
    )
    # The former template is pruned after the rollout.
    assert meanwhile
    assert all("workload-worker" in names for names in meanwhile)
    (row,) = (row for row in report.objects if row.ref == pool)
    assert Action.CONFIGURED == row.action
    assert "startupDuration: 2s -> 3s" in " ".join(row.notes)
    rolled = machines()
    assert former[0] == rolled[0]
    assert not former[1] & rolled[1]
    assert {"workload-worker"} != templates(
        "DevMachineTemplate", "infrastructure"
    ) - {"workload-machine"}
    k8s_cr.roll_back(make_request(timeout=600))
    first = machines()
    assert former[0] == first[0]
    assert not rolled[1] & first[1]
    assert {"workload-machine", "workload-worker"} == templates(
        "DevMachineTemplate", "infrastructure"
    )

    # -- Bootstrap data of the workers ---------------------------------------
    other = sample(socket="unix:///run/other.sock")
    forecast = lcm.forecast(make_request(timeout=600), other)
    assert [pool] == list(forecast.rollouts)
    why = str(forecast.rollouts[pool])
    assert why.startswith("1 machine(s) are replaced: ")
    assert "spec.template.spec.bootstrap.configRef.name: " in why
    assert f"criSocket: {SOCKET} -> unix:///run/other.sock" in why
    assert {} == forecast.irreversible
    with pytest.raises(errors.RolloutRefused, match="criSocket"):
        k8s_cr.change(
            make_request(
                timeout=600, options=k8s_cr.Options(rollout="refuse")
            ),
            other,
        )
    assert first == machines()
    assert {"workload-worker"} == templates(
        "KubeadmConfigTemplate", "bootstrap"
    )

    k8s_cr.change(make_request(timeout=600), other)

    second = machines()
    assert first[0] == second[0]
    assert not first[1] & second[1]
    (name,) = templates("KubeadmConfigTemplate", "bootstrap")
    assert name.startswith("workload-worker-")
    assert [] == [
        row.ref
        for row in lcm.forecast(make_request(timeout=600), other).objects
        if row.action is not ForecastAction.UNCHANGED
    ]

    # -- Kubernetes, and another flavour of the workers ----------------------
    for version, pooled, wanted in (
        ("v1.37.0", "", r"one minor version at a time, here to v1\.36"),
        ("v1.34.0", "", "cannot be lowered"),
        ("v1.35.0", "v1.36.0", r"cannot be newer than v1\.35\.0"),
        ("v1.36.0", "v1.35.1", "for kubeadm to join it"),
    ):
        with pytest.raises(errors.PackageInvalid, match=wanted):
            k8s_cr.change(
                make_request(timeout=600), sample(version, pool=pooled)
            )
    newer = sample("v1.36.0", "3s", "unix:///run/other.sock")
    told, late = [], []

    def listen(progress):
        if pool in progress.awaited and progress.is_open(leader):
            late.append(progress)

    k8s_cr.change(
        make_request(timeout=600, on_progress=listen),
        newer,
        on_forecast=told.append,
    )

    assert [] == late
    (forecast,) = told
    assert {pool, leader} == set(forecast.rollouts)
    assert "spec.version: v1.35.0 -> v1.36.0" in str(forecast.rollouts[leader])
    assert "startupDuration: 2s -> 3s" in str(forecast.rollouts[pool])
    assert {
        leader: (
            "v1.35.0 -> v1.36.0: a version of Kubernetes cannot be lowered",
        )
    } == forecast.irreversible
    assert ({"v1.36.0"}, {"v1.36.0"}) == machine_versions()
    assert 1 == len(
        templates("DevMachineTemplate", "infrastructure")
        - {"workload-machine"}
    )

    # -- And back ------------------------------------------------------------
    with pytest.raises(errors.RollbackIncomplete) as caught:
        k8s_cr.roll_back(make_request(timeout=600))

    reasons = caught.value.reasons
    assert {leader, pool} == set(reasons)
    assert reasons[leader].endswith("version of Kubernetes cannot be lowered")
    # kubeadm joins no machine of another minor version.
    assert reasons[pool].endswith(f"{leader} stays v1.36.0")
    assert ({"v1.36.0"}, {"v1.36.0"}) == machine_versions()
    report = k8s_cr.roll_back(make_request(timeout=600))
    notes = {row.ref: row.notes for row in report.objects}
    assert (reasons[leader],) == notes[leader]
    assert {"workload-machine", "workload-worker"} == templates(
        "DevMachineTemplate", "infrastructure"
    )
    forecast = lcm.forecast(make_request(timeout=600), newer)
    assert [pool] == list(forecast.rollouts)
    k8s_cr.terminate(make_request(timeout=600))
    assert [] == leftover_objects(unique_name, namespace)


def older(manifest):
    """In v1beta1 of everything, whose references have other places."""
    text = json.dumps(manifest).replace("/v1beta2", "/v1beta1")
    found = json.loads(text)
    spec = found["spec"]
    if found["kind"] == "ClusterClass":
        leader = spec["controlPlane"]
        for part in (
            spec["infrastructure"],
            leader,
            leader["machineInfrastructure"],
        ):
            part["ref"] = part.pop("templateRef")
        for worker in spec["workers"]["machineDeployments"]:
            parts = {
                name: {"ref": worker.pop(name)["templateRef"]}
                for name in ("bootstrap", "infrastructure")
            }
            worker["template"] = parts
    if found["kind"] == "Cluster":
        spec["topology"]["class"] = spec["topology"].pop("classRef")["name"]
    return found


def flavours(leader, worker):
    """A class with machines of two sorts: how long each takes to start."""
    found = copy.deepcopy(topology_cluster.cluster_class())
    own = copy.deepcopy(found[1])
    own["metadata"]["name"] = "mem-worker"
    for machine, told in ((found[1], leader), (own, worker)):
        vm = machine["spec"]["template"]["spec"]["backend"]["inMemory"]
        vm["vm"] = {"provisioning": {"startupDuration": told}}
    (workers,) = found[-1]["spec"]["workers"]["machineDeployments"]
    reference = {**workers["infrastructure"]["templateRef"]}
    workers["infrastructure"] = {"templateRef": reference}
    reference["name"] = "mem-worker"
    return own, *found


@pytest.mark.parametrize("shape", [dict, older], ids=["v1beta2", "v1beta1"])
@pytest.mark.requirement("TK-17", "P9", "P10", "P13", "I7")
def test_a_class_is_changed_with_what_is_made_of_it(
    make_request,
    namespace,
    make_package,
    unique_name,
    machines,
    machine_versions,
    templates,
    leftover_objects,
    assert_no_rollout,
    shape,
):
    """In both versions of the contract.

    The same package again writes nothing. A template of a class that changes
    is a new one, to which the class refers. Workers that a topology gains
    replace none, and those that it loses are deleted permanently. The forecast
    names the Clusters that roll, with the version, which cannot be lowered
    again. Another flavour of the workers replaces the workers alone, there and
    back. Where it was asked for, all machines have the version before anything
    else changes, though the first try died on the way.
    """
    ref = ObjectRef(CAPI, "Cluster", namespace, "workload")

    def package(version="v1.35.0", leader="1s", worker="1s", name="a", **more):
        made = topology_cluster.cluster("workload", md_0=1, **more)
        made["spec"]["topology"]["version"] = version
        found = (*flavours(leader, worker), made)
        return make_package(*map(shape, found), name=name)

    k8s_cr.instantiate(make_request(timeout=600), package())
    if shape is dict:
        # In v1beta1 Cluster API names a namespace in each reference, and an
        # apply without it counts as a change, by any client.
        assert_no_rollout(package())
    for version, wanted in (
        ("v1.34.0", "cannot be lowered"),
        ("v1.37.0", "one minor version at a time"),
    ):
        with pytest.raises(errors.PackageInvalid, match=wanted):
            lcm.forecast(make_request(timeout=600), package(version))
    changed = package("v1.36.0", "2s", name="b")

    forecast = lcm.forecast(make_request(timeout=600), changed)

    told = str(forecast.rollouts[ref])
    assert told.startswith("2 machine(s) (control plane, then all workers; ")
    assert "spec.topology.version: v1.35.0 -> v1.36.0" in told
    assert "startupDuration: 1s -> 2s" in told
    assert [ref] == list(forecast.irreversible)
    fates = {
        (row.ref.kind, row.action)
        for row in forecast.objects
        if row.action is not ForecastAction.UNCHANGED
    }
    assert {
        ("Cluster", ForecastAction.UPDATE),
        ("ClusterClass", ForecastAction.UPDATE),
        ("DevMachineTemplate", ForecastAction.CREATE),
        ("DevMachineTemplate", ForecastAction.PRUNE),
    } == fates

    # Each shape shows a part of the rest: machines take their time.
    if shape is older:
        first = k8s_cr.Options(kubernetes_upgrade="before_change")
        again = make_request(timeout=600, options=first)
        forecast = lcm.forecast(again, changed)
        (row,) = (row for row in forecast.objects if row.ref == ref)
        assert row.why.endswith("is upgraded before all other changes")
        with pytest.raises(Killed):
            k8s_cr.change(
                dataclasses.replace(again, on_progress=kill_when_waiting),
                changed,
            )
        then = []

        def listen(progress):
            kinds = {found.kind for found in progress.awaited}
            if "DevMachineTemplate" in kinds and not then:
                then.append(machine_versions())

        report = k8s_cr.change(
            dataclasses.replace(again, on_progress=listen), changed
        )
        assert [({"v1.36.0"}, {"v1.36.0"})] == then
        assert Action.CONFIGURED in {
            row.action for row in report.objects if row.ref == ref
        }
        found = templates("DevMachineTemplate", "infrastructure")
        (name,) = found - {"mem-worker"}
        assert name.startswith("mem-")
    else:
        flavour = package(worker="2s", name="flavour")
        before = machines()
        forecast = lcm.forecast(make_request(timeout=600), flavour)
        told = str(forecast.rollouts[ref])
        assert "workers of that class" in told
        assert "startupDuration: 1s -> 2s" in told
        assert {} == forecast.irreversible
        report = k8s_cr.change(make_request(timeout=600), flavour)
        (row,) = (row for row in report.objects if row.ref == ref)
        assert (told,) == row.notes
        rolled = machines()
        assert before[0] == rolled[0]
        assert not before[1] & rolled[1]
        k8s_cr.roll_back(make_request(timeout=600))
        after = machines()
        assert before[0] == after[0]
        assert not rolled[1] & after[1]
        assert {"mem", "mem-worker"} == templates(
            "DevMachineTemplate", "infrastructure"
        )
        newer = package("v1.36.0", name="c")
        k8s_cr.change(make_request(timeout=600), newer)
        with pytest.raises(
            errors.RollbackIncomplete, match=r"stays v1\.36\.0"
        ):
            k8s_cr.roll_back(make_request(timeout=600))
        k8s_cr.roll_back(make_request(timeout=600))
        assert {"mem", "mem-worker"} == templates(
            "DevMachineTemplate", "infrastructure"
        )
        refuse = k8s_cr.Options(rollout="refuse")
        refusing = make_request(timeout=600, options=refuse)
        before = machines()
        wider = package("v1.36.0", name="wider", md_1=1)
        assert {} == lcm.forecast(refusing, wider).rollouts
        k8s_cr.change(refusing, wider)
        assert before[0] == machines()[0]
        assert before[1] < machines()[1]
        forecast = lcm.forecast(refusing, newer)
        assert {} == forecast.rollouts
        assert "the workers md-1 are deleted" in " ".join(
            forecast.irreversible[ref]
        )
        k8s_cr.change(refusing, newer)
        assert before[0] == machines()[0]
        assert before[1] == machines()[1]
    assert ({"v1.36.0"}, {"v1.36.0"}) == machine_versions()
    k8s_cr.terminate(make_request(timeout=600))
    assert [] == leftover_objects(unique_name, namespace)
