"""Handlers that others install beside Tacker, used by its conductor."""

from __future__ import annotations

import dataclasses
import uuid

import pytest

from tests.e2e import held_vnf
from tests.e2e.packages import Vdu
from tests.e2e.v2_views import assert_refused
from tests.e2e.v2_views import info_id
from tests.e2e.v2_views import vnfcs_by_vdu
from tests.functional import handlers_sample
from tests.functional import manifests
from tools.tacker import rest_api

pytestmark = pytest.mark.plane

WRONG = """
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model.objects import GroupKind

def assess(obj):
    return obj["status"]["phase"]

HANDLERS = {GroupKind("", "PodTemplate"): Handler(assess)}
"""

PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "wrong"
version = "1.0"

[project.entry-points."tacker_k8s_cr.handlers"]
wrong = "wrong_handlers:HANDLERS"

[tool.setuptools]
py-modules = ["wrong_handlers"]
"""


@pytest.fixture(scope="module")
def group():
    """A group of kinds that no other test has."""
    return f"media-{uuid.uuid4().hex[:10]}.example.org"


@pytest.fixture(scope="module")
def wrong_handlers(tmp_path_factory):
    """A distribution whose only handler raises."""
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "wrong_handlers.py").write_text(WRONG)
    return folder


@pytest.fixture(scope="module", autouse=True)
def installed(host, group, wrong_handlers, tmp_path_factory):
    """Tacker with both distributions, for as long as the tests last."""
    before = host.state.options
    sample = handlers_sample.source_files(
        group, tmp_path_factory.mktemp("sample")
    )
    plugins = (*before.plugins, str(sample), str(wrong_handlers))
    host.reload(dataclasses.replace(before, plugins=plugins))
    yield
    host.reload(before)


@pytest.fixture(scope="module", autouse=True)
def defined(kubectl, group):
    """The sample's kinds."""
    found = handlers_sample.crds(group)
    kubectl.apply(found)
    names = [obj["metadata"]["name"] for obj in found]
    kubectl("wait", "--for=condition=Established", "crd", *names)
    yield
    kubectl("delete", "crd", *names, "--wait=false")


@pytest.fixture
def controller(cluster, group, namespace):
    with handlers_sample.Controller(cluster, group, namespace) as working:
        yield working


@pytest.mark.requirement("TK-2", "TK-5")
def test_kinds_of_plug_ins_work_through_tacker(
    v2,
    vim,
    make_package,
    group,
    controller,
    namespace,
    kubectl,
    assert_no_leftovers,
    leftover_objects,
):
    """Their handlers say what is current, a number, and a VNFC.

    Without them none could be scaled: the definitions have no scale
    sub-resource.
    """
    csar = make_package(
        manifests.config_map("tuning"),
        handlers_sample.store(group, "calls", 3, "tuning"),
        handlers_sample.transcoder(group, "hd", 1),
        vdus=[Vdu("calls", "calls", initial=3), Vdu("hd", "hd")],
    )
    vnf = v2.create(csar.vnfd)
    body = rest_api.instantiation(v2, vim, csar.files, namespace=namespace)
    v2.done(vnf, "instantiate", body)
    first = v2.vnfcs(vnf)
    assert {"calls"} == {vnfc["vduId"] for vnfc in first}
    assert 3 == len(first)

    # -- An invalid number is refused beforehand
    failed = v2.run(vnf, "scale", rest_api.scaling("calls", 1))
    status, detail = assert_refused(failed)
    assert 422 == status
    assert "odd number of members or none, and 4 is even" in detail
    held_vnf.roll_back(v2, failed["id"])
    v2.done(vnf, "scale", rest_api.scaling("calls", 2))
    second = vnfcs_by_vdu(v2.vnfcs(vnf))["calls"]
    assert 5 == len(second)
    v2.done(vnf, "scale", rest_api.scaling("hd", 3))
    path = "-o=jsonpath={.spec.workers}"
    kind = f"transcoders.{group}"
    assert "4" == kubectl("get", kind, "hd", "-n", namespace, path)

    # -- One of its Pods
    ill = min(second)
    v2.done(vnf, "heal", rest_api.healing([info_id(v2, vnf, ill)]))
    assert {ill} == second - vnfcs_by_vdu(v2.vnfcs(vnf))["calls"]

    # -- At its end: it is deleted alone, before its settings
    v2.done(vnf, "terminate", rest_api.FORCEFUL)
    assert {"calls": True} == controller.backups
    v2.delete(vnf)
    assert [] == leftover_objects(vnf)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_what_a_handler_calls_failed_ends_the_operation(
    request,
    version,
    vim,
    make_package,
    group,
    controller,
    namespace,
    leftover_objects,
):
    """At once, with its reason; without it the object would do."""
    api = request.getfixturevalue(version)
    csar = make_package(
        handlers_sample.transcoder(group, "hd", 1, codec="none")
    )
    instance = api.create(csar.vnfd)

    body = rest_api.instantiation(api, vim, csar.files, namespace=namespace)
    ended = api.run(instance, "instantiate", body)

    assert "FAILED_TEMP" == ended["operationState"]
    detail = ended["error"]["detail"]
    assert f"Transcoder.{group}/{namespace}/hd" in detail
    assert "Rejected" in detail
    held_vnf.roll_back(api, ended["id"])
    assert [] == leftover_objects(instance)


def pod_template():
    """A kind without side effects; no other test's VNF has one."""
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "a"},
        "template": {
            "spec": {
                "containers": [{"name": "main", "image": "example.org/a:1"}]
            }
        },
    }


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_handler_that_raises_is_reported_as_that_handlers_error(
    request,
    version,
    vim,
    make_package,
    namespace,
    assert_no_leftovers,
    leftover_objects,
):
    """Not as a fault of Tacker or the cluster; it can be rolled back."""
    api = request.getfixturevalue(version)
    csar = make_package(pod_template(), manifests.config_map("b"))
    instance = api.create(csar.vnfd)

    body = rest_api.instantiation(api, vim, csar.files, namespace=namespace)
    ended = api.run(instance, "instantiate", body)

    assert "FAILED_TEMP" == ended["operationState"]
    assert 500 == ended["error"]["status"]
    assert (
        f"handlers of the entry point wrong: PodTemplate/{namespace}/a: "
        "assess raised KeyError in line 6 of wrong_handlers.py"
    ) in ended["error"]["detail"]
    held_vnf.roll_back(api, ended["id"])
    assert [] == leftover_objects(instance)
    api.delete(instance)
