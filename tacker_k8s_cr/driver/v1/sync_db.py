"""Synchronize Tacker's v1 database with the cluster.

Tacker calls it periodically for each instance, in a process that performs no
operations. An instance with an operation in progress is not changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import logging
from typing import Any

from tacker import objects
from tacker.objects import fields

from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import script_changes
from tacker_k8s_cr.driver import sync_round
from tacker_k8s_cr.driver import synchronization
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.instances import InstanceView
from tacker_k8s_cr.driver.v1 import lcm_op_occs
from tacker_k8s_cr.driver.v1 import mapping
from tacker_k8s_cr.driver.v1 import modification
from tacker_k8s_cr.driver.v1 import tacker_errors
from tacker_k8s_cr.driver.v1 import vnf_resources

LOG = logging.getLogger(__name__)

_ROUND = sync_round.SyncRound()
_SYNCHRONIZING = fields.VnfInstanceTaskState.DB_SYNCHRONIZING


def note_members(
    operation: str,
    vnf_instance: Any,
    vim_connection_info: Any,
    healed: Iterable[str] = (),
) -> None:
    """Set the live Pods and Machines; Tacker stores them.

    :param healed: ids of VNFCs that are being healed.
    """
    with tacker_errors.translate_errors(operation, vnf_instance.id):
        target = mapping.target_of(vnf_instance, vim_connection_info)
        _, members = instances.read_members(target)
    info = vnf_instance.instantiated_vnf_info
    info.vnfc_resource_info = vnf_resources.vnfc_resources(
        members, info.vnfc_resource_info, healed
    )


def synchronize(
    context: Any, vnf_instance: Any, target: InstanceTarget
) -> bool:
    """Store changed members and scale levels; return whether any changed.

    Meanwhile the task state of the instance rejects other operations.
    """
    with _ROUND.inspect(target.instance, target.access):
        return _store_changes(context, vnf_instance, target)


def _store_changes(
    context: Any, vnf_instance: Any, target: InstanceTarget
) -> bool:
    seen = instances.inspect(target, sync_round.SECONDS)
    if not _is_changed(vnf_instance, seen):
        return False
    fresh = objects.VnfInstance.get_by_id(context, vnf_instance.id)
    if why := busy_reason(context, fresh) or synchronization.busy_reason(seen):
        LOG.info("not synchronized: %s", why)
        return False
    with reserve(context, fresh):
        modification.adopt(context, fresh, target)
        # The first read was before other operations were rejected.
        seen = instances.inspect(target, sync_round.SECONDS)
        changed = _is_changed(fresh, seen) and not synchronization.busy_reason(
            seen
        )
        if not changed or lcm_op_occs.is_running(context, fresh.id):
            return False
        _note(fresh, seen)
        fresh.task_state = None
        fresh.save()
    LOG.info(
        "synchronized: %d VNFC(s)",
        len(fresh.instantiated_vnf_info.vnfc_resource_info),
    )
    return True


@contextlib.contextmanager
def reserve(context: Any, vnf_instance: Any) -> Iterator[None]:
    """Reject other operations on an instance meanwhile, by its task state.

    The state is removed after any error: otherwise the instance would reject
    operations permanently.
    """
    vnf_instance.task_state = _SYNCHRONIZING
    vnf_instance.save()
    try:
        yield
    finally:
        _release(context, vnf_instance.id)


def _is_changed(vnf_instance: Any, seen: InstanceView) -> bool:
    info = vnf_instance.instantiated_vnf_info
    noted = {
        (item.id, item.vdu_id, item.compute_resource.resource_id)
        for item in info.vnfc_resource_info
    }
    live = {
        (item.id, item.vdu_id, item.compute_resource.resource_id)
        for item in vnf_resources.vnfc_resources(
            seen.members, info.vnfc_resource_info
        )
    }
    if noted != live or script_changes.has_other_descriptor(
        seen.inventory, vnf_instance.vnfd_id
    ):
        return True
    stored = mapping.scale_levels(info.scale_status)
    return synchronization.is_level_changed(stored, seen)


def _note(vnf_instance: Any, seen: InstanceView) -> None:
    info = vnf_instance.instantiated_vnf_info
    info.vnfc_resource_info = vnf_resources.vnfc_resources(
        seen.members, info.vnfc_resource_info
    )
    stored = mapping.scale_levels(info.scale_status)
    levels = synchronization.live_levels(stored, seen)
    if levels is None:
        LOG.warning(synchronization.NO_LEVEL, vnf_instance.id)
        return
    for item in info.scale_status or ():
        item.scale_level = levels[item.aspect_id]


def busy_reason(context: Any, vnf_instance: Any) -> str:
    """Return why an instance is busy in Tacker; empty if it is at rest."""
    if (
        vnf_instance.instantiation_state
        != fields.VnfInstanceState.INSTANTIATED
    ):
        return "it is not instantiated"
    if vnf_instance.task_state is not None:
        return f"its task state is {vnf_instance.task_state}"
    if lcm_op_occs.has_failed(context, vnf_instance.id):
        return "its last operation failed"
    if lcm_op_occs.is_running(context, vnf_instance.id):
        return "an operation on it has begun"
    return ""


def _release(context: Any, vnf_instance_id: str) -> None:
    """Remove the task state of the synchronization."""
    with contextlib.suppress(Exception):
        vnf_instance = objects.VnfInstance.get_by_id(context, vnf_instance_id)
        if vnf_instance.task_state == _SYNCHRONIZING:
            vnf_instance.task_state = None
            vnf_instance.save()
