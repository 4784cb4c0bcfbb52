"""Manifests of a StatefulSet with volume claims, and of volumes."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]


def stateful_set(
    name: str,
    storage_class: str,
    *,
    replicas: int = 1,
    when_deleted: str = "",
    template: str = "data",
    image: str = "example.org/a:1",
) -> Obj:
    """A StatefulSet with a claim per Pod for a volume of this class."""
    labels = {"app": name}
    mount = {"name": template, "mountPath": "/data"}
    container = {"name": "main", "image": image, "volumeMounts": [mount]}
    spec: Obj = {
        "replicas": replicas,
        "serviceName": name,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [container]},
        },
        "volumeClaimTemplates": [
            {
                "metadata": {"name": template},
                "spec": claim_template(storage_class),
            }
        ],
    }
    if when_deleted:
        policy = {"whenDeleted": when_deleted}
        spec["persistentVolumeClaimRetentionPolicy"] = policy
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": spec,
    }


def claim_template(storage_class: str) -> Obj:
    """The spec of a claim."""
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Mi"}},
    }


def claim(
    name: str, storage_class: str, namespace: str = "", **labels: str
) -> Obj:
    """A claim that no StatefulSet created."""
    metadata: Obj = {"name": name, "labels": labels}
    if namespace:
        metadata["namespace"] = namespace
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": claim_template(storage_class),
    }


def volume(name: str, storage_class: str) -> Obj:
    """A volume that only a claim of this class binds."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Mi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": storage_class,
            "hostPath": {"path": f"/tmp/{name}"},
        },
    }
