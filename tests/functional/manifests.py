"""Manifests that the tests apply. Each makes one object, and nothing more."""

from __future__ import annotations

import copy
from typing import Any

Obj = dict[str, Any]


def config_map(name: str, namespace: str = "", **data: str) -> Obj:
    metadata = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": data or {"key": "value"},
    }


def namespace(name: str) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name},
    }


def deployment(name: str, replicas: int | None = 1, **pod: Any) -> Obj:
    labels = {"app": name}
    spec: Obj = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "containers": [{"name": "main", "image": "example.org/a:1"}],
                **pod,
            },
        },
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": spec,
    }


ANYTHING: Obj = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
}
"""The schema of a part that may hold whatever it likes."""

SIZED: Obj = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "size": {"type": "string", "maxLength": 3},
    },
}
"""Of one with a size of at most 3 letters, and replicas."""


def definition(
    group: str,
    kind: str,
    *,
    status: bool = True,
    scale: bool = True,
    spec: Obj = SIZED,
) -> Obj:
    """A definition; the schema is that of its objects' spec."""
    plural = f"{kind.lower()}s"
    subresources: Obj = {"status": {}} if status else {}
    if scale:
        subresources["scale"] = {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
        }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": subresources,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": copy.deepcopy(spec),
                                "status": dict(ANYTHING),
                            },
                        }
                    },
                }
            ],
        },
    }


def custom(
    group: str,
    kind: str,
    name: str,
    annotations: Obj | None = None,
    **spec: Any,
) -> Obj:
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": spec,
    }
