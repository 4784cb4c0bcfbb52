"""Operators that run or scale Pods in place of built-in kinds."""

from __future__ import annotations

from tacker_k8s_cr.kinds.operators.kind_rules import KindRules

ROWS: tuple[KindRules, ...] = (
    KindRules(
        "apps.kruise.io",
        ("CloneSet", "StatefulSet"),
        "openkruise/kruise apis/apps: counters as those of the built-in kinds",
        (
            "status.updatedReplicas=.spec.replicas",
            "status.readyReplicas=.spec.replicas",
        ),
    ),
    KindRules(
        "keda.sh",
        ("ClusterTriggerAuthentication", "TriggerAuthentication"),
        "kedacore/keda apis/keda/v1alpha1/triggerauthentication_types.go: "
        "it lists only its users",
    ),
)
