"""A real server would take every manifest of the samples."""

from __future__ import annotations

from collections.abc import Sequence
import json
import pathlib
import shutil
from typing import Any

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model.objects import Manifest
from tools import csar

pytestmark = pytest.mark.plane


def dry_run(
    kubectl: Any, namespace: str, manifests: Sequence[Manifest]
) -> None:
    """Apply, without storing anything; unknown fields are refused."""
    listed = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
    kubectl(
        "apply",
        "--server-side",
        "--dry-run=server",
        "--validate=strict",
        f"--namespace={namespace}",
        "--filename=-",
        stdin=json.dumps(listed),
    )


def _define(kubectl: Any, definitions: Sequence[Manifest]) -> list[str]:
    """Add kinds to the server, and wait until it serves them."""
    listed = {"apiVersion": "v1", "kind": "List", "items": list(definitions)}
    text = json.dumps(listed)
    kubectl("apply", "--server-side", "--filename=-", stdin=text)
    names = [f"crd/{item['metadata']['name']}" for item in definitions]
    kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)
    return names


@pytest.mark.capi
@pytest.mark.requirement("TK-20")
def test_workload_cluster(kubectl: Any, namespace: str) -> None:
    """Cluster API's webhooks and schemas pass the in-memory one."""
    loaded = k8s_cr.load(csar.SAMPLES / "capi_workload_cluster")

    dry_run(kubectl, namespace, loaded.manifests)


@pytest.mark.capi
@pytest.mark.requirement("TK-20")
def test_variant_of_the_workload_cluster(
    kubectl: Any, namespace: str, tmp_path: pathlib.Path
) -> None:
    """So do they with the newer version."""
    sample = csar.SAMPLES / "capi_workload_cluster"
    path = csar.build(sample, tmp_path / "p.zip", variant="v1_36")

    dry_run(kubectl, namespace, k8s_cr.load(path).manifests)


@pytest.fixture
def renamed(tmp_path: pathlib.Path, unique_name: str) -> pathlib.Path:
    """The sample with an API group in which no other test has objects."""
    folder = tmp_path / "custom_resource"
    shutil.copytree(csar.SAMPLES / "custom_resource", folder)
    for path in folder.rglob("*.yaml"):
        text = path.read_text()
        path.write_text(
            text.replace("telephony.example.org", f"{unique_name}.example.org")
        )
    return folder


def test_custom_resource(
    kubectl: Any, namespace: str, renamed: pathlib.Path
) -> None:
    """The definition is one, and its own object passes its schema."""
    loaded = k8s_cr.load(renamed)
    definitions = [
        manifest
        for manifest in loaded.manifests
        if manifest["kind"] == "CustomResourceDefinition"
    ]
    names = _define(kubectl, definitions)
    try:
        dry_run(kubectl, namespace, loaded.manifests)
    finally:
        kubectl("delete", "--wait=false", *names)
