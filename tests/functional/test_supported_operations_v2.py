"""What a package excludes, asked for by Tacker's own code."""

from __future__ import annotations

import pytest

from tests import small_packages
from tests.functional import test_driver_v2
from tests.functional.test_driver_v2 import Failed

pytestmark = pytest.mark.plane

bind_driver = test_driver_v2.bind_driver
vim = test_driver_v2.vim
conductor = test_driver_v2.conductor
instantiated = test_driver_v2.instantiated


@pytest.mark.requirement("TK-8")
def test_tacker_gets_an_error_for_an_unsupported_operation(
    conductor, instantiated, leftover_objects, namespace
):
    """An error of its own, which states it; and nothing to roll back.

    Tacker is not aware of it and would grant each of these operations.
    """
    only = small_packages.config_map("only")
    only["metadata"]["annotations"] = {
        "k8s-cr.tacker.openstack.org/operations": "instantiate,terminate"
    }
    vnf, _ = instantiated((small_packages.web(), small_packages.db(), only))
    members = conductor.vnfcs(vnf)
    other = conductor.package((small_packages.web(), small_packages.db()))
    asked = {
        "SCALE": {
            "type": "SCALE_OUT",
            "aspectId": "webs",
            "numberOfSteps": 1,
        },
        "HEAL": {"additionalParams": {"all": True}},
        "CHANGE_VNFPKG": {
            "vnfdId": other,
            "additionalParams": test_driver_v2.upgrade(),
        },
    }

    for operation, body in asked.items():
        with pytest.raises(Failed) as failed:
            conductor.run(vnf, operation, **body)
        assert 422 == failed.value.error.status
        assert "Not supported" == failed.value.error.title
        assert "supports instantiate, terminate only" in str(failed.value)
        if operation != "HEAL":  # which Tacker does not roll back
            failed.value.back()

    assert members == conductor.vnfcs(vnf)
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")
    assert [] == leftover_objects(vnf, namespace)
