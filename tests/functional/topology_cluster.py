"""A Cluster made from a class, in the memory of the provider."""

from __future__ import annotations

from typing import Any

from tests.functional.manifests import Obj

CAPI = "cluster.x-k8s.io/v1beta2"
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io/v1beta2"
CONTROL_PLANE = "controlplane.cluster.x-k8s.io/v1beta2"
BOOTSTRAP = "bootstrap.cluster.x-k8s.io/v1beta2"

_SOON = {"provisioning": {"startupDuration": "1s"}}
_NODE = {"nodeRegistration": {"criSocket": "unix:///run/containerd.sock"}}


def cluster_of_class(api_version: str, kind: str) -> Obj:
    reference = {"apiVersion": api_version, "kind": kind, "name": "mem"}
    return {"templateRef": reference}


def template(api_version: str, kind: str, spec: Any) -> Obj:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "mem"},
        "spec": {"template": {"spec": spec}},
    }


def cluster_class() -> list[Obj]:
    """A class with one sort of workers, and its templates."""
    machine = cluster_of_class(INFRASTRUCTURE, "DevMachineTemplate")
    worker = {
        "class": "small",
        "bootstrap": cluster_of_class(BOOTSTRAP, "KubeadmConfigTemplate"),
        "infrastructure": machine,
    }
    backend = {
        "inMemory": dict.fromkeys(("vm", "node", "etcd", "apiServer"), _SOON)
    }
    return [
        template(
            INFRASTRUCTURE, "DevClusterTemplate", {"backend": {"inMemory": {}}}
        ),
        template(INFRASTRUCTURE, "DevMachineTemplate", {"backend": backend}),
        template(
            CONTROL_PLANE,
            "KubeadmControlPlaneTemplate",
            {
                "kubeadmConfigSpec": {
                    "initConfiguration": _NODE,
                    "joinConfiguration": _NODE,
                }
            },
        ),
        template(
            BOOTSTRAP, "KubeadmConfigTemplate", {"joinConfiguration": _NODE}
        ),
        {
            "apiVersion": CAPI,
            "kind": "ClusterClass",
            "metadata": {"name": "mem"},
            "spec": {
                "infrastructure": cluster_of_class(
                    INFRASTRUCTURE, "DevClusterTemplate"
                ),
                "controlPlane": {
                    **cluster_of_class(
                        CONTROL_PLANE, "KubeadmControlPlaneTemplate"
                    ),
                    "machineInfrastructure": machine,
                },
                "workers": {"machineDeployments": [worker]},
            },
        },
    ]


def cluster(name: str, control_plane: int = 1, **workers: Any) -> Obj:
    """A Cluster; of each group of workers its number, or all of its entry."""
    entries = [
        {
            "class": "small",
            "name": group.replace("_", "-"),
            **(said if isinstance(said, dict) else {"replicas": said}),
        }
        for group, said in workers.items()
    ]
    return {
        "apiVersion": CAPI,
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {
            "clusterNetwork": {
                "pods": {"cidrBlocks": ["10.244.0.0/16"]},
                "services": {"cidrBlocks": ["10.96.0.0/16"]},
            },
            "topology": {
                "classRef": {"name": "mem"},
                "version": "v1.35.0",
                "controlPlane": {"replicas": control_plane},
                "workers": {"machineDeployments": entries},
            },
        },
    }
