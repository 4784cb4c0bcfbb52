"""Scale operations of the infrastructure driver of v1."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import json
import logging
from typing import Any

from tacker import objects

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver.v1 import grants
from tacker_k8s_cr.driver.v1 import lcm_op_occs
from tacker_k8s_cr.driver.v1 import mapping
from tacker_k8s_cr.driver.v1 import modification
from tacker_k8s_cr.driver.v1 import sync_db
from tacker_k8s_cr.driver.v1 import tacker_errors
from tacker_k8s_cr.driver.v1 import unsupported
from tacker_k8s_cr.model import errors

LOG = logging.getLogger(__name__)


class Scaling(unsupported.Unsupported):
    """The calls of Tacker for a scale of an aspect."""

    def scale(
        self,
        *,
        context: Any,
        auth_attr: Mapping[str, Any],
        policy: Mapping[str, Any],
        **_: Any,
    ) -> None:
        """Scale an aspect to the requested level.

        Tacker calls this once for each step, and again after an error: the
        level is absolute, so that every call but the first changes nothing.
        """
        vnf_info = policy["vnf"]
        instance = policy["vnf_instance_id"]
        occurrence = lcm_op_occs.mark_started(context, instance)
        with tacker_errors.translate_errors("scale", instance, occurrence):
            target = mapping.target(policy["instance_id"], auth_attr)
            params = _request_params(vnf_info, target.namespace)
            vnf_instance = objects.VnfInstance.get_by_id(context, instance)
            modification.adopt(context, vnf_instance, target)
            vnf_info["current_error_point"] = lcm_op_occs.TOUCHED
            operations.scale(
                target, policy["name"], vnf_info["after_scale_level"], params
            )

    def scale_wait(self, **_: Any) -> None:
        """Do nothing: ``scale`` has waited."""

    def get_scale_ids(
        self,
        *,
        vnf_dict: Mapping[str, Any],
        auth_attr: Mapping[str, Any],
        **_: Any,
    ) -> list[str]:
        """Return the names of the Pods and Machines of an aspect."""
        with tacker_errors.translate_errors("scale", vnf_dict["instance_id"]):
            target = mapping.target(vnf_dict["instance_id"], auth_attr)
            inventory, members = instances.read_members(target)
        aspects = inventory.vnfd.aspects if inventory.vnfd else {}
        aspect = aspects.get(vnf_dict.get("policy_name", ""))
        scaled = aspect.steps if aspect else {}
        return [m.ref.name for vdu in scaled for m in members.get(vdu, ())]

    def get_scale_in_ids(
        self, **_: Any
    ) -> tuple[list[str], list[str], None, None]:
        """Return none: the controller selects the Pods to delete."""
        return [], [], None, None

    def scale_resource_update(
        self, *, vnf_instance: Any, vim_connection_info: Any, **_: Any
    ) -> None:
        """Store the Pods and Machines; Tacker compares before and after."""
        sync_db.note_members("scale", vnf_instance, vim_connection_info)

    def get_rollback_ids(self, **_: Any) -> tuple[list[str], list[str], None]:
        """Return none: the controller selects the Pods to delete."""
        return [], [], None

    def scale_in_reverse(
        self,
        *,
        context: Any,
        auth_attr: Mapping[str, Any],
        vnf_info: Mapping[str, Any],
        scale_vnf_request: Any,
        vnf_instance: Any,
        **_: Any,
    ) -> None:
        """Roll back a scale-out, to the level in Tacker's database.

        A scale that was rejected needs no rollback, which would be rejected
        too. The rollback has the parameters of the request, except the
        selected Machines, which are not those created since.
        """
        lcm_op_occs.release_connection(context)
        with tacker_errors.translate_errors("scale", vnf_instance.id):
            info = vnf_instance.instantiated_vnf_info
            aspect = scale_vnf_request.aspect_id
            target = mapping.target(info.instance_id, auth_attr, vnf_instance)
            before = mapping.scale_levels(info.scale_status)[aspect]
            inventory = instances.find_inventory(target)
            if not instances.needs_scale_rollback(inventory, aspect, before):
                LOG.info("nothing to roll back: no scale had been applied")
                return
            params = _request_params(vnf_info, target.namespace)
            params = dataclasses.replace(params, machines_to_delete=())
            operations.scale(target, aspect, before, params)

    def scale_update_wait(self, **_: Any) -> None:
        """Do nothing: ``scale_in_reverse`` has waited."""

    # -- Grants of an external NFVO ------------------------------------------

    def get_grant_resource(
        self,
        *,
        vnf_instance: Any,
        vnf_info: dict[str, Any],
        scale_vnf_request: Any,
        vim_connection_info: Any,
        **_: Any,
    ) -> None:
        """Return what a scale adds or removes.

        Kubernetes schedules Pods, so there are no placement constraints.
        """
        with tacker_errors.translate_errors("scale", vnf_instance.id):
            target = mapping.target_of(vnf_instance, vim_connection_info)
            inventory, _members = instances.read_members(target)
            info = vnf_instance.instantiated_vnf_info
            if inventory.vnfd is None:
                raise errors.RequestInvalid(
                    "scale: the package of the instance has no VNFD"
                )
            delta = grants.replica_delta(
                inventory.vnfd,
                mapping.scale_levels(info.scale_status),
                scale_vnf_request.aspect_id,
                vnf_info["after_scale_level"],
            )
        vnf_info["addResources"] = grants.resources_to_add(delta)
        vnf_info["removeResources"] = grants.resources_to_remove(
            delta, info.vnfc_resource_info
        )
        vnf_info["placement_constraint_list"] = []

    def get_cinder_list(self, *_: Any, **__: Any) -> list[str]:
        """Return none: Kubernetes manages volumes."""
        return []


def _request_params(
    vnf_info: Mapping[str, Any], namespace: str
) -> additional_params.RequestParams:
    """Return the parameters of the request, from Tacker's record of it."""
    occurrence = vnf_info.get("vnf_lcm_op_occ")
    params = json.loads(getattr(occurrence, "operation_params", None) or "{}")
    return additional_params.read(
        params.get("additional_params"), "scale", instance_namespace=namespace
    )
