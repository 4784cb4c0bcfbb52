"""The part of Tacker's infra driver, v1, that scales."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import json
import logging
from typing import Any

from tacker import objects

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import failures
from tacker_k8s_cr.driver import grants
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import occurrences
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.driver import script_changes
from tacker_k8s_cr.driver import synchronizing
from tacker_k8s_cr.driver import translate
from tacker_k8s_cr.driver import unsupported

LOG = logging.getLogger(__name__)


class Scaling(unsupported.Unsupported):
    """Scale an aspect to a level, and what Tacker asks around it."""

    def scale(
        self,
        *,
        context: Any,
        auth_attr: Mapping[str, Any],
        policy: Mapping[str, Any],
        **_: Any,
    ) -> None:
        """Scale an aspect to the level at which it is to end.

        Tacker calls this once for each step, and again after an error: the
        level is absolute, so that every call but the first changes nothing.
        """
        vnf_info = policy["vnf"]
        instance = policy["vnf_instance_id"]
        occurrence = occurrences.touched(context, instance)
        with failures.translated("scale", instance, occurrence):
            target = translate.target(policy["instance_id"], auth_attr)
            asked = _asked(vnf_info, target.namespace)
            vnf_instance = objects.VnfInstance.get_by_id(context, instance)
            script_changes.adopt_v1(context, vnf_instance, target)
            vnf_info["current_error_point"] = occurrences.TOUCHED
            operations.scale(
                target, policy["name"], vnf_info["after_scale_level"], asked
            )

    def scale_wait(self, **_: Any) -> None:
        """Nothing is left to wait for: ``scale`` did."""

    def get_scale_ids(
        self,
        *,
        vnf_dict: Mapping[str, Any],
        auth_attr: Mapping[str, Any],
        **_: Any,
    ) -> list[str]:
        """Names of the Pods and Machines that an aspect scales."""
        with failures.translated("scale", vnf_dict["instance_id"]):
            target = translate.target(vnf_dict["instance_id"], auth_attr)
            inventory, found = instances.members(target)
        aspects = inventory.vnfd.aspects if inventory.vnfd else {}
        aspect = aspects.get(vnf_dict.get("policy_name", ""))
        scaled = aspect.steps if aspect else {}
        return [m.ref.name for vdu in scaled for m in found.get(vdu, ())]

    def get_scale_in_ids(
        self, **_: Any
    ) -> tuple[list[str], list[str], None, None]:
        """None: which of them go is decided by their controller."""
        return [], [], None, None

    def scale_resource_update(
        self, *, vnf_instance: Any, vim_connection_info: Any, **_: Any
    ) -> None:
        """Note the Pods and Machines; Tacker compares before and after."""
        synchronizing.note_members("scale", vnf_instance, vim_connection_info)

    def get_rollback_ids(self, **_: Any) -> tuple[list[str], list[str], None]:
        """None: which of them go is decided by their controller."""
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
        """Take a scale out back, to the level that Tacker still has.

        What refused the scale would refuse the way back from nothing, too.
        The way back is as the request said, but for Machines that it chose:
        they are not those that have come since.
        """
        occurrences.let_go(context)
        with failures.translated("scale", vnf_instance.id):
            info = vnf_instance.instantiated_vnf_info
            aspect = scale_vnf_request.aspect_id
            target = translate.target(
                info.instance_id, auth_attr, vnf_instance
            )
            before = translate.scale_levels(info.scale_status)[aspect]
            found = instances.inventory(target)
            if not instances.scale_begun(found, aspect, before):
                LOG.info("nothing was scaled; nothing is taken back")
                return
            asked = _asked(vnf_info, target.namespace)
            asked = dataclasses.replace(asked, leaving=())
            operations.scale(target, aspect, before, asked)

    def scale_update_wait(self, **_: Any) -> None:
        """Nothing is left to wait for: ``scale_in_reverse`` did."""

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
        """Say what a scale adds or removes.

        Where Pods run is decided by Kubernetes, so nothing is said of it.
        """
        with failures.translated("scale", vnf_instance.id):
            target = translate.target_of(vnf_instance, vim_connection_info)
            inventory, _members = instances.members(target)
            info = vnf_instance.instantiated_vnf_info
            if inventory.vnfd is None:
                raise errors.RequestInvalid(
                    "scale: the package of the instance has no VNFD"
                )
            more = grants.difference(
                inventory.vnfd,
                translate.scale_levels(info.scale_status),
                scale_vnf_request.aspect_id,
                vnf_info["after_scale_level"],
            )
        vnf_info["addResources"] = grants.added(more)
        vnf_info["removeResources"] = grants.removed(
            more, info.vnfc_resource_info
        )
        vnf_info["placement_constraint_list"] = []

    def get_cinder_list(self, *_: Any, **__: Any) -> list[str]:
        """None: volumes are Kubernetes' own."""
        return []


def _asked(vnf_info: Mapping[str, Any], home: str) -> request.Asked:
    """What the request says, which only Tacker's record of it has."""
    occurrence = vnf_info.get("vnf_lcm_op_occ")
    said = json.loads(getattr(occurrence, "operation_params", None) or "{}")
    return request.read(said.get("additional_params"), "scale", home=home)
