"""What a change of a topology, or of a class, does to its workers."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.plan import diff
from tacker_k8s_cr.plan import forecast
from tacker_k8s_cr.plan import irreversible


def topology(*names, of="default"):
    entries = [{"name": n, "class": of, "replicas": 2} for n in names]
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": {"topology": {"workers": {"machineDeployments": entries}}},
    }


def of_class(*names):
    entries = [
        {"class": name, "infrastructure": {"templateRef": {"name": name}}}
        for name in names
    ]
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "ClusterClass",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": {"workers": {"machineDeployments": entries}},
    }


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        (rollouts.CLUSTER, topology("a"), topology("a", "b")),
        (rollouts.CLUSTER, topology("a", "b"), topology("a")),
        (rollouts.CLUSTER, topology("b"), topology("a", "b")),
        (rollouts.CLUSTER_CLASS, of_class("a"), of_class("a", "b")),
        (rollouts.CLUSTER_CLASS, of_class("b"), of_class("a", "b")),
        (rollouts.CLUSTER_CLASS, of_class("a", "b"), of_class("b")),
    ],
)
def test_new_and_removed_workers_replace_none(kind, before, after):
    """Wherever in the list they stand."""
    found = diff.diff(before, after)

    assert forecast.rollout(kind, found, 2, {}) is None
    assert found


def test_changed_workers_are_reported_as_before():
    """Beside some that are new."""
    found = diff.diff(topology("a"), topology("b", "a", of="big"))
    rolls = forecast.rollout(rollouts.CLUSTER, found, 2, {})
    assert rolls
    assert ("workers a",) == rolls.parts

    changed = of_class("b", "a")
    changed["spec"]["workers"]["machineDeployments"][1]["infrastructure"] = {
        "templateRef": {"name": "other"}
    }
    found = diff.diff(of_class("a"), changed)
    rolls = forecast.rollout(rollouts.CLUSTER_CLASS, found, 2, {})
    assert rolls
    (cause,) = rolls.causes
    assert (
        'spec.workers.machineDeployments[class="a"].infrastructure'
        ".templateRef.name: a -> other"
    ) == cause


def test_removed_workers_of_a_topology_are_irreversible():
    """As those do that have objects of their own."""
    assert (
        "the workers b are deleted, with machines and workloads",
    ) == irreversible.irreversible_update(topology("a", "b"), topology("a"))
    assert () == irreversible.irreversible_update(
        topology("a"), topology("a", "b")
    )
    assert irreversible.may_be_irreversible(rollouts.CLUSTER)
