"""Numbers and VNFCs of kinds other than Deployments, through Tacker's v2."""

from __future__ import annotations

import pytest

from tests.e2e import packages
from tests.e2e.packages import Vdu
from tests.e2e.v2_views import info_ids
from tests.e2e.v2_views import vnfcs_by_vdu
from tests.functional import manifests
from tools.tacker import rest_api

pytestmark = pytest.mark.plane

PREFIX = "k8s-cr.tacker.openstack.org/"


def as_kind(kind, name, **spec):
    made = packages.deployment(name)
    made["kind"] = kind
    made["spec"].update(spec)
    return made


def pod(name):
    """With no controller."""
    container = {"name": "main", "image": "example.org/a:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container]},
    }


@pytest.mark.requirement("TK-5", "D2", "XO-9")
def test_each_kind_has_its_number_and_its_vnfcs(
    v2,
    vim,
    tmp_path,
    namespace,
    unique_name,
    kubectl,
    assert_no_leftovers,
    leftover_objects,
):
    """A custom one by its scale sub-resource.

    A bare Pod, which has no replicas and is not a VDU, is healed with the
    rest, though only the package can recreate it.
    """
    group = f"{unique_name}.example.org"
    stored = {f"{PREFIX}readiness": "exists"}
    csar = packages.build(
        tmp_path,
        {
            "all.yaml": [
                manifests.definition(group, "Fleet"),
                manifests.custom(group, "Fleet", "fleet", stored, replicas=1),
                as_kind("StatefulSet", "db", serviceName="db"),
                as_kind("ReplicaSet", "cache"),
                pod("alone"),
            ]
        },
        [Vdu(name, name) for name in ("fleet", "db", "cache")],
    )
    v2.upload(csar.path)
    vnf = v2.create(csar.vnfd)
    body = rest_api.instantiation(v2, vim, csar.files, namespace=namespace)
    v2.done(vnf, "instantiate", body)
    first = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert {"db": 1, "cache": 1} == {v: len(ids) for v, ids in first.items()}

    # -- Numbers
    path = "-o=jsonpath={.spec.replicas}"
    for vdu, kind in (
        ("fleet", f"fleets.{group}"),
        ("db", "statefulsets"),
        ("cache", "replicasets"),
    ):
        v2.done(vnf, "scale", rest_api.scaling(vdu, 2))
        assert "3" == kubectl("get", kind, vdu, "-n", namespace, path)
    second = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert first.keys() == second.keys()
    assert all(first[vdu] < second[vdu] for vdu in first)

    # -- VNFCs, and a Pod without a controller
    get = (
        "get",
        "pod",
        "alone",
        "-n",
        namespace,
        "-o=jsonpath={.metadata.uid}",
    )
    alone = kubectl(*get)
    v2.done(vnf, "heal", rest_api.healing(info_ids(v2, vnf, "db")))
    third = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert second["cache"] == third["cache"]
    assert [3, 3] == [len(third["db"]), len(third["db"] - second["db"])]
    assert alone == kubectl(*get)
    v2.done(vnf, "heal", rest_api.healing(all=True))
    fourth = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert [3, 3] == [len(fourth[vdu] - third[vdu]) for vdu in ("db", "cache")]
    assert alone != kubectl(*get)

    v2.done(vnf, "terminate", rest_api.FORCEFUL)
    v2.delete(vnf)
    assert [] == leftover_objects(vnf)
