"""Pools of machines, with Cluster API's own controller of them."""

from __future__ import annotations

import dataclasses

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr.healing import members
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package.model import Document
from tests.functional import pools
from tests.functional import test_cli
from tests.functional import topology
from tests.functional.test_cluster_api import SAMPLE

pytestmark = [pytest.mark.plane, pytest.mark.capi]

environ = test_cli.environ
run = test_cli.run


@pytest.fixture
def provider(cluster, kubectl, namespace, unique):
    with pools.Provider(cluster, namespace, unique) as working:
        yield working
        # A failed test may leave it, and without its provider it would stay.
        where = ("--namespace", namespace, "--ignore-not-found")
        kubectl("delete", pools.CLUSTERS, "workload", *where, "--timeout=60s")
    made = (one["metadata"]["name"] for one in working.definitions())
    kubectl("delete", "crd", *made, "--ignore-not-found", "--wait=false")


@pytest.fixture
def machines(cluster, namespace):
    """By name the UIDs of the Machines of a pool."""

    def found(name):
        return {
            one["metadata"]["name"]: one["metadata"]["uid"]
            for one in cluster.list_objects(
                pools.MACHINE, namespace, f"{pools.MEMBER}={name}"
            )
        }

    return found


def test_pools_are_scaled_and_healed(
    cluster, run, namespace, unique, provider, machines, traces
):
    """A pool is current with as many nodes as were asked (P8, T11, TK-16).

    Out, in, to none and back; what its provider cannot give goes back (P22).
    Where that shows machines, the chosen one goes, and one that is healed
    has another in its place (G3). Where it shows none nobody can be healed,
    which is said.
    """
    life = {"namespace": namespace, "deadline": k8s_cr.Deadline.after(150)}
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
    counted = ObjectRef(pools.CORE, "MachinePool", namespace, "counted")
    shown = counted._replace(name="shown")

    def scale(numbers, **how):
        return k8s_cr.scale(cluster, unique, numbers, **{**life, **how})

    def nodes(ref):
        """Names of the nodes that Cluster API knows of a pool."""
        pool = cluster.get(ref)
        found = pool["status"].get("nodeRefs", [])
        assert "Running" == pool["status"]["phase"]
        assert pool["spec"]["replicas"] == len(found)
        return {one["name"] for one in found}

    def of_pool(ref):
        return members.of(cluster, kinds.BUILT_IN, cluster.get(ref))

    report = k8s_cr.instantiate(cluster, unique, package, **life)

    said = {row.ref: str(row.verdict) for row in report.rows}
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
    with pytest.raises(errors.NotReady, match="phase ScalingUp"):
        scale({counted: pools.MOST + 1}, deadline=k8s_cr.Deadline.after(10))
    k8s_cr.roll_back(cluster, unique, **life)
    assert 3 == len(nodes(counted))
    going = sorted(two)[0]
    scale({shown: 2}, leaving=[going])
    assert three.keys() - {going} == machines("shown").keys()
    assert three.keys() - {going} == nodes(shown)
    scale({counted: 0})
    assert set() == nodes(counted)
    scale({counted: 1})
    assert 1 == len(nodes(counted))
    k8s_cr.change(cluster, unique, package, **life)
    assert 2 == len(nodes(shown))
    for theirs in ("them", None):
        notes = {f"{pools.CORE}/replicas-managed-by": theirs}
        cluster.patch(counted, {"metadata": {"annotations": notes}}, "them")
        if theirs:
            with pytest.raises(errors.NotScalable, match="replicas-managed-"):
                scale({counted: 2})
    assert 1 == len(nodes(counted))

    # -- Healed --------------------------------------------------------------
    before = machines("shown")
    old = sorted(before)[0]
    marking = k8s_cr.Options(heal_machines="remediate")
    with pytest.raises(errors.NotHealable, match="does not remediate"):
        k8s_cr.heal(cluster, unique, {before[old]}, options=marking, **life)
    k8s_cr.heal(cluster, unique, {before[old]}, **life)
    after = machines("shown")
    (new,) = after.keys() - before.keys()
    assert {old} == before.keys() - after.keys()
    made = ObjectRef(pools.CORE, "Machine", namespace, new)
    assert new == cluster.get(made)["status"]["nodeRef"]["name"]
    pool = cluster.get(counted)["metadata"]["uid"]
    with pytest.raises(errors.NotHealable, match="shows no Machines") as got:
        k8s_cr.heal(cluster, unique, {pool}, **life)
    assert [counted] == list(got.value.reasons)
    said = run("heal", unique, "MachinePool/counted")
    assert 2 == said.code
    assert "shows no Machines" in said.err
    there = nodes(counted)

    report = k8s_cr.heal(cluster, unique, **life)

    notes = {row.ref: " ".join(row.notes) for row in report.rows}
    assert "shows no Machines" in notes[counted]
    assert set() == after.keys() & machines("shown").keys()
    assert there == nodes(counted)
    k8s_cr.terminate(cluster, unique, **life)
    assert [] == traces(unique, namespace)


def test_a_pool_of_a_topology_is_scaled_through_its_cluster(
    cluster, namespace, packed, unique, provider, traces
):
    """By the entry's name, and no other machine is replaced (P8, TK-16).

    What the provider cannot give goes back (P22). Who heals others does not
    wait for machines that nobody sees (G3).
    """
    life = {"namespace": namespace, "deadline": k8s_cr.Deadline.after(300)}
    kind = f"{provider.infrastructure.kind}Template"
    *templates, its_class = topology.cluster_class()
    templates.append(
        topology.template(f"{pools.GROUP}/v1", kind, {"shown": False})
    )
    bootstrap = topology.of_class(topology.BOOTSTRAP, "KubeadmConfigTemplate")
    its_class["spec"]["workers"]["machinePools"] = [
        {
            "class": "pooled",
            "bootstrap": bootstrap,
            "infrastructure": topology.of_class(f"{pools.GROUP}/v1", kind),
        }
    ]
    made = topology.cluster("workload", md_0=1)
    entry = {"class": "pooled", "name": "mp-0", "replicas": 1}
    made["spec"]["topology"]["workers"]["machinePools"] = [entry]
    package = packed(*provider.definitions(), *templates, its_class, made)
    workload = ObjectRef(pools.CORE, "Cluster", namespace, "workload")
    place = workload._replace(name="workload:machinePools.mp-0")

    def pool():
        (found,) = cluster.list_objects(pools.POOL, namespace)
        return found

    def numbers():
        """In the topology, and of nodes that there are."""
        workers = cluster.get(workload)["spec"]["topology"]["workers"]
        (said,) = workers["machinePools"]
        return said["replicas"], len(pool()["status"].get("nodeRefs", ()))

    def others():
        return {
            one["metadata"]["uid"]
            for one in cluster.list_objects(pools.MACHINE, namespace)
        }

    k8s_cr.instantiate(cluster, unique, package, **life)
    assert (1, 1) == numbers()
    before = others()

    k8s_cr.scale(cluster, unique, {place: 3}, **life)
    assert (3, 3) == numbers()
    k8s_cr.scale(cluster, unique, {ObjectRef.of(pool()): 2}, **life)
    assert (2, 2) == numbers()
    with pytest.raises(errors.NotReady, match="phase ScalingUp"):
        k8s_cr.scale(
            cluster,
            unique,
            {place: pools.MOST + 1},
            namespace=namespace,
            deadline=k8s_cr.Deadline.after(10),
        )
    k8s_cr.roll_back(cluster, unique, **life)
    assert (2, 2) == numbers()
    k8s_cr.change(cluster, unique, package, **life)
    assert (2, 2) == numbers()
    assert before == others()

    (worker,) = cluster.list_objects(
        pools.MACHINE, namespace, f"!{pools.CORE}/control-plane"
    )
    old = worker["metadata"]["uid"]
    k8s_cr.heal(cluster, unique, {old}, **life)
    assert {old} == before - others()
    k8s_cr.terminate(cluster, unique, **life)
    assert [] == traces(unique, namespace)
