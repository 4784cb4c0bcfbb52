"""Clusters with workers that Cluster API does not count again."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds.capi import clusters
from tacker_k8s_cr.model.objects import State


def judge(obj, *manifests):
    registry = kinds.BUILT_IN.with_handlers(clusters.with_workers(manifests))
    return registry[clusters.CLUSTER].assess(obj).state


def of(machine_set, obj):
    machine_set["spec"]["clusterName"] = obj["metadata"]["name"]
    return machine_set


@pytest.mark.parametrize("version", ["", "v1beta1_"])
def test_workers_are_waited_for_where_they_belong(version, load):
    """The Cluster is not updated when its MachineSet becomes ready."""
    obj = load(f"cluster/{version}counting")
    machine_set = of(load(f"machineset/{version}ready"), obj)

    assert State.IN_PROGRESS is judge(obj)
    assert State.CURRENT is judge(obj, machine_set)
    machine_set["spec"]["clusterName"] = "another"
    assert State.IN_PROGRESS is judge(obj, machine_set)


@pytest.mark.parametrize(
    "file",
    [
        "control_plane_scaling",
        "v1beta1_control_plane_scaling",
        "never_starting",
    ],
)
def test_a_control_plane_is_waited_for_all_the_same(file, load):
    """Its changes reach the Cluster at once."""
    obj = load(f"cluster/{file}")

    assert State.IN_PROGRESS is judge(obj, of(load("machineset/ready"), obj))
