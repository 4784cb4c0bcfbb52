"""Workers that take a change only when they are deleted."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds.capi import clusters
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.model.objects import State

FILES = ["workers_on_delete", "v1beta1_workers_on_delete"]


@pytest.mark.parametrize("file", FILES)
def test_a_cluster_does_not_wait_for_the_workers_of_its_package(file, load):
    """No status of a Cluster shows how a change reaches them."""
    version = "v1beta1_" if file.startswith("v1beta1") else ""
    pool = load(f"machinedeployment/{version}on_delete")
    of_package = kinds.BUILT_IN.with_handlers(clusters.with_workers([pool]))
    obj = load(f"cluster/{file}")

    assert State.CURRENT is of_package[clusters.CLUSTER].assess(obj).state
    found = of_package[clusters.CLUSTER]
    assert (
        State.IN_PROGRESS is kinds.BUILT_IN[clusters.CLUSTER].assess(obj).state
    )
    obj["metadata"]["name"] = "other"
    assert State.IN_PROGRESS is found.assess(obj).state
    assert {} == clusters.with_workers([load("machinedeployment/ready")])


@pytest.mark.parametrize("file", ["machines_outdated", "rolling"])
def test_a_control_plane_that_is_replaced_is_waited_for(file, load):
    """Whatever the workers do."""
    pool = load("machinedeployment/on_delete")
    obj = load(f"cluster/{file}")
    pool["spec"]["clusterName"] = obj["metadata"]["name"]
    for condition in obj["status"]["conditions"]:
        if condition["type"] == clusters.UP_TO_DATE[0]:
            condition["status"] = "False"
    of_package = kinds.BUILT_IN.with_handlers(clusters.with_workers([pool]))

    assert State.IN_PROGRESS is of_package[clusters.CLUSTER].assess(obj).state


def test_a_topology_states_it_itself(load):
    """Other workers of it are waited for anyway."""
    handler = kinds.BUILT_IN[clusters.CLUSTER]
    obj = load("cluster/topology_available")
    topology = obj["spec"]["topology"]
    (entry,) = topology["workers"]["machineDeployments"]
    number = entry["replicas"]
    for condition in obj["status"]["conditions"]:
        if condition["type"] == clusters.UP_TO_DATE[1]:
            condition["status"] = "False"
        if condition["type"] == "RollingOut":
            condition["status"] = "True"
    obj["status"]["workers"]["upToDateReplicas"] = 0

    assert State.IN_PROGRESS is handler.assess(obj).state
    entry["rollout"] = {"strategy": {"type": "OnDelete"}}
    assert State.CURRENT is handler.assess(obj).state
    entry["replicas"] = 0
    rolled = {"name": "b", "class": "small", "replicas": number}
    topology["workers"]["machineDeployments"].append(rolled)
    verdict = handler.assess(obj)
    assert State.IN_PROGRESS is verdict.state
    assert f"workers.upToDateReplicas 0/{number}" in verdict.reason


def test_outdated_machines_roll_with_the_strategy(load):
    """As soon as they may roll, those that are behind do."""
    left = load("machinedeployment/on_delete")
    rolls = load("machinedeployment/on_delete")
    rolls["spec"]["rollout"]["strategy"]["type"] = "RollingUpdate"

    assert rollouts.resumes_rollout(left, rolls)
    assert not rollouts.resumes_rollout(rolls, left)
    left["status"]["upToDateReplicas"] = left["spec"]["replicas"]
    assert not rollouts.resumes_rollout(left, rolls)
