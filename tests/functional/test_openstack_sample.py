"""The sample for OpenStack, on a real server with the provider's kinds."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
from typing import Any

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.kinds.policy import Readiness
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tests.functional import openstack as openstacks
from tests.functional import restricted_users
from tests.functional.test_samples_dry_run import dry_run
from tools import csar

pytestmark = pytest.mark.plane

CLUSTERS = "clusters.cluster.x-k8s.io"


@pytest.fixture(scope="module")
def openstack(kubectl: Any) -> Iterator[None]:
    """The kinds of the OpenStack provider."""
    with openstacks.defined(kubectl):
        yield


@pytest.mark.capi
@pytest.mark.usefixtures("openstack")
@pytest.mark.requirement("TK-20")
def test_openstack_cluster(kubectl: Any, namespace: str) -> None:
    """The schemas of the OpenStack provider pass its kinds."""
    loaded = k8s_cr.load(csar.SAMPLES / "capi_openstack_cluster")

    dry_run(kubectl, namespace, loaded.manifests)


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
        dry_run(kubectl, namespace, [wrong])


@pytest.mark.capi
@pytest.mark.usefixtures("openstack")
def test_openstack_cluster_takes_no_more_than_documented(
    restricted_cluster: Any,
    namespace: str,
    unique_name: str,
    leftover_objects: Any,
    make_request: Callable[..., k8s_cr.Request],
) -> None:
    """The roles of the page are enough.

    There is no OpenStack cloud: objects are current when they are stored,
    and the machines of the scale are never ready.
    """
    sample = csar.SAMPLES / "capi_openstack_cluster"
    cluster = restricted_cluster(restricted_users.rules(sample.name, "Role"))
    kinds = (
        "Cluster",
        "KubeadmControlPlane",
        "MachineDeployment",
        "OpenStackCluster",
    )
    created = Policy(
        readiness=tuple(
            Readiness(resource.group_kind, "exists")
            for resource in cluster.resources()
            if resource.kind in kinds and "x-k8s.io" in resource.group
        )
    )

    k8s_cr.instantiate(
        make_request(cluster), k8s_cr.load(sample), policy=created
    )
    with contextlib.suppress(errors.ReadinessTimeout):
        k8s_cr.scale(
            make_request(cluster, timeout=3), aspect="workers", level=1
        )
    workers = ObjectRef(
        "cluster.x-k8s.io", "MachineDeployment", namespace, "workload-workers"
    )
    assert 2 == (cluster.get(workers) or {})["spec"]["replicas"]
    k8s_cr.change(make_request(cluster), k8s_cr.load(sample))
    k8s_cr.heal(make_request(cluster))
    k8s_cr.terminate(make_request(cluster))

    assert [] == leftover_objects(unique_name, namespace)


@pytest.fixture
def cloud(
    kubectl: Any, cluster: Any, namespace: str, openstack: None
) -> Iterator[None]:
    """A cloud behind the provider, and kwok as its controllers."""
    with openstacks.animated(kubectl), openstacks.Cloud(cluster, namespace):
        yield
        # A failed test may leave it; without its cloud it would stay.
        where = ("--namespace", namespace, "--ignore-not-found")
        kubectl("delete", CLUSTERS, "workload", *where, "--timeout=120s")


def machines(cluster: Any, namespace: str) -> dict[str, str]:
    """The Machines, with the identity of the instance of each."""
    kind = GroupKind("cluster.x-k8s.io", "Machine")
    return {
        machine["metadata"]["name"]: machine["spec"].get("providerID", "")
        for machine in cluster.list_objects(kind, namespace)
    }


@pytest.mark.capi
@pytest.mark.stages
@pytest.mark.usefixtures("cloud")
@pytest.mark.requirement("TK-9", "TK-20", "P16")
def test_the_openstack_sample_makes_a_cluster(
    cluster: Any,
    namespace: str,
    unique_name: str,
    leftover_objects: Any,
    make_request: Callable[..., k8s_cr.Request],
) -> None:
    """Available with its workers; scaled out and in; nothing is left.

    The credential of the cloud and the templates stay as long as the Cluster.
    """
    sample = k8s_cr.load(csar.SAMPLES / "capi_openstack_cluster")
    ref = ObjectRef("cluster.x-k8s.io", "Cluster", namespace, "workload")
    kinds = [
        GroupKind(openstacks.GROUP, kind)
        for kind in ("OpenStackCluster", "OpenStackMachine")
    ]

    report = k8s_cr.instantiate(make_request(), sample)

    said = {row.ref.kind: str(row.verdict) for row in report.objects}
    assert (
        "Available, 1 control plane machine(s), 1 worker(s)" in said["Cluster"]
    )
    found = cluster.get(ref)
    conditions = {
        condition["type"]: condition["status"]
        for condition in found["status"]["conditions"]
    }
    assert "True" == conditions["Available"]
    first = machines(cluster, namespace)
    assert 2 == len(first)
    assert all(first.values())

    k8s_cr.scale(make_request(), aspect="workers", number_of_steps=1)

    second = machines(cluster, namespace)
    assert 3 == len(second)
    assert first.items() < second.items()
    [_, servers] = kinds
    assert second.keys() == {
        obj["metadata"]["name"]
        for obj in cluster.list_objects(servers, namespace)
    }
    k8s_cr.scale(make_request(), aspect="workers", number_of_steps=-1)
    assert 2 == len(machines(cluster, namespace))

    kept = [
        row.ref
        for row in report.objects
        if row.ref.kind == "Secret" or row.ref.kind.endswith("Template")
    ]
    assert {"Secret", "OpenStackMachineTemplate"} <= {r.kind for r in kept}
    meanwhile: list[Any] = []

    def listen(progress: Any) -> None:
        if progress.is_open(ref):
            meanwhile.extend(cluster.get_metadata(one) for one in kept)

    k8s_cr.terminate(make_request(on_progress=listen))

    assert meanwhile
    for obj in meanwhile:
        assert "deletionTimestamp" not in obj["metadata"]
    assert cluster.get(ref) is None
    assert {} == machines(cluster, namespace)
    for kind in kinds:
        assert [] == list(cluster.list_objects(kind, namespace))
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.capi
@pytest.mark.stages
@pytest.mark.usefixtures("cloud")
@pytest.mark.requirement("P11")
def test_a_quota_that_is_used_up_ends_the_operation(
    namespace: str,
    unique_name: str,
    leftover_objects: Any,
    make_request: Callable[..., k8s_cr.Request],
) -> None:
    """As blocked, in the cloud's own words, long before the deadline.

    The Cluster, its control plane and its workers only report that they
    wait; the words are those of the provider's machines below them.
    """
    folder = csar.SAMPLES / "capi_openstack_cluster"
    documents = [
        dataclasses.replace(document, manifest=without_quota(document))
        for document in k8s_cr.load(folder).documents
    ]
    package = dataclasses.replace(
        k8s_cr.load(folder), documents=tuple(documents)
    )
    deadline = k8s_cr.Deadline.after(3600)

    with pytest.raises(errors.ObjectsFailed) as caught:
        k8s_cr.instantiate(
            make_request(
                deadline=deadline, options=k8s_cr.Options(stall_timeout=3)
            ),
            package,
        )

    blocked = [
        item
        for item in caught.value.pending
        if item.verdict.state is State.BLOCKED
    ]
    assert blocked
    assert all("x-k8s.io" in item.ref.group for item in blocked)
    assert openstacks.QUOTA_ERROR in str(caught.value)
    # In its own words, or in those of what it created.
    assert any(
        openstacks.QUOTA_ERROR in text
        for item in blocked
        for text in (item.verdict.reason, *item.notes)
    )
    assert deadline.remaining > 3000
    k8s_cr.terminate(make_request(timeout=600))
    assert [] == leftover_objects(unique_name, namespace)


def without_quota(document: Any) -> Any:
    """The manifest; a machine of it has a flavor that the cloud refuses."""
    manifest = document.manifest
    if manifest["kind"] != "OpenStackMachineTemplate":
        return manifest
    template = manifest["spec"]["template"]
    spec = {**template["spec"], "flavor": openstacks.NO_QUOTA}
    return {**manifest, "spec": {"template": {**template, "spec": spec}}}
