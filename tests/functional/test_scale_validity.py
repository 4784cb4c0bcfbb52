"""What a scale checks itself before it sends anything."""

from __future__ import annotations

import dataclasses

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tests.calls import call
from tests.functional import manifests
from tools import csar

pytestmark = pytest.mark.plane

CONTROL_PLANE = "controlplane.cluster.x-k8s.io"


class Counted:
    """A cluster that counts the requests that would change something."""

    WRITES = ("apply", "create", "delete", "patch", "update", "scale")

    def __init__(self, cluster, sent=None):
        self._cluster = cluster
        self.sent = [] if sent is None else sent

    def __getattr__(self, name):
        found = getattr(self._cluster, name)
        if name not in self.WRITES:
            return found

        def write(*args, **named):
            self.sent.append((name, args))
            return found(*args, **named)

        return write

    def with_deadline(self, deadline):
        return Counted(self._cluster.with_deadline(deadline), self.sent)

    def about(self, *refs):
        """The writes of these objects, dry runs among them."""
        return [
            (name, arg)
            for name, args in self.sent
            for arg in args
            if arg in refs
            or (
                (isinstance(arg, dict) and "kind" in arg)
                and ObjectRef.of(arg) in refs
            )
        ]


@pytest.fixture
def refused(cluster, unique_name, namespace, deadline):
    """Ask for a scale that is refused; return the error.

    The object has the resourceVersion that it had, and no request was sent
    that writes it, not even as a dry run.
    """

    def ask(error, ref, number, **how):
        before = cluster.get(ref)["metadata"]["resourceVersion"]
        counted = Counted(cluster)
        wanted = {ref: number} if number is not None else None
        with pytest.raises(error) as caught:
            call(
                k8s_cr.scale,
                counted,
                unique_name,
                wanted,
                namespace=namespace,
                deadline=deadline,
                **how,
            )
        assert not counted.about(ref)
        assert before == cluster.get(ref)["metadata"]["resourceVersion"]
        assert not caught.value.has_written
        return str(caught.value)

    return ask


@pytest.mark.capi
@pytest.mark.requirement("D5")
def test_an_even_number_of_control_plane_machines_is_our_own_refusal(
    make_request, namespace, refused
):
    """No request is left to Cluster API's webhook, which would refuse it."""
    sample = k8s_cr.load(csar.SAMPLES / "capi_workload_cluster")
    strange = {objects.PREFIX + "readiness": "exists"}
    documents = []
    for document in sample.documents:
        manifest = document.manifest
        if manifest["kind"] == "KubeadmControlPlane":
            metadata = {**manifest["metadata"], "annotations": strange}
            manifest = {**manifest, "metadata": metadata}
            documents.append(Document(manifest, document.where))
        if manifest["kind"] == "DevMachineTemplate":
            documents.append(document)
    package = dataclasses.replace(
        sample, documents=tuple(documents), vnfd=None
    )
    ref = ObjectRef(
        CONTROL_PLANE,
        "KubeadmControlPlane",
        namespace,
        "workload-control-plane",
    )
    k8s_cr.instantiate(make_request(), package)

    assert "must be odd" in refused(errors.NotScalable, ref, 2)
    assert refused(errors.NotScalable, ref, 0)
    assert refused(errors.Error, ref, -1)

    k8s_cr.terminate(make_request())


@pytest.mark.requirement("D5")
def test_a_scale_level_that_the_vnfd_does_not_have_is_refused(
    make_request, namespace, refused, tmp_path
):
    """With the levels that it has; so is an aspect that it does not have."""
    sample = k8s_cr.load(csar.SAMPLES / "custom_resource")
    documents = tuple(
        document
        for document in sample.documents
        if document.manifest["kind"] in ("Deployment", "ServiceAccount")
    )
    package = dataclasses.replace(sample, documents=documents)
    ref = ObjectRef("apps", "Deployment", namespace, "call-router")
    k8s_cr.instantiate(make_request(), package)

    for how in ({"level": 4}, {"number_of_steps": 4}, {"number_of_steps": -1}):
        said = refused(
            errors.RequestInvalid, ref, None, aspect="routers", **how
        )
        assert "its levels are 0 to 3" in said
    assert refused(errors.RequestInvalid, ref, None, aspect="no", level=1)

    k8s_cr.terminate(make_request())


@pytest.mark.requirement("D5")
def test_a_number_below_zero_or_outside_an_autoscaler_is_refused(
    cluster, namespace, make_package, make_request, refused
):
    """The autoscaler is named: it would set the number back."""
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "minReplicas": 1,
            "maxReplicas": 3,
            "scaleTargetRef": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": "web",
            },
        },
    }
    ref = ObjectRef("apps", "Deployment", namespace, "web")
    package = make_package(manifests.deployment("web", 1))
    k8s_cr.instantiate(make_request(), package)

    assert refused(errors.Error, ref, -1)
    autoscaler["metadata"]["namespace"] = namespace
    cluster.create(autoscaler, "tests")
    said = refused(errors.NotScalable, ref, 5)
    assert "HorizontalPodAutoscaler" in said

    k8s_cr.terminate(make_request())
