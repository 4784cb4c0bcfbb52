"""Which templates of a class a topology makes machines from."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.kinds.capi import cluster_class as classes
from tacker_k8s_cr.model.objects import ObjectRef
from tests.functional import topology_cluster
from tests.functional.test_change_clusters import older

CLASS = ObjectRef("cluster.x-k8s.io", "ClusterClass", "edge", "mem")


def objects(shape):
    """A Cluster and its class, in one version of the contract."""
    cluster = topology_cluster.cluster("workload", md_0=1)
    cluster["metadata"]["namespace"] = "edge"
    (found,) = (
        obj
        for obj in topology_cluster.cluster_class()
        if obj["kind"] == "ClusterClass"
    )
    return shape(cluster), shape(found)


def deployment(entry, version="v1beta2"):
    """What a topology makes of an entry, made from templates of its own."""
    api = {"apiVersion": f"infrastructure.cluster.x-k8s.io/{version}"}
    if version == "v1beta2":
        api = {"apiGroup": "infrastructure.cluster.x-k8s.io"}
    reference = {**api, "kind": "DevMachineTemplate", "name": "made-1"}
    label = "topology.cluster.x-k8s.io/deployment-name"
    spec = {"infrastructureRef": reference, "bootstrap": {}}
    return {
        "apiVersion": f"cluster.x-k8s.io/{version}",
        "kind": "MachineDeployment",
        "metadata": {
            "name": "workload-x",
            "namespace": "edge",
            "labels": {label: entry},
        },
        "spec": {"template": {"spec": spec}},
    }


@pytest.mark.parametrize("shape", [dict, older], ids=["v1beta2", "v1beta1"])
def test_a_group_of_workers_is_made_from_templates_of_its_class(shape):
    """In both versions of the contract."""
    cluster, cluster_class = objects(shape)

    assert CLASS == classes.class_ref(cluster)
    assert {
        "infrastructure": "mem",
        "bootstrap": "mem",
    } == classes.class_templates(cluster, cluster_class, deployment("md-0"))
    assert {} == classes.class_templates(
        cluster, cluster_class, deployment("other")
    )


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_the_references_of_workers(version):
    """By purpose; a reference without a name is left out."""
    made = ObjectRef(
        "infrastructure.cluster.x-k8s.io",
        "DevMachineTemplate",
        "edge",
        "made-1",
    )

    assert {"infrastructure": made} == classes.machine_templates(
        deployment("md-0", version)
    )


@pytest.mark.parametrize("shape", [dict, older], ids=["v1beta2", "v1beta1"])
def test_the_machines_of_a_control_plane_have_a_template_too(shape):
    """Where it lies is another thing in each version of the contract."""
    cluster, cluster_class = objects(shape)
    reference = {
        "apiGroup": "infrastructure.cluster.x-k8s.io",
        "kind": "DevMachineTemplate",
        "name": "made-2",
    }
    template = {"infrastructureRef": reference}
    leader = {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
        "kind": "KubeadmControlPlane",
        "metadata": {"name": "a", "namespace": "edge"},
        "spec": {
            "machineTemplate": template
            if shape is older
            else {"spec": template}
        },
    }

    assert {"infrastructure": "mem"} == classes.class_templates(
        cluster, cluster_class, leader
    )
    (found,) = classes.machine_templates(leader).values()
    assert "made-2" == found.name


def test_a_cluster_without_a_class():
    """It has no templates that a class names."""
    assert classes.class_ref({"metadata": {"namespace": "edge"}}) is None


@pytest.mark.parametrize(
    "said",
    [
        {"classRef": {"name": "mem", "namespace": "classes"}},
        {"class": "mem", "classNamespace": "classes"},
    ],
    ids=["v1beta2", "v1beta1"],
)
def test_a_class_may_be_in_another_namespace(said):
    """In both versions of the contract."""
    cluster = {"metadata": {"namespace": "edge"}, "spec": {"topology": said}}
    there = CLASS._replace(namespace="classes")

    assert there == classes.class_ref(cluster)
