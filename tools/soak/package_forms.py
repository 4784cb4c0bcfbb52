"""The forms of packages, each in the versions ``a`` and ``b``: pure."""

from __future__ import annotations

import base64
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

Obj = dict[str, Any]


def _configuration(name: str, version: str) -> list[Obj]:
    port = {"a": 8080, "b": 9090}[version]
    found = [
        config_map(f"{name}-config", version),
        config_map(f"{name}-routes-{version}", "1"),
        _secret(f"{name}-keys", version),
        service(f"{name}-service", port),
    ]
    extra = [config_map(f"{name}-extra", "1")] if version == "b" else []
    return found + extra


def _deployments(name: str, version: str) -> list[Obj]:
    renamed = {"a": "back", "b": "rear"}[version]
    return [
        config_map(f"{name}-config", version),
        workload("Deployment", f"{name}-front", 2, version),
        workload("Deployment", f"{name}-{renamed}", 1, "1"),
    ]


def _stateful(name: str, version: str) -> list[Obj]:
    return [
        service(f"{name}-store", 5432),
        workload("StatefulSet", f"{name}-store", 2, version),
        _secret(f"{name}-keys-{version}", "1"),
    ]


def _definition(name: str, version: str) -> list[Obj]:
    second = {"a": "two", "b": "three"}[version]
    return [
        _thing(name, "one", {"a": "s", "b": "xl"}[version]),
        _thing(name, second, "m"),
        _crd(name, version),
        config_map(f"{name}-config", version),
    ]


def _job(name: str, version: str) -> list[Obj]:
    container = {"name": "main", "image": "example.org/a:1"}
    pod = {"restartPolicy": "Never", "containers": [container]}
    return [
        config_map(f"{name}-config", version),
        {
            **_head("batch/v1", "Job", f"{name}-load-{version}"),
            "spec": {"backoffLimit": 2, "template": {"spec": pod}},
        },
    ]


def _kinds(name: str, version: str) -> list[Obj]:
    kind = {"a": "Deployment", "b": "StatefulSet"}[version]
    data = {"a": config_map, "b": _secret}[version]
    return [
        config_map(f"{name}-same", "1"),
        workload(kind, f"{name}-web", 1, "1"),
        data(f"{name}-data", "1"),
    ]


def _widget(name: str, version: str) -> list[Obj]:
    size = {"a": "small", "b": "large"}[version]
    return [
        config_map(f"{name}-config", version),
        {
            **_head("demo.example.org/v1", "Widget", f"{name}-widget"),
            "spec": {"size": size, "replicas": 1},
        },
    ]


FORMS: Mapping[str, Callable[[str, str], list[Obj]]] = {
    "configuration": _configuration,
    "deployments": _deployments,
    "stateful": _stateful,
    "definition": _definition,
    "job": _job,
    "kinds": _kinds,
    "widget": _widget,
}
"""By name: the manifests of an instance of this name, in version a or b."""


# -- Objects ------------------------------------------------------------------


def _head(api_version: str, kind: str, name: str) -> Obj:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name},
    }


def config_map(name: str, value: str) -> Obj:
    return {**_head("v1", "ConfigMap", name), "data": {"value": value}}


def _secret(name: str, value: str) -> Obj:
    text = base64.b64encode(f"planted-{value}".encode()).decode()
    return {**_head("v1", "Secret", name), "data": {"value": text}}


def service(name: str, port: int) -> Obj:
    return {
        **_head("v1", "Service", name),
        "spec": {
            "clusterIP": "None",
            "selector": {"app": name},
            "ports": [{"port": port}],
        },
    }


def workload(
    kind: str, name: str, replicas: int, image: str, pod: Obj | None = None
) -> Obj:
    container = {"name": "main", "image": f"example.org/a:{image}"}
    found: Obj = {
        **_head("apps/v1", kind, name),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container], **(pod or {})},
            },
        },
    }
    if kind == "StatefulSet":
        found["spec"]["serviceName"] = name
    return found


def _thing(name: str, suffix: str, size: str) -> Obj:
    return {
        **_head(f"{name}.example.org/v1", "Thing", f"{name}-{suffix}"),
        "spec": {"size": size},
    }


def _crd(name: str, version: str) -> Obj:
    properties: Obj = {"size": {"type": "string"}}
    if version == "b":
        properties["weight"] = {"type": "integer"}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }
    group = f"{name}.example.org"
    return {
        **_head(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            f"things.{group}",
        ),
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
