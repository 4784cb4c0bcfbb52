"""Which fields replace machines, and which steps of Kubernetes there are."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.kinds.capi import versions
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef

OTHER = GroupKind("controlplane.cluster.x-k8s.io", "RKE2ControlPlane")
MACHINE = "spec.template.spec."


def replacing(kind, path):
    return rollouts.rollout_effect(kind, path.split("."))


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (rollouts.DEPLOYMENT, MACHINE + "version"),
        (rollouts.DEPLOYMENT, MACHINE + "failureDomain"),
        (rollouts.DEPLOYMENT, MACHINE + "infrastructureRef.name"),
        (rollouts.DEPLOYMENT, MACHINE + "bootstrap.configRef.name"),
        (rollouts.DEPLOYMENT, "spec.rolloutAfter"),
        (rollouts.DEPLOYMENT, "spec.rollout.after"),
        (rollouts.KUBEADM, "spec.version"),
        (rollouts.KUBEADM, "spec.kubeadmConfigSpec.files"),
        (rollouts.KUBEADM, "spec.machineTemplate.infrastructureRef.name"),
        (rollouts.KUBEADM, "spec.machineTemplate.spec.infrastructureRef.name"),
        (OTHER, "spec.version"),
        (rollouts.CLUSTER, "spec.topology.version"),
    ],
)
@pytest.mark.requirement("P9")
def test_these_replace_machines(kind, path):
    """In both versions of the contract."""
    assert replacing(kind, path).certain


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (rollouts.DEPLOYMENT, "metadata.labels.a"),
        (rollouts.DEPLOYMENT, "spec.replicas"),
        (rollouts.DEPLOYMENT, "spec.template.metadata.labels.a"),
        (rollouts.DEPLOYMENT, MACHINE + "nodeDrainTimeout"),
        (rollouts.DEPLOYMENT, MACHINE + "deletion.nodeDrainTimeoutSeconds"),
        (rollouts.DEPLOYMENT, MACHINE + "infrastructureRef.apiVersion"),
        (rollouts.DEPLOYMENT, "spec.rollout.strategy.type"),
        (rollouts.KUBEADM, "spec.replicas"),
        (rollouts.KUBEADM, "spec.machineTemplate.metadata.labels.a"),
        (
            rollouts.KUBEADM,
            "spec.machineTemplate.spec.deletion.nodeDrainTimeoutSeconds",
        ),
        (OTHER, "spec.replicas"),
        (rollouts.CLUSTER, "spec.paused"),
        (rollouts.CLUSTER, "spec.topology.controlPlane.replicas"),
        (GroupKind("apps", "Deployment"), MACHINE + "version"),
    ],
)
def test_these_leave_machines_alone(kind, path):
    """They reach the machines that are there, or none."""
    assert replacing(kind, path) is None


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (rollouts.POOL, MACHINE + "version"),
        (OTHER, "spec.agentConfig.cisProfile"),
        (rollouts.CLUSTER, "spec.topology.variables"),
        (rollouts.CLUSTER, "spec.topology.classRef.name"),
        (rollouts.CLUSTER_CLASS, "spec.patches"),
    ],
)
def test_these_may_replace_machines(kind, path):
    """A provider or a class decides; no other source has it."""
    assert not replacing(kind, path).certain


def leader(version, **metadata):
    return {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
        "kind": "KubeadmControlPlane",
        "metadata": {"name": "cp", "namespace": "ns", **metadata},
        "spec": {"version": version},
    }


def workers(version, bootstrap="KubeadmConfigTemplate", template="a"):
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineDeployment",
        "metadata": {"name": "md", "namespace": "ns"},
        "spec": {
            "clusterName": "c",
            "template": {
                "spec": {
                    "version": version,
                    "infrastructureRef": {"name": template},
                    "bootstrap": {"configRef": {"kind": bootstrap}},
                }
            },
        },
    }


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("v1.35.0", "v1.35.0", None),
        ("v1.35.0", "v1.35.4", None),
        ("v1.35.9", "v1.36.0", None),
        ("1.35.0", "v1.36.0", None),
        ("v1.35.0", "v1.37.0", "to v1.36"),
        ("v1.35.0", "v1.34.9", "cannot be lowered"),
        ("v1.35.2", "v1.35.1", "cannot be lowered"),
        ("v1.35.0", "latest", None),
    ],
)
@pytest.mark.requirement("I11")
def test_a_control_plane_is_upgraded_by_one_minor(before, after, wanted):
    """An invalid version is for Cluster API to reject."""
    said = versions.upgrade_error(leader(before), leader(after), chained=False)

    assert (wanted is None) == (said is None)
    assert (wanted or "") in (said or "")


def test_a_class_may_name_the_versions_to_go_through():
    """Then Cluster API goes through them one by one."""
    before, after = leader("v1.33.0"), leader("v1.36.0")

    assert versions.upgrade_error(before, after, chained=True) is None
    assert versions.upgrade_error(after, before, chained=True)
    unsafe = leader("v1.36.0", annotations={versions.UNSAFE: ""})
    assert versions.upgrade_error(before, unsafe, chained=False) is None


@pytest.mark.parametrize(
    ("theirs", "mine", "live", "wanted"),
    [
        ("v1.36.0", workers("v1.36.0"), None, None),
        ("v1.36.0", workers("v1.37.0"), None, "cannot be newer"),
        ("v1.36.0", workers("v1.35.0"), workers("v1.35.0"), None),
        ("v1.36.0", workers("v1.35.0"), workers("v1.34.0"), "kubeadm"),
        (
            "v1.36.0",
            workers("v1.35.0", template="b"),
            workers("v1.35.0"),
            "kubeadm",
        ),
        ("v1.36.0", workers("v1.35.0", "Other"), None, None),
        ("v1.36.0", workers("v1.32.0", "Other"), None, "more than 3"),
    ],
)
@pytest.mark.requirement("I11")
def test_workers_must_be_compatible_with_their_control_plane(
    theirs, mine, live, wanted
):
    """New ones have to join it: the error states that they never would."""
    said = versions.version_skew_error(mine, leader(theirs), live)

    assert (wanted is None) == (said is None)
    assert (wanted or "") in (said or "")


def test_workers_come_after_the_control_plane_that_changes():
    """If both get another version, and only then."""
    cluster = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": "c", "namespace": "ns"},
        "spec": {
            "controlPlaneRef": {
                "apiGroup": "controlplane.cluster.x-k8s.io",
                "kind": "KubeadmControlPlane",
                "name": "cp",
            }
        },
    }

    def by_ref(*found):
        return {ObjectRef.of(obj): obj for obj in found}

    live = by_ref(cluster, leader("v1.35.0"), workers("v1.35.0"))
    both = by_ref(cluster, leader("v1.36.0"), workers("v1.36.0"))
    one = by_ref(cluster, leader("v1.35.0"), workers("v1.35.1"))

    assert {
        ObjectRef.of(workers("")): ObjectRef.of(leader(""))
    } == versions.upgrade_order(both, live)
    assert {} == versions.upgrade_order(one, live)
    assert {} == versions.upgrade_order(both, {})
