"""Where templates are referred to, and the names of those that changed."""

from __future__ import annotations

import copy
import re

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.kinds.capi import references
from tacker_k8s_cr.kinds.capi import template_names
from tacker_k8s_cr.kinds.capi import templates
from tacker_k8s_cr.model.objects import GroupKind

INFRA = GroupKind(
    "infrastructure.cluster.x-k8s.io", "OpenStackMachineTemplate"
)
BOOT = GroupKind("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate")
CONTROL = GroupKind(
    "controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate"
)


def older(group_kind, name):
    """A reference of the v1beta1 contract."""
    return {
        "apiVersion": f"{group_kind.group}/v1beta1",
        "kind": group_kind.kind,
        "name": name,
        "namespace": "ns",
    }


def newer(group_kind, name):
    """A reference of the v1beta2 contract."""
    return {
        "apiGroup": group_kind.group,
        "kind": group_kind.kind,
        "name": name,
    }


def worker(kind, make):
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": "md-0", "namespace": "ns"},
        "spec": {
            "replicas": 1,
            "template": {
                "spec": {
                    "infrastructureRef": make(INFRA, "machines"),
                    "bootstrap": {"configRef": make(BOOT, "boot")},
                }
            },
        },
    }


def control_plane(machine_template, kind="KubeadmControlPlane"):
    return {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": "cp", "namespace": "ns"},
        "spec": {"machineTemplate": machine_template},
    }


CLASS_NEWER = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "ClusterClass",
    "metadata": {"name": "class", "namespace": "ns"},
    "spec": {
        "controlPlane": {
            "templateRef": older(CONTROL, "cp"),
            "machineInfrastructure": {"templateRef": older(INFRA, "cp-m")},
            "healthCheck": {
                "remediation": {"templateRef": older(INFRA, "cp-r")}
            },
        },
        "workers": {
            "machineDeployments": [
                {
                    "class": "small",
                    "bootstrap": {"templateRef": older(BOOT, "boot")},
                    "infrastructure": {"templateRef": older(INFRA, "small")},
                },
                {
                    "class": "large",
                    "bootstrap": {"templateRef": older(BOOT, "boot")},
                    "infrastructure": {"templateRef": older(INFRA, "large")},
                    "healthCheck": {
                        "remediation": {"templateRef": older(INFRA, "md-r")}
                    },
                },
            ]
        },
    },
}
CLASS_OLDER = {
    "apiVersion": "cluster.x-k8s.io/v1beta1",
    "kind": "ClusterClass",
    "metadata": {"name": "class", "namespace": "ns"},
    "spec": {
        "controlPlane": {
            "ref": older(CONTROL, "cp"),
            "machineInfrastructure": {"ref": older(INFRA, "cp-m")},
            "machineHealthCheck": {
                "remediationTemplate": older(INFRA, "cp-r")
            },
        },
        "workers": {
            "machineDeployments": [
                {
                    "class": "small",
                    "template": {
                        "bootstrap": {"ref": older(BOOT, "boot")},
                        "infrastructure": {"ref": older(INFRA, "small")},
                    },
                }
            ]
        },
    },
}


@pytest.mark.parametrize(
    ("manifest", "names"),
    [
        (worker("MachineDeployment", older), {"machines", "boot"}),
        (worker("MachineDeployment", newer), {"machines", "boot"}),
        (worker("MachineSet", newer), {"machines", "boot"}),
        (
            control_plane({"infrastructureRef": older(INFRA, "machines")}),
            {"machines"},
        ),
        (
            control_plane(
                {"spec": {"infrastructureRef": newer(INFRA, "machines")}}
            ),
            {"machines"},
        ),
        (
            control_plane(
                {"infrastructureRef": older(INFRA, "machines")},
                "OtherControlPlane",
            ),
            {"machines"},
        ),
        (
            CLASS_NEWER,
            {"cp", "cp-m", "cp-r", "boot", "small", "large", "md-r"},
        ),
        (CLASS_OLDER, {"cp", "cp-m", "cp-r", "boot", "small"}),
    ],
)
@pytest.mark.requirement("P13")
def test_templates_are_found_in_both_contracts(manifest, names):
    """Every place where the contract allows a template is looked at."""
    found = references.template_refs(manifest)

    assert names == {name for _, _, name in found}


@pytest.mark.parametrize(
    "manifest",
    [
        worker("MachineDeployment", older),
        worker("MachineDeployment", newer),
        control_plane({"infrastructureRef": older(INFRA, "machines")}),
        CLASS_NEWER,
        CLASS_OLDER,
    ],
)
def test_references_are_led_to_new_names(manifest):
    """Only the name changes, and the author's manifest stays as it was."""
    before = copy.deepcopy(manifest)
    found = references.template_refs(manifest)
    names = {(kind, name): f"{name}-0123456789" for _, kind, name in found}

    renamed = references.with_renamed(manifest, names)

    assert before == manifest
    assert [
        (where, kind, f"{name}-0123456789") for where, kind, name in found
    ] == list(references.template_refs(renamed))
    back = {(kind, new): name for (kind, name), new in names.items()}
    assert manifest == references.with_renamed(renamed, back)


def test_a_template_of_another_kind_keeps_its_name():
    """Two templates may share a name; only the one that is meant is led on."""
    names = {(GroupKind(INFRA.group, "OtherTemplate"), "machines"): "new"}
    manifest = worker("MachineDeployment", newer)

    assert manifest == references.with_renamed(manifest, names)


def test_only_templates_are_renamed():
    """A Cluster and a Machine refer to the objects themselves."""
    cluster = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": "a"},
        "spec": {
            "infrastructureRef": newer(
                GroupKind(INFRA.group, "OpenStackCluster"), "a"
            )
        },
    }

    assert () == references.template_refs(cluster)


def test_objects_of_the_running_plane_have_their_references_there(load):
    """What Cluster API 1.14 makes from a topology refers at these places."""
    deployment = references.template_refs(load("machinedeployment/topology"))
    plane = references.template_refs(load("kubeadmcontrolplane/ready"))
    older_plane = references.template_refs(
        load("kubeadmcontrolplane/v1beta1_ready")
    )
    a_class = references.template_refs(load("clusterclass/ready"))
    older_class = references.template_refs(load("clusterclass/v1beta1_ready"))

    assert 2 == len(deployment)
    assert 1 == len(plane) == len(older_plane)
    assert 5 == len(a_class) == len(older_class)


@pytest.mark.parametrize(
    ("group", "kind", "expected"),
    [
        ("infrastructure.cluster.x-k8s.io", "DevMachineTemplate", True),
        ("cluster.x-k8s.io", "SomeTemplate", True),
        ("infrastructure.cluster.x-k8s.io", "DevMachine", False),
        ("example.org", "MachineTemplate", False),
        ("notcluster.x-k8s.io", "MachineTemplate", False),
        ("", "PodTemplate", False),
    ],
)
def test_what_is_a_template(group, kind, expected):
    """Kinds that end so, in the groups of Cluster API and its providers."""
    assert expected is templates.is_template(GroupKind(group, kind))


SPECS = st.dictionaries(
    st.text(max_size=5),
    st.integers() | st.text(max_size=5) | st.lists(st.booleans(), max_size=3),
    max_size=4,
)


def _template(spec, name="machines"):
    return {"metadata": {"name": name}, "spec": spec}


@given(SPECS, SPECS)
@pytest.mark.requirement("P10")
def test_a_live_name_is_made_from_the_content(one, other):
    """The same content has the same name, other content has another."""
    same = template_names.hashed_name(
        _template(one)
    ) == template_names.hashed_name(_template(other))

    assert (one == other and repr(one) == repr(other)) <= same
    assert same <= (one == other)


def test_the_order_of_keys_does_not_change_a_live_name():
    """Two files that say the same in another order are the same."""
    assert template_names.hashed_name(_template({"a": 1, "b": 2})) == (
        template_names.hashed_name(_template({"b": 2, "a": 1}))
    )


@given(st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", fullmatch=True))
@pytest.mark.requirement("CR-23")
def test_a_live_name_is_a_name(name):
    """Whatever the author's name, the new one is legal in Kubernetes."""
    live = template_names.hashed_name(_template({}, name))

    assert len(live) <= 253
    assert re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?-[0-9a-f]{10}", live)
