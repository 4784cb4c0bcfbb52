"""Operators of virtual machines, bare metal hosts and GPUs."""

from __future__ import annotations

from tacker_k8s_cr.kinds.operators.kind_rules import KindRules

ROWS: tuple[KindRules, ...] = (
    KindRules(
        "nvidia.com",
        ("ClusterPolicy",),
        "NVIDIA/gpu-operator api/nvidia/v1/clusterpolicy_types.go",
        ("status.state=ready",),
    ),
    KindRules(
        "kubevirt.io",
        ("VirtualMachineInstance",),
        "kubevirt/api core/v1/types.go",
        ("condition=Ready",),
        ("status.phase=Failed",),
    ),
    KindRules(
        "metal3.io",
        ("BareMetalHost",),
        "metal3-io/baremetal-operator apis/metal3.io/v1alpha1/"
        "baremetalhost_types.go",
        (
            "status.operationalStatus=OK|detached",
            "status.provisioning.state=available|ready|provisioned|"
            '"externally provisioned"|unmanaged',
        ),
    ),
)
