"""Manifests with fields that the server does not know, or has twice.

Tacker's own driver creates their objects, which a server accepts; a
server-side apply does not.
"""

from __future__ import annotations

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef

pytestmark = pytest.mark.plane

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: NAMESPACE
  labels: {app: first}
  labels: {app: web}
spec:
  replicsa: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: c
        image: registry.k8s.io/pause:3.9
        image_pull_policy: Always
"""
TWICE = "        env: [{name: A, value: first}, {name: A, value: last}]\n"
WARN = k8s_cr.Options(field_validation="warn")


@pytest.fixture
def path(tmp_path):
    def written(namespace, *others):
        file = tmp_path / "a.yaml"
        text = "---".join((WEB, *others))
        file.write_text(text.replace("NAMESPACE", namespace))
        return file

    return written


def load(file):
    return k8s_cr.load(file, field_validation="warn")


def warnings_of(report):
    return "\n".join(report.warnings)


def test_a_package_with_such_fields_is_accepted_on_request(
    cluster, namespace, path, make_request, unique_name, leftover_objects
):
    """They are left out, each with a warning, and are not drift later."""
    file = path(namespace)
    file.write_text(file.read_text() + TWICE)
    with pytest.raises(errors.PackageInvalid, match="'labels' is there twice"):
        k8s_cr.load(file)
    package = load(file)
    with pytest.raises(errors.Rejected, match=r"field spec\.replicsa"):
        k8s_cr.instantiate(make_request(), package)
    assert [] == leftover_objects(unique_name, namespace)

    report = k8s_cr.instantiate(make_request(options=WARN), package)

    assert "'labels' is there twice in one mapping; the last" in warnings_of(
        report
    )
    assert "unknown field spec.replicsa, which is left out" in warnings_of(
        report
    )
    assert '[name="c"].image_pull_policy, which is left out' in warnings_of(
        report
    )
    assert '[name="A"], of which the last one counts' in warnings_of(report)
    live = cluster.get(ObjectRef("apps", "Deployment", namespace, "web"))
    assert "web" == live["metadata"]["labels"]["app"]
    [container] = live["spec"]["template"]["spec"]["containers"]
    assert [{"name": "A", "value": "last"}] == container["env"]
    assert () == k8s_cr.drift(make_request()).objects
    k8s_cr.change(make_request(options=WARN), package)
    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)


def test_an_object_in_a_namespace_of_its_package_is_checked_too(
    make_request, kubectl, path, unique_name
):
    """Its namespace does not exist yet."""
    namespace = f"{unique_name}-own"
    brought = (
        "\napiVersion: v1\nkind: Namespace\nmetadata: {name: NAMESPACE}\n"
    )
    package = load(path(namespace, brought))

    report = k8s_cr.instantiate(
        make_request(namespace=namespace, options=WARN), package
    )

    assert "unknown field spec.replicsa" in warnings_of(report)
    kubectl("delete", "namespace", namespace, "--wait=false")


def test_an_instance_of_another_program_is_adopted_with_them(
    kubectl, namespace, path, unique_name, leftover_objects, make_request
):
    """Tacker's own driver has created the object in spite of them."""
    file = path(namespace)
    kubectl("create", "--validate=false", "-f", str(file))

    report = lcm.adopt(make_request(), load(file))

    assert "unknown field spec.replicsa, which is left out" in warnings_of(
        report
    )
    assert () == k8s_cr.drift(make_request()).objects
    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)


def test_the_mode_is_one_of_two():
    """As the field fieldValidation of Kubernetes, without Ignore."""
    with pytest.raises(errors.RequestInvalid, match="strict or warn, got"):
        k8s_cr.Options(field_validation="ignore")
    with pytest.raises(errors.RequestInvalid, match="strict or warn, got"):
        k8s_cr.load("a.yaml", field_validation="ignore")
