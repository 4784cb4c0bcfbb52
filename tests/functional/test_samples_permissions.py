"""The samples, for a user with no more than the documented permissions."""

from __future__ import annotations

import json
import shutil

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tests.functional import restricted_users
from tools import csar

pytestmark = pytest.mark.plane

GROUP = "telephony.example.org"
CAPI = "cluster.x-k8s.io"
MACHINE = GroupKind(CAPI, "Machine")
IMAGE = "registry.k8s.io/pause:3.10"

ELSEWHERE = {
    "capi_management_cluster": "its controllers run in Pods of a real node",
    "capi_openstack_cluster": "tested beside the schemas of its provider",
}
"""Samples that have no test of their own here: why."""


def test_every_sample_is_on_the_page():
    """Each has roles there, or cluster-admin; each has a test."""
    names = {folder.name for folder in csar.SAMPLES.iterdir()}

    for name in names - {"capi_management_cluster"}:
        assert restricted_users.rules(name, "Role")
    assert names == {*ELSEWHERE, "custom_resource", "capi_workload_cluster"}


def renamed(value, group):
    """The same with a group of the test's own."""
    return json.loads(json.dumps(value).replace(GROUP, group))


@pytest.fixture
def tenant(restricted_cluster):
    def make(sample, group=GROUP):
        return restricted_cluster(
            renamed(restricted_users.rules(sample, "Role"), group),
            renamed(restricted_users.rules(sample, "ClusterRole"), group),
        )

    return make


@pytest.mark.requirement("K4")
def test_the_custom_resource_sample_lives(
    tenant, namespace, unique_name, make_request, leftover_objects, tmp_path
):
    """The whole life cycle; nothing is left over."""
    group = f"{unique_name}.example.org"
    cluster = tenant("custom_resource", group)
    folder = tmp_path / "custom_resource"
    shutil.copytree(csar.SAMPLES / "custom_resource", folder)
    for path in folder.rglob("*.yaml"):
        path.write_text(path.read_text().replace(GROUP, group))
    first = k8s_cr.load(folder)
    router = folder / "Files" / "kubernetes" / "router.yaml"
    router.write_text(router.read_text().replace(IMAGE, f"{IMAGE}.1"))

    k8s_cr.instantiate(make_request(cluster), first)
    k8s_cr.scale(make_request(cluster), aspect="routers", level=2)
    k8s_cr.forecast(make_request(cluster), k8s_cr.load(folder))
    k8s_cr.change(make_request(cluster), k8s_cr.load(folder))
    k8s_cr.heal(make_request(cluster))
    k8s_cr.status(make_request(cluster))
    assert () == k8s_cr.drift(make_request(cluster)).objects
    k8s_cr.roll_back(make_request(cluster))
    k8s_cr.terminate(make_request(cluster))

    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.capi
@pytest.mark.requirement("K4")
def test_the_workload_cluster_sample_lives(
    tenant, namespace, unique_name, make_request, leftover_objects, tmp_path
):
    """The whole life cycle; nothing is left over."""
    sample = csar.SAMPLES / "capi_workload_cluster"
    newer = csar.build(sample, tmp_path / "newer.zip", variant="v1_36")
    cluster = tenant(sample.name)

    k8s_cr.instantiate(make_request(cluster), k8s_cr.load(sample))
    k8s_cr.scale(make_request(cluster), aspect="workers", level=1)
    k8s_cr.scale(make_request(cluster), aspect="workers", level=0)
    k8s_cr.change(make_request(cluster), k8s_cr.load(newer))
    workers = f"{CAPI}/deployment-name=workload-workers"
    (worker,) = cluster.list_metadata(MACHINE, namespace, workers)
    k8s_cr.heal(make_request(cluster), [objects.uid(worker)])
    k8s_cr.status(make_request(cluster))
    assert () == k8s_cr.drift(make_request(cluster)).objects
    k8s_cr.terminate(make_request(cluster))

    assert [] == leftover_objects(unique_name, namespace)
