"""What else the table has for kinds, and where it ends."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef

CORE = "cluster.x-k8s.io"
INFRA = "infrastructure.cluster.x-k8s.io"

ORDER = [
    GroupKind("", "Namespace"),
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"),
    GroupKind("storage.k8s.io", "StorageClass"),
    GroupKind("", "Secret"),
    GroupKind("rbac.authorization.k8s.io", "RoleBinding"),
    GroupKind("", "Service"),
    GroupKind("apps", "Deployment"),
    GroupKind("autoscaling", "HorizontalPodAutoscaler"),
    GroupKind("apiregistration.k8s.io", "APIService"),
    GroupKind(INFRA, "OpenStackMachineTemplate"),
    GroupKind("example.org", "Gizmo"),
    GroupKind(CORE, "Cluster"),
]


@pytest.mark.requirement("B1")
def test_kinds_stand_in_the_order_of_need():
    """Each of these goes in before the next."""
    ranks = [kinds.BUILT_IN[kind].rank for kind in ORDER]

    assert sorted(set(ranks)) == ranks


@pytest.mark.parametrize(
    "kind", ["MachineDeployment", "MachineSet", "MachinePool"]
)
def test_the_parts_of_a_cluster_are_applied_before_it(kind):
    """A class and workers are there when their Cluster comes."""
    assert kinds.BUILT_IN[GroupKind(CORE, kind)].rank < ApplyOrder.CLUSTER
    assert (
        ApplyOrder.TEMPLATE
        is kinds.BUILT_IN[GroupKind(CORE, "ClusterClass")].rank
    )


@pytest.mark.requirement("P19", "E3")
def test_what_holds_data_is_kept():
    """Prune leaves these alone unless they are named."""
    kept = {
        str(kind)
        for kind, handler in kinds.BUILT_IN.handlers.items()
        if handler.prune_protected
    }

    assert {
        "Cluster.cluster.x-k8s.io",
        "CustomResourceDefinition.apiextensions.k8s.io",
        "Namespace",
        "PersistentVolumeClaim",
    } == kept


def test_only_a_cluster_is_deleted_on_its_own():
    """Its parts must not be changed until it is deleted."""
    alone = {
        str(kind)
        for kind, handler in kinds.BUILT_IN.handlers.items()
        if handler.delete_exclusively
    }

    assert {"Cluster.cluster.x-k8s.io"} == alone


def test_kinds_with_a_number():
    """These can be scaled, all at the same place."""
    scaled = {
        str(kind)
        for kind, handler in kinds.BUILT_IN.handlers.items()
        if handler.replicas
    }

    assert {
        "Deployment.apps",
        "KubeadmControlPlane.controlplane.cluster.x-k8s.io",
        "MachineDeployment.cluster.x-k8s.io",
        "MachinePool.cluster.x-k8s.io",
        "MachineSet.cluster.x-k8s.io",
        "ReplicaSet.apps",
        "ReplicationController",
        "StatefulSet.apps",
    } == scaled


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        (INFRA, "OpenStackCluster"),
        (INFRA, "AWSManagedCluster"),
        (INFRA, "Metal3Machine"),
        (INFRA, "AzureMachinePool"),
        (INFRA, "VSphereMachineTemplate"),
        ("controlplane.cluster.x-k8s.io", "RKE2ControlPlane"),
        ("bootstrap.cluster.x-k8s.io", "TalosConfig"),
    ],
)
@pytest.mark.requirement("TK-11")
def test_any_provider_by_its_contract(group, kind):
    """No provider's name is in the table."""
    assert kinds.BUILT_IN.find(GroupKind(group, kind)) is not None


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("example.org", "Gizmo"),
        ("serving.knative.dev", "Service"),
        (INFRA, "OpenStackClusterIdentity"),
        ("example.org", "Cluster"),
    ],
)
@pytest.mark.requirement("T3", "A2", "C2", "CR-1")
def test_any_other_kind_is_the_normal_case(group, kind):
    """An unknown kind has the strict handler."""
    group_kind = GroupKind(group, kind)

    assert kinds.BUILT_IN.find(group_kind) is None
    assert generic.ANY is kinds.BUILT_IN[group_kind]


def _children(load, name):
    obj = load(name)
    return kinds.BUILT_IN[GroupKind.of(obj)].references(obj)


@pytest.mark.parametrize("prefix", ["", "v1beta1_"])
def test_what_explains_a_cluster(load, prefix):
    """References of both contracts lead to what a Cluster is made of."""
    names = {"DevCluster", "KubeadmControlPlane"}
    found = _children(load, f"cluster/{prefix}never_starting")

    assert names == {ref.kind for ref in found}
    assert {"kinds-capi"} == {ref.namespace for ref in found}
    assert {"stuck"} == {ref.name for ref in found}


@pytest.mark.parametrize("prefix", ["", "v1beta1_"])
def test_what_explains_a_machine(load, prefix):
    """References of both contracts lead to machine and bootstrap data."""
    found = _children(load, f"machine/{prefix}provisioning")

    assert [
        ("infrastructure.cluster.x-k8s.io", "DevMachine"),
        ("bootstrap.cluster.x-k8s.io", "KubeadmConfig"),
    ] == [(ref.group, ref.kind) for ref in found]


def test_what_an_autoscaler_is_about(load):
    """The words of its target explain why it cannot scale."""
    found = _children(load, "horizontalpodautoscaler/no_target")

    assert (ObjectRef("apps", "Deployment", "kinds-a", "absent"),) == found


@pytest.mark.parametrize(
    ("name", "kind", "selector"),
    [
        ("deployment/stalled", "ReplicaSet.apps", "app=nowhere"),
        ("statefulset/pending", "Pod", "app=db-nowhere"),
        ("replicationcontroller/quota", "Pod", "app=rc"),
        (
            "cluster/never_starting",
            "MachineDeployment.cluster.x-k8s.io",
            "cluster.x-k8s.io/cluster-name=stuck",
        ),
        (
            "kubeadmcontrolplane/initializing",
            "Machine.cluster.x-k8s.io",
            "cluster.x-k8s.io/control-plane-name=stuck",
        ),
        (
            "machinedeployment/never_starting",
            "MachineSet.cluster.x-k8s.io",
            "cluster.x-k8s.io/deployment-name=stuck-md-0",
        ),
    ],
)
def test_where_to_find_what_it_made(load, name, kind, selector):
    """A label selector finds the objects whose words explain a wait."""
    obj = load(name)
    made = kinds.BUILT_IN[GroupKind.of(obj)].child_selectors(obj)

    assert (kind, selector) in [(str(found), where) for found, where in made]


def test_a_control_plane_without_an_observed_generation(load):
    """A KubeadmControlPlane leaves its generation out while it works."""
    obj = load("kubeadmcontrolplane/new")
    ready = load("kubeadmcontrolplane/ready")
    del ready["status"]["observedGeneration"]

    assert "observedGeneration" not in obj.get("status", {})
    assert (
        "current"
        == kinds.BUILT_IN[GroupKind.of(obj)].assess(ready).state.value
    )


def test_an_absent_counter_is_not_zero(load):
    """Scaled to zero means that zero is reported, not that nothing is."""
    obj = load("machinedeployment/zero")
    del obj["status"]["readyReplicas"]

    assert ("in progress: readyReplicas not reported/0") == str(
        kinds.BUILT_IN[GroupKind.of(obj)].assess(obj)
    )


@pytest.mark.parametrize(
    "kind",
    [
        GroupKind("", "Namespace"),
        GroupKind("", "Secret"),
        GroupKind("", "ConfigMap"),
        GroupKind("apps", "Deployment"),
        GroupKind("apps", "StatefulSet"),
        GroupKind("", "Service"),
        GroupKind("", "ServiceAccount"),
        GroupKind("rbac.authorization.k8s.io", "ClusterRole"),
        GroupKind("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ],
    ids=str,
)
@pytest.mark.requirement("IN-28")
def test_the_registry_has_a_handler_for_each_of_these(kind):
    """A handler of their own, and not the one for any other kind."""
    assert kinds.BUILT_IN.find(kind)
