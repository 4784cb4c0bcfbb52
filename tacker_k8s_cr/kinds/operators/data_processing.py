"""Operators of engines that process data."""

from __future__ import annotations

from tacker_k8s_cr.kinds.operators.kind_rules import KindRules

ROWS: tuple[KindRules, ...] = (
    KindRules(
        "sparkoperator.k8s.io",
        ("SparkApplication",),
        "kubeflow/spark-operator api/v1beta2/sparkapplication_types.go",
        ("status.applicationState.state=RUNNING|COMPLETED",),
        ("status.applicationState.state=FAILED",),
        ephemeral=True,
    ),
    KindRules(
        "ray.io",
        ("RayCluster",),
        "ray-project/kuberay ray-operator/apis/ray/v1/raycluster_types.go",
        ("status.state=ready|suspended",),
    ),
    KindRules(
        "ray.io",
        ("RayJob",),
        "ray-project/kuberay ray-operator/apis/ray/v1/rayjob_types.go",
        ("status.jobDeploymentStatus=Complete|Suspended",),
        ("status.jobDeploymentStatus=Failed|ValidationFailed",),
        ephemeral=True,
    ),
    KindRules(
        "flink.apache.org",
        ("FlinkDeployment", "FlinkSessionJob"),
        "apache/flink-kubernetes-operator ResourceLifecycleState.java",
        ("status.lifecycleState=STABLE|SUSPENDED",),
        ("status.lifecycleState=FAILED",),
    ),
)
