"""Numbers and VNFCs of kinds other than Deployments, through Tacker's v2."""

from __future__ import annotations

import pytest

from tests.e2e import packages
from tests.e2e.packages import Vdu
from tests.e2e.shown import by_vdu
from tests.e2e.shown import info_ids
from tests.functional import manifests
from tools.tacker import rest

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


def test_each_kind_has_its_number_and_its_vnfcs(
    v2,
    vim,
    tmp_path,
    namespace,
    unique,
    kubectl,
    nothing_left,
    traces_of,
):
    """A custom one by its scale sub-resource (TK-5, TK-10, XO-9).

    A bare Pod, which has no number and is no VDU, is healed with all others,
    though nobody but the package can make it again.
    """
    group = f"{unique}.example.org"
    stored = {f"{PREFIX}readiness": "created"}
    csar = packages.of(
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
    body = rest.instantiation(v2, vim, csar.files, namespace=namespace)
    v2.done(vnf, "instantiate", body)
    first = by_vdu(v2.vnfcs(vnf))
    assert {"db": 1, "cache": 1} == {v: len(ids) for v, ids in first.items()}

    # -- Numbers
    path = "-o=jsonpath={.spec.replicas}"
    for vdu, kind in (
        ("fleet", f"fleets.{group}"),
        ("db", "statefulsets"),
        ("cache", "replicasets"),
    ):
        v2.done(vnf, "scale", rest.scaling(vdu, 2))
        assert "3" == kubectl("get", kind, vdu, "-n", namespace, path)
    second = by_vdu(v2.vnfcs(vnf))
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
    v2.done(vnf, "heal", rest.healing(info_ids(v2, vnf, "db")))
    third = by_vdu(v2.vnfcs(vnf))
    assert second["cache"] == third["cache"]
    assert [3, 3] == [len(third["db"]), len(third["db"] - second["db"])]
    assert alone == kubectl(*get)
    v2.done(vnf, "heal", rest.healing(all=True))
    fourth = by_vdu(v2.vnfcs(vnf))
    assert [3, 3] == [len(fourth[vdu] - third[vdu]) for vdu in ("db", "cache")]
    assert alone != kubectl(*get)

    v2.done(vnf, "terminate", rest.FORCEFUL)
    v2.delete(vnf)
    assert [] == traces_of(vnf)
