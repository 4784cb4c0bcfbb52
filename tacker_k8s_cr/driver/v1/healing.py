"""Heal operations of the infrastructure driver of v1."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses
import logging
from typing import Any

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver import references
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.v1 import lcm_op_occs
from tacker_k8s_cr.driver.v1 import mapping
from tacker_k8s_cr.driver.v1 import modification
from tacker_k8s_cr.driver.v1 import sync_db
from tacker_k8s_cr.driver.v1 import tacker_errors
from tacker_k8s_cr.driver.v1 import vnf_resources
from tacker_k8s_cr.model import errors

LOG = logging.getLogger(__name__)


class Healing:
    """The calls of Tacker for a heal of Pods and Machines."""

    def heal_vnf(
        self,
        *,
        context: Any,
        vnf_instance: Any,
        vim_connection_info: Any,
        heal_vnf_request: Any,
        **_: Any,
    ) -> None:
        """Replace the Pods and Machines of the requested VNFCs.

        Tacker ignores what its call to wait raises, so all is done here.
        """
        occurrence = lcm_op_occs.mark_started(context, vnf_instance.id)
        with tacker_errors.translate_errors(
            "heal", vnf_instance.id, occurrence
        ):
            target = dataclasses.replace(
                mapping.target_of(vnf_instance, vim_connection_info),
                occurrence=occurrence,
            )
            params = additional_params.read(
                heal_vnf_request.additional_params,
                "heal",
                instance_namespace=target.namespace,
            )
            modification.adopt(context, vnf_instance, target)
            inventory, members = instances.read_members(target)
            selected = vnf_resources.select_uids(
                heal_vnf_request.vnfc_instance_id,
                vnf_instance.instantiated_vnf_info.vnfc_resource_info,
                members,
                inventory,
            )
            operations.heal(target, selected, params)

    def heal_vnf_wait(self, **_: Any) -> None:
        """Do nothing: ``heal_vnf`` has waited."""

    def post_heal_vnf(
        self,
        *,
        vnf_instance: Any,
        vim_connection_info: Any,
        heal_vnf_request: Any,
        **_: Any,
    ) -> None:
        """Store the Pods and Machines, also after a failed heal."""
        sync_db.note_members(
            "heal",
            vnf_instance,
            vim_connection_info,
            heal_vnf_request.vnfc_instance_id or (),
        )


def heal_in_place(
    context: Any,
    vnf_instance: Any,
    target: InstanceTarget,
    levels: Mapping[str, int],
) -> bool:
    """Heal all members in place; return False without a record.

    Tacker passes the request of the instantiation.
    """
    # Tacker has deleted these values, and stores those that are here
    # when the heal fails.
    info = vnf_instance.instantiated_vnf_info
    info.instance_id = references.format_reference(
        target.instance, target.record_namespace
    )
    info.scale_status = mapping.scale_status(levels)
    params = lcm_op_occs.read_parameters(context, target.occurrence)
    try:
        heal_params = additional_params.read(
            params, "heal", instance_namespace=target.namespace
        )
        modification.adopt(context, vnf_instance, target)
        operations.heal(target, None, heal_params)
    except errors.InstanceNotFound as error:
        LOG.warning("%s; instantiating again", error)
        info.instance_id = None
        return False
    except errors.Error:
        with contextlib.suppress(errors.Error):
            members = instances.read_members(target)[1]
            info.vnfc_resource_info = vnf_resources.vnfc_resources(members)
        raise
    return True
