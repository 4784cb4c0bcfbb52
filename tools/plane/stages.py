"""kwok's Stages: what nodes, pods and the test kinds go through.

They are objects of the cluster and may be added while kwok runs. A Stage
reaches an object when that object next changes, not before.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import json
import pathlib
import time
from typing import Any

import yaml

from tools.plane.errors import PlaneError
from tools.plane.kubectl import Kubectl
from tools.plane.kubectl import Object

HERE = pathlib.Path(__file__).resolve().parent
NODES = ("node-0", "node-1", "node-2")


def documents(paths: Iterable[pathlib.Path]) -> list[dict[str, Any]]:
    """All objects in these files."""
    return [
        document
        for path in paths
        for document in yaml.safe_load_all(path.read_text())
        if document
    ]


def shipped(manifests: pathlib.Path) -> list[dict[str, Any]]:
    """kwok's own for nodes and pods, and those of the test kinds."""
    kwok = manifests / "kwok"
    return documents(
        [
            *sorted(kwok.glob("crd/bases/*.yaml")),
            *sorted(kwok.glob("stage/**/*.yaml")),
            *sorted((HERE / "kinds").glob("*.yaml")),
            *sorted((HERE / "stages").glob("*.yaml")),
        ]
    )


def add(kubectl: Kubectl, objects: Sequence[Object]) -> None:
    """Apply Stages, and the definitions of the kinds that they are for."""
    definitions = [
        one for one in objects if one["kind"] == "CustomResourceDefinition"
    ]
    kubectl.apply(definitions)
    kubectl.wait_established(definitions)
    kubectl.apply(one for one in objects if one not in definitions)
    wait_published(kubectl, groups(objects))
    # kwok tries a kind once, and a kind that is served but not yet in the
    # OpenAPI document fails; any change of a Stage makes it try again.
    kubectl(
        "annotate",
        "stages.kwok.x-k8s.io",
        "--all",
        "--overwrite",
        f"plane.tacker-k8s-cr/applied={time.time():.3f}",
    )


def groups(objects: Iterable[Object]) -> frozenset[str]:
    """Where the OpenAPI documents of the Stages' kinds lie."""
    named = {
        one["spec"]["resourceRef"].get("apiGroup", "v1")
        for one in objects
        if one["kind"] == "Stage"
    }
    return frozenset(
        f"apis/{group}" if "/" in group else f"api/{group}" for group in named
    )


def wait_published(
    kubectl: Kubectl, wanted: frozenset[str], seconds: float = 30
) -> None:
    """Until the server's OpenAPI document has these; kwok asks it once."""
    end = time.monotonic() + seconds
    while True:
        paths = json.loads(kubectl("get", "--raw", "/openapi/v3"))["paths"]
        absent = wanted - set(paths)
        if not absent:
            return
        if time.monotonic() > end:
            raise PlaneError(
                "Stages for kinds that the server does not serve: "
                + ", ".join(sorted(absent))
            )
        time.sleep(0.2)


def nodes() -> list[Object]:
    """Nodes that kwok keeps Ready, with room for any pod."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                },
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            "spec": {"providerID": f"kwok://{name}"},
        }
        for name in NODES
    ]
