"""Adopt an instance of Tacker's own driver in the v1 API."""

from __future__ import annotations

import logging
from typing import Any

from tacker import objects

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import adoption
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import occurrences
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.driver import resources
from tacker_k8s_cr.driver import synchronizing
from tacker_k8s_cr.driver import translate
from tacker_k8s_cr.driver.instances import Target

LOG = logging.getLogger(__name__)


def is_wanted(vnf_instance: Any) -> bool:
    """Whether a synchronization is to adopt an instance."""
    return adoption.is_enabled() and is_possible(vnf_instance)


def is_possible(vnf_instance: Any) -> bool:
    """Whether Tacker's own driver made the instance from manifests."""
    info = vnf_instance.instantiated_vnf_info
    return bool(
        info
        and info.instance_id
        and not translate.ours(info.instance_id)
        and not request.of_helm(info.additional_params)
    )


def adopt(context: Any, vnf_instance: Any, vim_info: Any) -> None:
    """Adopt the objects, and store with the instance that it is ours.

    Meanwhile its task state refuses other operations.

    :raises errors.Error: it is not adopted, and stays with Tacker's driver.
    """
    fresh = objects.VnfInstance.get_by_id(context, vnf_instance.id)
    if why := synchronizing.busy(context, fresh):
        raise errors.RequestInvalid(f"{fresh.id} cannot be adopted now: {why}")
    with synchronizing.reserved(context, fresh):
        target = _target(fresh, vim_info)
        adoption.adopt(target, _former(context, fresh))
        _store(context, fresh, target, vim_info.vim_id)
    LOG.info("%s: adopted from Tacker's own driver", fresh.id)


def _target(vnf_instance: Any, vim_info: Any) -> Target:
    metadata = vnf_instance.vnf_metadata or {}
    namespace = str(metadata.get("namespace") or "default")
    asked = request.Asked(namespace=namespace)
    return Target(
        vnf_instance.id,
        instances.home(asked),
        translate.access(vim_info),
        namespace=namespace,
    )


def _former(context: Any, vnf_instance: Any) -> adoption.Former:
    from tacker.vnflcm import utils

    info = vnf_instance.instantiated_vnf_info
    path = utils.get_vnf_package_path(context, vnf_instance.vnfd_id)
    occurrences.let_go(context)
    return adoption.Former(
        path,
        info.flavour_id,
        adoption.asked_of(info.additional_params),
        translate.scale_levels(info.scale_status),
        adoption.noted_objects(info.instance_id),
    )


def _store(
    context: Any, vnf_instance: Any, target: Target, vim_id: str
) -> None:
    """Let Tacker find the instance as one of ours.

    It keeps the reference in two tables: one of them is read for a scale.
    """
    # Imported here: it brings in Tacker's database.
    from tacker.db.vnfm import vnfm_db

    info = vnf_instance.instantiated_vnf_info
    info.instance_id = translate.reference(target.instance, target.home)
    _, members = instances.members(target)
    info.vnfc_resource_info = resources.vnfc_resources(
        members, info.vnfc_resource_info
    )
    translate.note(vnf_instance, target, vim_id)
    vnf_instance.task_state = None
    vnf_instance.save()
    context.session.query(vnfm_db.VNF).filter_by(id=vnf_instance.id).update(
        {"instance_id": info.instance_id}
    )
    occurrences.let_go(context)
