"""Operators of message brokers."""

from __future__ import annotations

from tacker_k8s_cr.kinds.operators.kind_rules import KindRules

ROWS: tuple[KindRules, ...] = (
    KindRules(
        "rabbitmq.com",
        ("RabbitmqCluster",),
        "rabbitmq/cluster-operator api/v1beta1/rabbitmqcluster_status.go",
        (
            "condition=AllReplicasReady",
            "condition=ClusterAvailable",
            "condition=ReconcileSuccess",
        ),
    ),
)
