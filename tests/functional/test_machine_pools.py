"""Pools of machines, with Cluster API's own controller of them."""

from __future__ import annotations

import dataclasses

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import kinds
from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tests.functional import pool_provider
from tests.functional import test_cli
from tests.functional import topology_cluster
from tests.functional.test_cluster_api import SAMPLE

pytestmark = [pytest.mark.plane, pytest.mark.capi]

environ = test_cli.environ
run = test_cli.run


@pytest.fixture
def provider(cluster, kubectl, namespace, unique_name):
    with pool_provider.PoolProvider(
        cluster, namespace, unique_name
    ) as working:
        yield working
        # A failed test may leave it, and without its provider it would stay.
        where = ("--namespace", namespace, "--ignore-not-found")
        kubectl(
            "delete",
            pool_provider.CLUSTERS,
            "workload",
            *where,
            "--timeout=60s",
        )
    made = (one["metadata"]["name"] for one in working.definitions())
    kubectl("delete", "crd", *made, "--ignore-not-found", "--wait=false")


@pytest.fixture
def machines(cluster, namespace):
    """By name the UIDs of the Machines of a pool."""

    def found(name):
        return {
            one["metadata"]["name"]: one["metadata"]["uid"]
            for one in cluster.list_objects(
                pool_provider.MACHINE,
                namespace,
                f"{pool_provider.MEMBER}={name}",
            )
        }

    return found


@pytest.mark.requirement("G3", "I3", "P7")
def test_pools_are_scaled_and_healed(
    cluster,
    run,
    namespace,
    unique_name,
    provider,
    machines,
    leftover_objects,
    make_request,
):
    """A pool is current with as many nodes as were asked.

    Out, in, to none and back; what its provider cannot give goes back. If that
    shows Machines, the selected one is deleted, and a healed one is replaced.
    If it shows none no Machine can be healed, which is reported.
    """
    sample = k8s_cr.load(SAMPLE)
    more = (
        *provider.definitions(),
        *provider.pool("counted", 1, shown=False),
        *provider.pool("shown", 2, shown=True),
    )
    package = dataclasses.replace(
        sample,
        documents=(*sample.documents, *(Document(m, "more") for m in more)),
    )
    counted = ObjectRef(
        pool_provider.CORE, "MachinePool", namespace, "counted"
    )
    shown = counted._replace(name="shown")

    def scale(numbers, *, timeout=None, machines_to_delete=()):
        return k8s_cr.scale(
            make_request(timeout=timeout),
            numbers,
            machines_to_delete=machines_to_delete,
        )

    def nodes(ref):
        """Names of the nodes that Cluster API lists for a pool."""
        pool = cluster.get(ref)
        found = pool["status"].get("nodeRefs", [])
        assert "Running" == pool["status"]["phase"]
        assert pool["spec"]["replicas"] == len(found)
        return {one["name"] for one in found}

    def of_pool(ref):
        return members.members_of(cluster, kinds.BUILT_IN, cluster.get(ref))

    report = k8s_cr.instantiate(make_request(), package)

    said = {row.ref: str(row.verdict) for row in report.objects}
    assert "current: 1 replica(s) ready" == said[counted]
    assert "current: 2 replica(s) ready" == said[shown]
    first = nodes(counted)
    two = machines("shown")
    assert two.keys() == nodes(shown)
    assert two.keys() == {member.node for member in of_pool(shown)}
    assert () == of_pool(counted)

    # -- Out, in, to none and back -------------------------------------------
    scale({counted: 3, shown: 3})
    assert first < nodes(counted)
    three = machines("shown")
    assert two.items() < three.items()
    assert three.keys() == nodes(shown)
    with pytest.raises(errors.ReadinessTimeout, match="phase ScalingUp"):
        scale({counted: pool_provider.MOST + 1}, timeout=10)
    k8s_cr.roll_back(make_request())
    assert 3 == len(nodes(counted))
    going = sorted(two)[0]
    scale({shown: 2}, machines_to_delete=[going])
    assert three.keys() - {going} == machines("shown").keys()
    assert three.keys() - {going} == nodes(shown)
    scale({counted: 0})
    assert set() == nodes(counted)
    scale({counted: 1})
    assert 1 == len(nodes(counted))
    k8s_cr.change(make_request(), package)
    assert 2 == len(nodes(shown))
    for theirs in ("them", None):
        notes = {f"{pool_provider.CORE}/replicas-managed-by": theirs}
        cluster.patch(counted, {"metadata": {"annotations": notes}}, "them")
        if theirs:
            with pytest.raises(errors.NotScalable, match="replicas-managed-"):
                scale({counted: 2})
    assert 1 == len(nodes(counted))

    # -- Healed --------------------------------------------------------------
    before = machines("shown")
    old = sorted(before)[0]
    marking = k8s_cr.Options(machine_heal_strategy="remediate")
    with pytest.raises(errors.NotHealable, match="does not remediate"):
        k8s_cr.heal(make_request(options=marking), {before[old]})
    k8s_cr.heal(make_request(), {before[old]})
    after = machines("shown")
    (new,) = after.keys() - before.keys()
    assert {old} == before.keys() - after.keys()
    made = ObjectRef(pool_provider.CORE, "Machine", namespace, new)
    assert new == cluster.get(made)["status"]["nodeRef"]["name"]
    pool = cluster.get(counted)["metadata"]["uid"]
    with pytest.raises(
        errors.NotHealable, match="creates no Machine objects"
    ) as got:
        k8s_cr.heal(make_request(), {pool})
    assert [counted] == list(got.value.reasons)
    said = run("heal", unique_name, "MachinePool/counted")
    assert 2 == said.code
    assert "creates no Machine objects" in said.err
    there = nodes(counted)

    report = k8s_cr.heal(make_request())

    notes = {row.ref: " ".join(row.notes) for row in report.objects}
    assert "creates no Machine objects" in notes[counted]
    assert set() == after.keys() & machines("shown").keys()
    assert there == nodes(counted)
    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.requirement("P8", "I5")
def test_a_pool_of_a_topology_is_scaled_through_its_cluster(
    cluster,
    namespace,
    make_package,
    unique_name,
    provider,
    leftover_objects,
    make_request,
):
    """By the entry's name, and no other machine is replaced.

    What the provider cannot give goes back. A heal of another member does not
    wait for invisible machines.
    """
    kind = f"{provider.infrastructure.kind}Template"
    *templates, its_class = topology_cluster.cluster_class()
    templates.append(
        topology_cluster.template(
            f"{pool_provider.GROUP}/v1", kind, {"shown": False}
        )
    )
    bootstrap = topology_cluster.cluster_of_class(
        topology_cluster.BOOTSTRAP, "KubeadmConfigTemplate"
    )
    its_class["spec"]["workers"]["machinePools"] = [
        {
            "class": "pooled",
            "bootstrap": bootstrap,
            "infrastructure": topology_cluster.cluster_of_class(
                f"{pool_provider.GROUP}/v1", kind
            ),
        }
    ]
    made = topology_cluster.cluster("workload", md_0=1)
    entry = {"class": "pooled", "name": "mp-0", "replicas": 1}
    made["spec"]["topology"]["workers"]["machinePools"] = [entry]
    package = make_package(
        *provider.definitions(), *templates, its_class, made
    )
    workload = ObjectRef(pool_provider.CORE, "Cluster", namespace, "workload")
    place = workload._replace(name="workload:machinePools.mp-0")

    def pool():
        (found,) = cluster.list_objects(pool_provider.POOL, namespace)
        return found

    def numbers():
        """In the topology, and of nodes that there are."""
        workers = cluster.get(workload)["spec"]["topology"]["workers"]
        (said,) = workers["machinePools"]
        return said["replicas"], len(pool()["status"].get("nodeRefs", ()))

    def others():
        return {
            one["metadata"]["uid"]
            for one in cluster.list_objects(pool_provider.MACHINE, namespace)
        }

    k8s_cr.instantiate(make_request(), package)
    assert (1, 1) == numbers()
    before = others()

    k8s_cr.scale(make_request(), {place: 3})
    assert (3, 3) == numbers()
    k8s_cr.scale(make_request(), {ObjectRef.of(pool()): 2})
    assert (2, 2) == numbers()
    with pytest.raises(errors.ReadinessTimeout, match="phase ScalingUp"):
        k8s_cr.scale(make_request(timeout=10), {place: pool_provider.MOST + 1})
    k8s_cr.roll_back(make_request())
    assert (2, 2) == numbers()
    k8s_cr.change(make_request(), package)
    assert (2, 2) == numbers()
    assert before == others()

    (worker,) = cluster.list_objects(
        pool_provider.MACHINE,
        namespace,
        f"!{pool_provider.CORE}/control-plane",
    )
    old = worker["metadata"]["uid"]
    k8s_cr.heal(make_request(), {old})
    assert {old} == before - others()
    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)
