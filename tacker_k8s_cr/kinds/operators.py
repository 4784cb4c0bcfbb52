"""Kinds of operators in wide use that report in a way of their own.

Only kinds that the order of belief for unknown kinds gets wrong are here:
they report a phase only, or nothing at all. Each row names its source.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import custom
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.objects import GroupKind


def _silent(group: str, *names: str) -> dict[GroupKind, Handler]:
    """Rows for kinds on which nobody reports, though they have a status."""
    return {GroupKind(group, name): custom.STORED for name in names}


HANDLERS: Mapping[GroupKind, Handler] = {
    # istio.io, Configuration Status Field: "Status is disabled by default".
    **_silent(
        "networking.istio.io",
        "DestinationRule",
        "EnvoyFilter",
        "Gateway",
        "ProxyConfig",
        "ServiceEntry",
        "Sidecar",
        "VirtualService",
        "WorkloadEntry",
        "WorkloadGroup",
    ),
    **_silent(
        "security.istio.io",
        "AuthorizationPolicy",
        "PeerAuthentication",
        "RequestAuthentication",
    ),
    **_silent("telemetry.istio.io", "Telemetry"),
    # prometheus-operator pkg/operator/config.go: the feature gate
    # StatusForConfigurationResources is off.
    **_silent(
        "monitoring.coreos.com",
        "AlertmanagerConfig",
        "PodMonitor",
        "Probe",
        "PrometheusRule",
        "ScrapeConfig",
        "ServiceMonitor",
    ),
    # elastic/cloud-on-k8s pkg/apis/elasticsearch/v1/elasticsearch_types.go.
    GroupKind("elasticsearch.k8s.elastic.co", "Elasticsearch"): (
        custom.by_rules(
            ["status.phase=Ready", "status.health=green|yellow"],
            ["status.phase=Invalid"],
        )
    ),
    # NVIDIA/gpu-operator api/nvidia/v1/clusterpolicy_types.go.
    GroupKind("nvidia.com", "ClusterPolicy"): custom.by_rules(
        ["status.state=ready"]
    ),
    # zalando/postgres-operator pkg/apis/acid.zalan.do/v1/const.go; what
    # failed to be created or updated is tried again.
    GroupKind("acid.zalan.do", "postgresql"): custom.by_rules(
        ["status.PostgresClusterStatus=Running"],
        ["status.PostgresClusterStatus=Invalid"],
    ),
    # mongodb/mongodb-kubernetes-operator api/v1/mongodbcommunity_types.go;
    # the phase Failed is left when the next try succeeds.
    GroupKind("mongodbcommunity.mongodb.com", "MongoDBCommunity"): (
        custom.by_rules(["status.phase=Running"])
    ),
}
