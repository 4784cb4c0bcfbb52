"""An error that a controller keeps reporting ends a real operation."""

from __future__ import annotations

import pytest

from tests.e2e import held_vnf
from tests.e2e import packages
from tools.tacker import rest_api

pytestmark = [pytest.mark.plane, pytest.mark.stages]


def widget(name):
    """Its controller goes on trying, and reports the same each time."""
    return {
        "apiVersion": "demo.example.org/v1",
        "kind": "Widget",
        "metadata": {
            "name": name,
            "annotations": {"k8s-cr.tacker.openstack.org/stall-timeout": "2"},
        },
        "spec": {"size": "broken", "replicas": 3},
    }


@pytest.mark.requirement("P11")
def test_a_quota_error_is_the_error_of_the_operation(
    v2, vim, tmp_path, namespace, assert_no_leftovers, leftover_objects
):
    """FAILED_TEMP long before the time limit, with the controller's words.

    Its condition and its warning event are in the error of the operation;
    a rollback leaves nothing.
    """
    csar = packages.build(tmp_path, {"widget.yaml": [widget("one")]})
    v2.upload(csar.path)
    vnf = v2.create(csar.vnfd)
    body = rest_api.instantiation(
        v2,
        vim,
        csar.files,
        namespace=namespace,
        tacker_k8s_cr={"timeout": 3600},
    )

    failed = v2.run(vnf, "instantiate", body)

    assert "FAILED_TEMP" == failed["operationState"]
    detail = failed["error"]["detail"]
    assert f"Widget.demo.example.org/{namespace}/one: blocked" in detail
    assert "quota for widgets exceeded: 3 wanted, 0 left" in detail
    held_vnf.roll_back(v2, failed["id"])
    v2.delete(vnf)
    assert [] == leftover_objects(vnf)
