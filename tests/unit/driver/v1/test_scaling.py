"""What a scale of v1 asks for, as far as no cluster is needed."""

import json
import uuid

import pytest
from tacker import objects
from tacker.common import exceptions

from tacker_k8s_cr.driver.v1 import infra_driver
from tests import tacker_host


@pytest.fixture
def scale(tmp_path):
    """Scale an instance, with these parameters in the request."""
    with tacker_host.running_operation(tmp_path) as running:

        def scaled(**params):
            said = {"type": "SCALE_OUT", "additional_params": params}
            vim = objects.VimConnectionInfo(vim_id=str(uuid.uuid4()))
            instance = running.vnf_instance(vim).id
            infra_driver.KubernetesCr().scale(
                plugin=None,
                context=running.context,
                auth_attr={},
                policy={
                    "instance_id": f"edge/{instance}",
                    "vnf_instance_id": instance,
                    "name": "workers",
                    "vnf": {
                        "after_scale_level": 1,
                        "vnf_lcm_op_occ": objects.VnfLcmOpOcc(
                            operation_params=json.dumps(said)
                        ),
                    },
                },
                region_name=None,
            )

        yield scaled


def test_parameters_of_a_scale_are_read(scale):
    """Tacker gives a driver none; its record of the operation has them."""
    with pytest.raises(exceptions.InvalidInput, match="is timeout meant"):
        scale(is_auto="False", tacker_k8s_cr={"tiemout": 5})


def test_a_scale_without_parameters_continues(scale):
    """Here to the VIM, which this one does not have."""
    with pytest.raises(exceptions.InvalidInput, match="auth_url"):
        scale(is_auto="False")


def test_a_rollback_waits_without_a_connection_to_the_database(tmp_path):
    """Else a database that is restarted meanwhile would fail it."""
    with tacker_host.running_operation(tmp_path) as running:
        vnf_instance = objects.VnfInstance(
            id=str(uuid.uuid4()),
            instantiated_vnf_info=objects.InstantiatedVnfInfo(
                scale_status=[
                    objects.ScaleInfo(aspect_id="workers", scale_level=1)
                ]
            ),
            vnf_metadata={},
        )
        session = running.context.session
        session.connection()
        assert session.in_transaction()

        with pytest.raises(exceptions.InvalidInput, match="auth_url"):
            infra_driver.KubernetesCr().scale_in_reverse(
                plugin=None,
                context=running.context,
                auth_attr={},
                vnf_info={"instance_id": None},
                scale_vnf_request=objects.ScaleVnfRequest(aspect_id="workers"),
                region_name=None,
                scale_name_list=[],
                grp_id=None,
                vnf_instance=vnf_instance,
            )

        assert not session.in_transaction()
