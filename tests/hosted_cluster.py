"""A cluster of Cluster API whose API server is a second control plane.

Cluster API's own manager brings its Cluster object to Available, by way of an
infrastructure and a control plane that are Stages. What the provider of the
control plane would do is done here: it writes the administrator's kubeconfig.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
import contextlib
import os
import pathlib
from typing import Any

from tools.plane import stages
from tools.plane.binaries import Store
from tools.plane.folders import Folders
from tools.plane.kubectl import Kubectl
from tools.plane.lifecycle import Plane

PORT = 16443
"""Of a control plane whose ports are not shifted."""


@contextlib.contextmanager
def start_plane(folder: pathlib.Path, shift: int) -> Iterator[Plane]:
    """A second control plane with nodes, independent of the first."""
    found = Plane(
        Folders(folder / "run", shift), Store.from_environ(os.environ)
    )
    found.up(("control plane", "kwok"))
    try:
        yield found
    finally:
        found.down()


def definitions(kubectl: Kubectl) -> None:
    """Add the kinds and their Stages; the local plane has them already."""
    found = kubectl.run("get", "crd", "hostedclusters.demo.example.org")
    if found.returncode:
        wanted = [
            stages.HERE / f"{p}/hosted.yaml" for p in ("kinds", "stages")
        ]
        stages.add(kubectl, stages.documents(wanted))


def kubeconfig_secret(
    name: str, namespace: str, workload: Plane
) -> dict[str, Any]:
    """The kubeconfig: by contract named after the Cluster, and labelled."""
    admin = workload.folders.kubeconfig.read_bytes()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"{name}-kubeconfig",
            "namespace": namespace,
            "labels": {"cluster.x-k8s.io/cluster-name": name},
        },
        "type": "cluster.x-k8s.io/secret",
        "data": {"value": base64.b64encode(admin).decode()},
    }


def manifests(name: str, shift: int) -> list[dict[str, Any]]:
    """The Cluster, and what it refers to."""

    def reference(kind: str) -> dict[str, str]:
        return {"apiGroup": "demo.example.org", "kind": kind, "name": name}

    def manifest(api: str, kind: str, **spec: Any) -> dict[str, Any]:
        metadata = {"name": name}
        return {
            "apiVersion": api,
            "kind": kind,
            "metadata": metadata,
            "spec": spec,
        }

    ours = "demo.example.org/v1"
    return [
        manifest(
            ours,
            "HostedCluster",
            controlPlaneEndpoint={"host": "127.0.0.1", "port": PORT + shift},
        ),
        manifest(ours, "HostedControlPlane", version="v1.36.3"),
        manifest(
            "cluster.x-k8s.io/v1beta2",
            "Cluster",
            infrastructureRef=reference("HostedCluster"),
            controlPlaneRef=reference("HostedControlPlane"),
        ),
    ]
