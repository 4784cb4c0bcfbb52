"""Adopt an instance of Tacker's own driver in the v1 API."""

from __future__ import annotations

from typing import Any

from tacker import objects

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import adoption
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import references
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.v1 import lcm_op_occs
from tacker_k8s_cr.driver.v1 import mapping
from tacker_k8s_cr.driver.v1 import modification
from tacker_k8s_cr.driver.v1 import sync_db
from tacker_k8s_cr.driver.v1 import vnf_resources
from tacker_k8s_cr.model import errors


def is_wanted(vnf_instance: Any) -> bool:
    """Return whether a synchronization adopts an instance."""
    return adoption.is_enabled() and is_possible(vnf_instance)


def is_possible(vnf_instance: Any) -> bool:
    """Return whether Tacker's own driver created it from manifests."""
    info = vnf_instance.instantiated_vnf_info
    return bool(
        info
        and info.instance_id
        and not mapping.is_our_reference(info.instance_id)
        and not additional_params.is_for_helm(info.additional_params)
    )


def adopt(context: Any, vnf_instance: Any, vim_info: Any) -> None:
    """Adopt the objects, and store the reference of the record.

    Meanwhile its task state refuses other operations.

    :raises errors.Error: it is not adopted, and stays with Tacker's driver.
    """
    fresh = objects.VnfInstance.get_by_id(context, vnf_instance.id)
    if why := sync_db.busy_reason(context, fresh):
        raise errors.RequestInvalid(f"{fresh.id} cannot be adopted now: {why}")
    with sync_db.reserve(context, fresh):
        target = _target(fresh, vim_info)
        adoption.adopt(target, _former(context, fresh))
        _store(context, fresh, target, vim_info.vim_id)


def _target(vnf_instance: Any, vim_info: Any) -> InstanceTarget:
    metadata = vnf_instance.vnf_metadata or {}
    namespace = str(metadata.get("namespace") or "default")
    params = additional_params.RequestParams(namespace=namespace)
    return InstanceTarget(
        vnf_instance.id,
        instances.choose_record_namespace(params),
        mapping.access(vim_info),
        namespace=namespace,
    )


def _former(context: Any, vnf_instance: Any) -> adoption.UpstreamInstance:
    info = vnf_instance.instantiated_vnf_info
    return adoption.UpstreamInstance(
        modification.package_path(context, vnf_instance),
        info.flavour_id,
        adoption.instantiation_params(info.additional_params),
        mapping.scale_levels(info.scale_status),
        adoption.parse_noted_objects(info.instance_id),
    )


def _store(
    context: Any, vnf_instance: Any, target: InstanceTarget, vim_id: str
) -> None:
    """Store the instance as managed by this driver.

    It keeps the reference in two tables: one of them is read for a scale.
    """
    # Imported here: it brings in Tacker's database.
    from tacker.db.vnfm import vnfm_db

    info = vnf_instance.instantiated_vnf_info
    info.instance_id = references.format_reference(
        target.instance, target.record_namespace
    )
    _, members = instances.read_members(target)
    info.vnfc_resource_info = vnf_resources.vnfc_resources(
        members, info.vnfc_resource_info
    )
    mapping.note_reference(vnf_instance, target, vim_id)
    vnf_instance.task_state = None
    vnf_instance.save()
    context.session.query(vnfm_db.VNF).filter_by(id=vnf_instance.id).update(
        {"instance_id": info.instance_id}
    )
    lcm_op_occs.release_connection(context)
