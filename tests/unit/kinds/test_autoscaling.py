"""Who keeps a number, and who must not be fought over it."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import autoscaling
from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef

CLUSTER = ObjectRef("cluster.x-k8s.io", "Cluster", "ns", "site-a")
MIN = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
MAX = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"


def obj(labels=None, annotations=None):
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineDeployment",
        "metadata": {
            "name": "a",
            "namespace": "ns",
            "labels": labels or {},
            "annotations": annotations or {},
        },
    }


def owned(**labels):
    return obj(
        {
            "topology.cluster.x-k8s.io/owned": "",
            "cluster.x-k8s.io/cluster-name": "site-a",
            **{
                f"topology.cluster.x-k8s.io/{name.replace('_', '-')}": value
                for name, value in labels.items()
            },
        }
    )


@pytest.mark.parametrize(
    ("labels", "entry"),
    [
        (
            {"deployment_name": "md-0"},
            topology_replicas.TopologyReplicas(
                CLUSTER, "machineDeployments", "md-0"
            ),
        ),
        (
            {"pool_name": "mp-0"},
            topology_replicas.TopologyReplicas(
                CLUSTER, "machinePools", "mp-0"
            ),
        ),
        ({}, topology_replicas.TopologyReplicas(CLUSTER)),
    ],
)
@pytest.mark.requirement("P8")
def test_the_machines_of_a_topology_are_scaled_there(labels, entry):
    """The label names the entry of the Cluster."""
    assert entry == autoscaling.topology_entry(owned(**labels))
    assert str(entry) in autoscaling.topology_reason(owned(**labels))
    assert str(CLUSTER) in autoscaling.topology_reason(owned(**labels))


def test_a_topology_is_recognized_by_the_label_alone():
    """Without the Cluster's name the replicas still belong to the topology."""
    made = obj({"topology.cluster.x-k8s.io/owned": ""})

    assert autoscaling.topology_entry(made) is None
    assert "topology" in autoscaling.topology_reason(made)


def test_a_machine_deployment_of_the_running_plane(load):
    """What Cluster API 1.14 makes from a topology has these labels."""
    found = autoscaling.topology_entry(load("machinedeployment/topology"))

    assert "machineDeployments" == found.section
    assert "md-0" == found.name


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ({MIN: "1", MAX: "5"}, "between 1 and 5"),
        ({MAX: "5"}, "between ? and 5"),
        ({autoscaling.MANAGED_BY: "karpenter"}, "managed by karpenter"),
        ({autoscaling.MANAGED_BY: ""}, "managed elsewhere"),
    ],
)
@pytest.mark.requirement("P7", "D3", "I6")
def test_what_is_autoscaled(annotations, words):
    """The annotations of an autoscaler name the owner of the number."""
    assert words in autoscaling.cluster_autoscaler_reason(
        obj(annotations=annotations)
    )


def test_an_object_without_annotations_is_not_autoscaled():
    """An object without marks is scaled directly."""
    assert autoscaling.topology_reason(obj()) is None
    assert autoscaling.topology_entry(obj()) is None
    assert autoscaling.cluster_autoscaler_reason(obj()) is None
    assert autoscaling.hpa_reason([], ObjectRef.of(obj())) is None


@pytest.mark.requirement("P7", "D3")
def test_an_autoscaler_of_pods_is_found_by_its_target(load):
    """An HPA owns the number of what it targets, in its namespace."""
    hpas = [
        load("horizontalpodautoscaler/no_metrics"),
        load("horizontalpodautoscaler/active"),
    ]
    ref = ObjectRef("apps", "Deployment", "default", "web")
    elsewhere = ObjectRef("apps", "Deployment", "elsewhere", "web")
    other = ObjectRef("apps", "StatefulSet", "default", "web")

    assert (
        "its replicas are managed by "
        "HorizontalPodAutoscaler.autoscaling/default/web, between 2 and 5"
    ) == autoscaling.hpa_reason(hpas, ref)
    assert autoscaling.hpa_reason(hpas, elsewhere) is None
    assert autoscaling.hpa_reason(hpas, other) is None


STACKED: dict = {"spec": {"kubeadmConfigSpec": {"clusterConfiguration": {}}}}
EXTERNAL = {
    "spec": {
        "kubeadmConfigSpec": {
            "clusterConfiguration": {
                "etcd": {"external": {"endpoints": ["https://10.0.0.1"]}}
            }
        }
    }
}


@pytest.mark.parametrize(
    ("control_plane", "number", "allowed"),
    [
        (STACKED, 1, True),
        (STACKED, 3, True),
        (STACKED, 2, False),
        (STACKED, 0, False),
        (STACKED, -1, False),
        (EXTERNAL, 2, True),
        (EXTERNAL, 0, False),
        ({}, 4, False),
    ],
)
@pytest.mark.requirement("D5")
def test_a_control_plane_with_its_own_etcd_is_odd(
    control_plane, number, allowed
):
    """A number that the webhook would refuse is refused before."""
    group = "controlplane.cluster.x-k8s.io"
    handler = kinds.BUILT_IN[GroupKind(group, "KubeadmControlPlane")]

    assert allowed is (handler.refuse_replicas(control_plane, number) is None)


def test_other_control_planes_make_their_own_rules():
    """Only a KubeadmControlPlane is known to refuse numbers."""
    group = "controlplane.cluster.x-k8s.io"

    assert kinds.BUILT_IN[GroupKind(group, "Other")].refuse_replicas is None


@pytest.mark.parametrize(
    ("before", "number", "after"),
    [
        ((2, 4), 3, (3, 4)),
        ((2, 4), 6, (6, 6)),
        ((2, 4), 1, (1, 4)),
        ((None, 4), 2, (2, 4)),
        ((2, None), 3, (3, 3)),
    ],
)
def test_limits_are_adjusted_to_the_minimum(before, number, after):
    """The upper one goes up only; to repeat it changes nothing."""
    moved = autoscaling.ReplicaLimits(*before).including(number)

    assert autoscaling.ReplicaLimits(*after) == moved
    assert moved == moved.including(number)


def test_limits_survive_a_round_trip_as_annotations():
    """One that is not to be there is taken off."""
    bounds = autoscaling.ReplicaLimits(1, None)

    assert {MIN: "1", MAX: None} == autoscaling.as_annotations(bounds)
    assert bounds == autoscaling.annotated_limits({MIN: "1"})
    assert autoscaling.ReplicaLimits(1, None) == autoscaling.annotated_limits(
        {MIN: "1", MAX: "many"}
    )
    assert autoscaling.annotated_limits({}) is None
