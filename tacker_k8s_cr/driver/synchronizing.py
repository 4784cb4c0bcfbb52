"""Tacker's record of an instance, brought up to date with the cluster.

Tacker asks for it from time to time, for each instance, in a process that
carries out no operations. Nothing is touched that an operation has.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import logging
from typing import Any

from tacker import objects
from tacker.objects import fields

from tacker_k8s_cr.driver import failures
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import occurrences
from tacker_k8s_cr.driver import resources
from tacker_k8s_cr.driver import rounds
from tacker_k8s_cr.driver import script_changes
from tacker_k8s_cr.driver import translate
from tacker_k8s_cr.driver.instances import Seen
from tacker_k8s_cr.driver.instances import Target
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.package import numbers

LOG = logging.getLogger(__name__)

_ROUND = rounds.Round()
_SYNCHRONIZING = fields.VnfInstanceTaskState.DB_SYNCHRONIZING


def note_members(
    operation: str,
    vnf_instance: Any,
    vim_connection_info: Any,
    healed: Iterable[str] = (),
) -> None:
    """Note the Pods and Machines as they are; Tacker stores them.

    :param healed: ids of VNFCs that are being healed.
    """
    with failures.translated(operation, vnf_instance.id):
        target = translate.target_of(vnf_instance, vim_connection_info)
        _, members = instances.members(target)
    info = vnf_instance.instantiated_vnf_info
    info.vnfc_resource_info = resources.vnfc_resources(
        members, info.vnfc_resource_info, healed
    )


def synchronize(context: Any, vnf_instance: Any, target: Target) -> bool:
    """Note members and scale levels that changed; whether any had.

    While it is done the instance's task state refuses other operations.
    """
    with _ROUND.looking(target.instance, target.access):
        return _synchronized(context, vnf_instance, target)


def _synchronized(context: Any, vnf_instance: Any, target: Target) -> bool:
    seen = instances.seen(target, rounds.SECONDS)
    if not _differs(vnf_instance, seen):
        return False
    fresh = objects.VnfInstance.get_by_id(context, vnf_instance.id)
    if why := busy(context, fresh) or _at_work(seen):
        LOG.info("not synchronized: %s", why)
        return False
    with reserved(context, fresh):
        script_changes.adopt_v1(context, fresh, target)
        # What was seen before is from a time when it could still change.
        seen = instances.seen(target, rounds.SECONDS)
        changed = _differs(fresh, seen) and not _at_work(seen)
        if not changed or occurrences.under_way(context, fresh.id):
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
def reserved(context: Any, vnf_instance: Any) -> Iterator[None]:
    """Refuse other operations on an instance meanwhile, by its task state.

    Whatever goes wrong, the state is taken away: with it the instance would
    be refused for ever.
    """
    vnf_instance.task_state = _SYNCHRONIZING
    vnf_instance.save()
    try:
        yield
    finally:
        _give_back(context, vnf_instance.id)


def levels(vnf_instance: Any, seen: Seen) -> Mapping[str, int] | None:
    """The scale levels by the numbers that the objects ask for now.

    None where the numbers are those of no level, or one is not known.
    """
    vnfd = seen.inventory.vnfd
    if vnfd is None:
        return {}
    info = vnf_instance.instantiated_vnf_info
    known = translate.scale_levels(info.scale_status)
    found = {vdu: n for vdu, n in seen.numbers.items() if n is not None}
    return numbers.levels_of(vnfd, known, found)


def _differs(vnf_instance: Any, seen: Seen) -> bool:
    info = vnf_instance.instantiated_vnf_info
    noted = {
        (item.id, item.vdu_id, item.compute_resource.resource_id)
        for item in info.vnfc_resource_info
    }
    there = {
        (item.id, item.vdu_id, item.compute_resource.resource_id)
        for item in resources.vnfc_resources(
            seen.members, info.vnfc_resource_info
        )
    }
    if noted != there or script_changes.has_other_descriptor(
        seen.inventory, vnf_instance.vnfd_id
    ):
        return True
    at = levels(vnf_instance, seen)
    known = translate.scale_levels(info.scale_status)
    return at is not None and any(
        at[aspect] != level for aspect, level in known.items() if aspect in at
    )


def _note(vnf_instance: Any, seen: Seen) -> None:
    info = vnf_instance.instantiated_vnf_info
    info.vnfc_resource_info = resources.vnfc_resources(
        seen.members, info.vnfc_resource_info
    )
    at = levels(vnf_instance, seen)
    if at is None:
        LOG.warning(
            "the numbers of replicas are those of no scale level; "
            "scaleStatus stays as it is"
        )
        return
    for item in info.scale_status:
        item.scale_level = at.get(item.aspect_id, item.scale_level)


def busy(context: Any, vnf_instance: Any) -> str:
    """Why an instance is to be left alone; empty if Tacker has it at rest."""
    if (
        vnf_instance.instantiation_state
        != fields.VnfInstanceState.INSTANTIATED
    ):
        return "it is not instantiated"
    if vnf_instance.task_state is not None:
        return f"its task state is {vnf_instance.task_state}"
    if occurrences.failed(context, vnf_instance.id):
        return "its last operation failed"
    if occurrences.under_way(context, vnf_instance.id):
        return "an operation on it has begun"
    return ""


def _at_work(seen: Seen) -> str:
    if seen.inventory.phase is not Phase.INSTANTIATED:
        return f"its record says {seen.inventory.phase.value}"
    return f"{seen.holder} works on it" if seen.holder else ""


def _give_back(context: Any, vnf_instance_id: str) -> None:
    """Take our task state away, if it is still ours."""
    with contextlib.suppress(Exception):
        found = objects.VnfInstance.get_by_id(context, vnf_instance_id)
        if found.task_state == _SYNCHRONIZING:
            found.task_state = None
            found.save()
