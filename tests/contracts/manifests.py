"""Manifests that the contracts are tried on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MANAGER = "tacker-k8s-cr:contract"


def namespaced(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name},
    }


def config_map(
    namespace: str, name: str = "one", **data: str
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


def labelled(manifest: Mapping[str, Any], **labels: str) -> dict[str, Any]:
    metadata = {**manifest["metadata"], "labels": labels}
    return {**manifest, "metadata": metadata}


def deployment(namespace: str, replicas: int) -> dict[str, Any]:
    """One whose pods no node takes, so that nothing but its number moves."""
    container = {"name": "web", "image": "registry.example.org/web:1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [container],
                    "nodeSelector": {"example.org/none": "such"},
                },
            },
        },
    }


def definition(group: str) -> dict[str, Any]:
    """Of the kind Sprocket, with a scale sub-resource."""
    number = {"type": "integer"}
    status = {"type": "object", "properties": {"replicas": number}}
    spec = {"type": "object", "properties": {"replicas": number}}
    schema = {
        "type": "object",
        "properties": {"spec": spec, "status": status},
    }
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"sprockets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "kind": "Sprocket",
                "listKind": "SprocketList",
                "plural": "sprockets",
                "singular": "sprocket",
            },
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}, "scale": scale},
                }
            ],
        },
    }
