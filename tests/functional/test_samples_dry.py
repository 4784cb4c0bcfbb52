"""A real server would take every manifest of the samples."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
from typing import Any

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.policy import Policy
from tacker_k8s_cr.policy import Readiness
from tests.functional import users
from tools import csar
from tools.plane import golang
from tools.plane import modules
from tools.plane.binaries import ENVIRON

pytestmark = pytest.mark.plane

CAPO = "sigs.k8s.io/cluster-api-provider-openstack"


def _dry_run(
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


@pytest.fixture(scope="module")
def openstack(kubectl: Any) -> Iterator[None]:
    """The kinds of the OpenStack provider, as its Go module has them."""
    if kubectl.run("get", "crd", CRDS[0]).returncode == 0:
        yield
        return
    folder = _downloaded() / "config" / "crd" / "bases"
    loaded = k8s_cr.load(folder)
    names = _define(kubectl, [_labelled(m) for m in loaded.manifests])
    yield
    kubectl("delete", "--wait=false", *names)


def _labelled(definition: Manifest) -> Manifest:
    """With the contract that the provider's kustomization sets.

    Without it Cluster API does not find the objects that Clusters name.
    """
    metadata = definition["metadata"]
    labels = {**metadata.get("labels", {}), CONTRACT: "v1beta1"}
    return {**definition, "metadata": {**metadata, "labels": labels}}


CONTRACT = "cluster.x-k8s.io/v1beta1"

CRDS = ("openstackclusters.infrastructure.cluster.x-k8s.io",)


def _downloaded() -> pathlib.Path:
    """The folder of the provider's module; Go fetches it once."""
    go = golang.find(modules.go_needed(["capo"]), print)
    for command in (["mod", "download", CAPO], ["list", "-m", "-json", CAPO]):
        done = subprocess.run(
            [str(go), *command],
            cwd=modules.FOLDER / "capo",
            env={**os.environ, **ENVIRON},
            check=True,
            capture_output=True,
            text=True,
        )
    return pathlib.Path(json.loads(done.stdout)["Dir"])


@pytest.mark.capi
def test_workload_cluster(kubectl: Any, namespace: str) -> None:
    """Cluster API's webhooks and schemas pass the in-memory one (TK-20)."""
    loaded = k8s_cr.load(csar.SAMPLES / "capi_workload_cluster")

    _dry_run(kubectl, namespace, loaded.manifests)


@pytest.mark.capi
def test_variant_of_the_workload_cluster(
    kubectl: Any, namespace: str, tmp_path: pathlib.Path
) -> None:
    """So do they with the newer version."""
    sample = csar.SAMPLES / "capi_workload_cluster"
    path = csar.build(sample, tmp_path / "p.zip", variant="v1_36")

    _dry_run(kubectl, namespace, k8s_cr.load(path).manifests)


@pytest.mark.capi
@pytest.mark.usefixtures("openstack")
def test_openstack_cluster(kubectl: Any, namespace: str) -> None:
    """The schemas of the OpenStack provider pass its kinds (TK-9)."""
    loaded = k8s_cr.load(csar.SAMPLES / "capi_openstack_cluster")

    _dry_run(kubectl, namespace, loaded.manifests)


@pytest.mark.capi
@pytest.mark.usefixtures("openstack")
def test_misspelt_field_is_found(kubectl: Any, namespace: str) -> None:
    """The dry run reads every field: one that is unknown does not pass."""
    loaded = k8s_cr.load(csar.SAMPLES / "capi_openstack_cluster")
    (cluster,) = (
        manifest
        for manifest in loaded.manifests
        if manifest["kind"] == "OpenStackCluster"
    )
    wrong = {**cluster, "spec": {**cluster["spec"], "managedSubnet": []}}

    with pytest.raises(Exception, match="managedSubnet"):
        _dry_run(kubectl, namespace, [wrong])


@pytest.fixture
def renamed(tmp_path: pathlib.Path, unique: str) -> pathlib.Path:
    """The sample with a group that nobody else has objects in."""
    folder = tmp_path / "custom_resource"
    shutil.copytree(csar.SAMPLES / "custom_resource", folder)
    for path in folder.rglob("*.yaml"):
        text = path.read_text()
        path.write_text(
            text.replace("telephony.example.org", f"{unique}.example.org")
        )
    return folder


def test_custom_resource(
    kubectl: Any, namespace: str, renamed: pathlib.Path
) -> None:
    """The definition is one, and its own object passes its schema (TK-1)."""
    loaded = k8s_cr.load(renamed)
    definitions = [
        manifest
        for manifest in loaded.manifests
        if manifest["kind"] == "CustomResourceDefinition"
    ]
    names = _define(kubectl, definitions)
    try:
        _dry_run(kubectl, namespace, loaded.manifests)
    finally:
        kubectl("delete", "--wait=false", *names)


@pytest.mark.capi
@pytest.mark.usefixtures("openstack")
def test_openstack_cluster_takes_no_more_than_documented(
    user: Any, namespace: str, unique: str, deadline: Any, traces: Any
) -> None:
    """The roles of the page are enough (K4).

    There is no OpenStack cloud: objects are current when they are stored,
    and the machines of the scale are never ready.
    """
    sample = csar.SAMPLES / "capi_openstack_cluster"
    cluster = user(users.rules(sample.name, "Role"))
    life = {"namespace": namespace, "deadline": deadline}
    kinds = (
        "Cluster",
        "KubeadmControlPlane",
        "MachineDeployment",
        "OpenStackCluster",
    )
    created = Policy(
        readiness=tuple(
            Readiness(resource.group_kind, "created")
            for resource in cluster.resources()
            if resource.kind in kinds and "x-k8s.io" in resource.group
        )
    )

    k8s_cr.instantiate(
        cluster, unique, k8s_cr.load(sample), policy=created, **life
    )
    short = {**life, "deadline": k8s_cr.Deadline.after(3)}
    with contextlib.suppress(errors.NotReady):
        k8s_cr.scale(cluster, unique, aspect="workers", level=1, **short)
    workers = ObjectRef(
        "cluster.x-k8s.io", "MachineDeployment", namespace, "workload-workers"
    )
    assert 2 == (cluster.get(workers) or {})["spec"]["replicas"]
    k8s_cr.change(cluster, unique, k8s_cr.load(sample), **life)
    k8s_cr.heal(cluster, unique, **life)
    k8s_cr.terminate(cluster, unique, **life)

    assert [] == traces(unique, namespace)
