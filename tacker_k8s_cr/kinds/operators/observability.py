"""Operators of metrics, logs, traces and search."""

from __future__ import annotations

from tacker_k8s_cr.kinds.operators.kind_rules import KindRules

_ELASTIC = "elastic/cloud-on-k8s pkg/apis/common/v1/common.go"

ROWS: tuple[KindRules, ...] = (
    KindRules(
        "monitoring.coreos.com",
        (
            "AlertmanagerConfig",
            "PodMonitor",
            "Probe",
            "PrometheusRule",
            "ScrapeConfig",
            "ServiceMonitor",
        ),
        "prometheus-operator pkg/operator/config.go: the feature gate "
        "StatusForConfigurationResources is off",
    ),
    KindRules(
        "elasticsearch.k8s.elastic.co",
        ("Elasticsearch",),
        "elastic/cloud-on-k8s pkg/apis/elasticsearch/v1/"
        "elasticsearch_types.go",
        ("status.phase=Ready", "status.health=green|yellow"),
        ("status.phase=Invalid",),
    ),
    *(
        KindRules(group, (kind,), _ELASTIC, ("status.health=green",))
        for group, kind in (
            ("agent.k8s.elastic.co", "Agent"),
            ("apm.k8s.elastic.co", "ApmServer"),
            ("beat.k8s.elastic.co", "Beat"),
            ("enterprisesearch.k8s.elastic.co", "EnterpriseSearch"),
            ("kibana.k8s.elastic.co", "Kibana"),
            ("logstash.k8s.elastic.co", "Logstash"),
            ("maps.k8s.elastic.co", "ElasticMapsServer"),
        )
    ),
    KindRules(
        "opentelemetry.io",
        ("Instrumentation", "OpenTelemetryCollector"),
        "open-telemetry/opentelemetry-operator apis/v1beta1/"
        "opentelemetrycollector_types.go: it reports a version and counts",
    ),
    KindRules(
        "grafana.integreatly.org",
        ("Grafana",),
        "grafana/grafana-operator api/v1beta1/grafana_types.go",
        ("status.stage=complete", "status.stageStatus=success"),
    ),
    KindRules(
        "operator.victoriametrics.com",
        ("VMAgent", "VMAlert", "VMAlertmanager", "VMCluster", "VMSingle"),
        "VictoriaMetrics/operator api/operator/v1beta1/vmextra_types.go",
        ("status.updateStatus=operational",),
    ),
)
