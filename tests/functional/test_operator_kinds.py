"""Kinds of operators in wide use, with their published definitions."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tests.functional import go_modules
from tests.functional import manifests
from tools.plane import stages

pytestmark = [pytest.mark.plane, pytest.mark.stages]

PUBLISHED = {
    "istio.io/api": "kubernetes/customresourcedefinitions.gen.yaml",
    "github.com/prometheus-operator/prometheus-operator": (
        "example/prometheus-operator-crd/*.yaml"
    ),
    "github.com/elastic/cloud-on-k8s/v3": (
        "config/crds/v1/resources/*.k8s.elastic.co_*.yaml"
    ),
}
"""By Go module, where its definitions are."""

SILENT = {
    "DestinationRule.networking.istio.io",
    "Gateway.networking.istio.io",
    "VirtualService.networking.istio.io",
    "ServiceMonitor.monitoring.coreos.com",
}
"""No controller reports on them, so they are current once they are stored."""

REPORTED = {
    "Elasticsearch.elasticsearch.k8s.elastic.co",
    "Kibana.kibana.k8s.elastic.co",
    "Alertmanager.monitoring.coreos.com",
    "Prometheus.monitoring.coreos.com",
}

PACKAGE = """
apiVersion: networking.istio.io/v1
kind: Gateway
metadata:
  name: front
spec:
  selector: {istio: ingressgateway}
  servers:
  - port: {number: 80, name: http, protocol: HTTP}
    hosts: [www.example.org]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: front
spec:
  hosts: [www.example.org]
  gateways: [front]
  http:
  - route:
    - destination: {host: front}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata:
  name: front
spec:
  host: front
  trafficPolicy:
    loadBalancer: {simple: LEAST_REQUEST}
---
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata:
  name: metrics
spec:
  replicas: 2
  serviceMonitorSelector: {}
---
apiVersion: monitoring.coreos.com/v1
kind: Alertmanager
metadata:
  name: alerts
spec:
  replicas: 1
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: front
spec:
  selector:
    matchLabels: {app: front}
  endpoints:
  - port: http
---
apiVersion: elasticsearch.k8s.elastic.co/v1
kind: Elasticsearch
metadata:
  name: logs
spec:
  version: 9.2.0
  nodeSets:
  - name: default
    count: 3
---
apiVersion: kibana.k8s.elastic.co/v1
kind: Kibana
metadata:
  name: logs
spec:
  version: 9.2.0
  count: 1
  elasticsearchRef: {name: logs}
"""

CONDITIONS = """
paused: false
replicas: {{ .spec.replicas }}
updatedReplicas: {{ .spec.replicas }}
availableReplicas: {{ .spec.replicas }}
unavailableReplicas: 0
conditions:
- type: Available
  status: "True"
  observedGeneration: {{ .metadata.generation }}
  lastTransitionTime: {{ Now | Quote }}
- type: Reconciled
  status: "True"
  observedGeneration: {{ .metadata.generation }}
  lastTransitionTime: {{ Now | Quote }}
"""

REPORTS = {
    ("monitoring.coreos.com/v1", "Prometheus"): CONDITIONS,
    ("monitoring.coreos.com/v1", "Alertmanager"): CONDITIONS,
    ("elasticsearch.k8s.elastic.co/v1", "Elasticsearch"): (
        "phase: Ready\n"
        "health: green\n"
        "availableNodes: 3\n"
        "version: {{ .spec.version | Quote }}\n"
        "observedGeneration: {{ .metadata.generation }}\n"
    ),
    ("kibana.k8s.elastic.co/v1", "Kibana"): (
        "health: green\n"
        "availableNodes: 1\n"
        "count: 1\n"
        "version: {{ .spec.version | Quote }}\n"
        "observedGeneration: {{ .metadata.generation }}\n"
    ),
}
"""By kind, the status that its operator writes."""


def stage(api_version: str, kind: str, status: str) -> manifests.Obj:
    """What writes this status once for each generation."""
    reported = "has(self.status) && has(self.status.observedGeneration)"
    seen = "self.status.observedGeneration == self.metadata.generation"
    if "conditions:" in status:
        reported = "has(self.status) && has(self.status.conditions)"
        seen = (
            "self.status.conditions.all(c, "
            "c.observedGeneration == self.metadata.generation)"
        )
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": f"operators-{kind.lower()}"},
        "spec": {
            "resourceRef": {"apiGroup": api_version, "kind": kind},
            "selector": {
                "matchExpressions": [
                    {"cel": {"expression": f"!({reported} && {seen})"}}
                ]
            },
            "delay": {"durationMilliseconds": 500},
            "steps": [
                {
                    "patch": {
                        "subresource": "status",
                        "root": "status",
                        "type": "merge",
                        "template": status,
                    }
                }
            ],
        },
    }


def defined_kind(definition: manifests.Obj) -> str:
    spec = definition["spec"]
    return f"{spec['names']['kind']}.{spec['group']}"


@pytest.fixture(scope="module")
def definitions(kubectl: Any) -> Iterator[None]:
    """The kinds of the package, as their projects publish them."""
    served = {*SILENT, *REPORTED}
    found = [
        manifest
        for module, pattern in PUBLISHED.items()
        for path in go_modules.folder("operators", module).glob(pattern)
        for manifest in k8s_cr.load(path).manifests
        if defined_kind(manifest) in served
    ]
    assert len(served) == len(found)
    there = kubectl("get", "crds", "-o=name").split()
    absent = [
        one
        for one in found
        if f"customresourcedefinition.apiextensions.k8s.io/"
        f"{one['metadata']['name']}" not in there
    ]
    kubectl.apply(absent)
    kubectl.wait_established(found)
    yield
    if absent:
        kubectl(
            "delete",
            "--wait=false",
            *(f"crd/{one['metadata']['name']}" for one in absent),
        )


@pytest.fixture
def operators(kubectl: Any) -> Iterator[Any]:
    """Add what plays the operators; it is removed at the end."""
    made = [stage(*kind, status) for kind, status in REPORTS.items()]
    yield lambda: stages.add(kubectl, made)
    for one in made:
        kubectl(
            "delete", "stage", one["metadata"]["name"], "--ignore-not-found"
        )


@pytest.mark.usefixtures("definitions")
@pytest.mark.requirement("TK-23")
def test_operators_of_other_projects_need_no_code(
    make_request: Callable[..., k8s_cr.Request],
    namespace: str,
    unique_name: str,
    operators: Any,
    leftover_objects: Any,
    tmp_path: Any,
) -> None:
    """Istio, Prometheus and Elasticsearch: an operation waits for those.

    That is, for the kinds on which an operator reports; the others are
    current once stored. Every handler is generic or a row of rules.
    """
    path = tmp_path / "package.yaml"
    path.write_text(PACKAGE)
    package = k8s_cr.load(path)
    every = {str(GroupKind.of(manifest)) for manifest in package.manifests}
    assert every == {*SILENT, *REPORTED}
    for manifest in package.manifests:
        handler = kinds.BUILT_IN[GroupKind.of(manifest)]
        assert type(handler) is type(generic.ANY)

    with pytest.raises(errors.ReadinessTimeout) as caught:
        k8s_cr.instantiate(make_request(timeout=5), package)

    waiting = {str(item.ref.group_kind) for item in caught.value.pending}
    assert waiting == REPORTED
    k8s_cr.terminate(make_request())

    operators()
    report = k8s_cr.instantiate(make_request(), package)

    assert every == {str(row.ref.group_kind) for row in report.objects}
    assert {"current"} == {row.verdict.state.value for row in report.objects}
    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)
