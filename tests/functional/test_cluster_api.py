"""The life cycle of a Cluster API cluster, with its real controllers."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document

pytestmark = [pytest.mark.plane, pytest.mark.capi]

SAMPLE = (
    pathlib.Path(__file__).parents[2]
    / "samples/vnf_packages/capi_workload_cluster"
)
CAPI = "cluster.x-k8s.io"
MACHINE = GroupKind(CAPI, "Machine")


def with_text(package, old, new):
    """The package with one text replaced in all manifests."""

    def changed(value):
        if isinstance(value, dict):
            return {key: changed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [changed(item) for item in value]
        return new if value == old else value

    documents = tuple(
        Document(changed(document.manifest), document.where)
        for document in package.documents
    )
    return dataclasses.replace(package, documents=documents)


@pytest.fixture
def machines(cluster, namespace):
    """Names of the machines by their Kubernetes version."""

    def found():
        by_version: dict[str, set[str]] = {}
        for machine in cluster.list_objects(MACHINE, namespace):
            names = by_version.setdefault(machine["spec"]["version"], set())
            names.add(machine["metadata"]["name"])
        return by_version

    return found


@pytest.fixture
def control_plane(cluster, namespace):
    """UIDs of the machines of the control plane."""

    def found():
        return {
            machine["metadata"]["uid"]
            for machine in cluster.list_objects(
                MACHINE, namespace, "cluster.x-k8s.io/control-plane"
            )
        }

    return found


@pytest.mark.requirement(
    "TK-9", "TK-10", "TK-16", "P16", "D1", "F2", "I1", "I2"
)
def test_a_cluster_through_its_life(
    cluster,
    namespace,
    unique_name,
    machines,
    control_plane,
    leftover_objects,
    make_request,
):
    """Current is usable, scaled is running, deleted is deleted.

    The package holds the Cluster beside its infrastructure and templates;
    deleting them together dead-locks for ever. Scaling workers leaves the
    control plane. What Cluster API creates for it is not foreign, and is
    deleted too.
    """
    package = k8s_cr.load(SAMPLE)
    ref = ObjectRef(CAPI, "Cluster", namespace, "workload")

    k8s_cr.instantiate(make_request(), package)

    available = [
        condition["status"]
        for condition in cluster.get(ref)["status"]["conditions"]
        if condition["type"] == "Available"
    ]
    assert ["True"] == available
    assert {"v1.35.0": 2} == {v: len(n) for v, n in machines().items()}

    first = control_plane()
    k8s_cr.scale(make_request(), aspect="workers", number_of_steps=2)
    assert 4 == len(machines()["v1.35.0"])
    k8s_cr.scale(make_request(), aspect="workers", level=1)
    before = machines()["v1.35.0"]
    assert 3 == len(before)
    assert first
    assert first == control_plane()

    k8s_cr.change(make_request(), with_text(package, "v1.35.0", "v1.36.0"))

    after = machines()
    assert {"v1.36.0": 3} == {v: len(n) for v, n in after.items()}
    assert not before & after["v1.36.0"]

    needed = [
        row.ref
        for row in k8s_cr.status(make_request()).objects
        if row.ref.kind.endswith("Template")
    ]
    meanwhile = []

    def listen(progress):
        if progress.is_open(ref):
            meanwhile.extend(cluster.get_metadata(one) for one in needed)

    k8s_cr.terminate(make_request(on_progress=listen))

    # Templates go last, when the Cluster no longer exists.
    assert meanwhile
    for obj in meanwhile:
        assert "deletionTimestamp" not in obj["metadata"]
    assert cluster.get(ref) is None
    assert {} == machines()
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.requirement("C7")
def test_a_cluster_that_never_starts_is_explained(
    make_request, namespace, unique_name, leftover_objects
):
    """The error contains the message of the machines' infrastructure.

    There is no progress for far longer than an error may persist, and yet it
    is not blocked: no controller reports an error.
    """
    package = with_text(k8s_cr.load(SAMPLE), "2s", "24h")

    with pytest.raises(errors.ReadinessTimeout) as caught:
        k8s_cr.instantiate(
            make_request(timeout=25, options=k8s_cr.Options(stall_timeout=5)),
            package,
        )

    stuck = {item.ref.kind: item for item in caught.value.pending}
    assert {"Cluster", "KubeadmControlPlane", "MachineDeployment"} == set(
        stuck
    )
    words = "\n".join(stuck["Cluster"].notes)
    assert "WaitingForStartupTimeout" in words
    k8s_cr.terminate(make_request(timeout=600))
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.requirement("D5")
def test_an_even_number_of_control_plane_machines_is_refused(make_request):
    """By us beforehand, in the package by the webhook's own words."""
    documents = []
    for document in k8s_cr.load(SAMPLE).documents:
        manifest = document.manifest
        if manifest["kind"] == "KubeadmControlPlane":
            manifest = {
                **manifest,
                "spec": {**manifest["spec"], "replicas": 2},
            }
        documents.append(Document(manifest, document.where))
    package = dataclasses.replace(
        k8s_cr.load(SAMPLE), documents=tuple(documents), vnfd=None
    )

    with pytest.raises(errors.Rejected, match="replicas") as caught:
        k8s_cr.instantiate(make_request(timeout=600), package)

    assert "KubeadmControlPlane" in str(caught.value)
    assert () == caught.value.written
