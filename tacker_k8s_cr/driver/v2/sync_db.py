"""Synchronize Tacker's v2 database with the cluster.

Tacker calls it periodically, first without its lock on the instance and then,
if something differs, with it.
"""

from __future__ import annotations

from collections.abc import Mapping
import logging
from typing import Any

from tacker.sol_refactored import objects
from tacker.sol_refactored.common import exceptions

from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import script_changes
from tacker_k8s_cr.driver import sync_round
from tacker_k8s_cr.driver import synchronization
from tacker_k8s_cr.driver.instances import InstanceView
from tacker_k8s_cr.driver.v2 import mapping
from tacker_k8s_cr.driver.v2 import modification
from tacker_k8s_cr.driver.v2 import problem_details

LOG = logging.getLogger(__name__)


_ROUND = sync_round.SyncRound()
"""Tacker goes through all instances in one thread."""


def check(inst: Any, vim_info: Any) -> None:
    """Raise DbSyncNoDiff if nothing differs."""
    with problem_details.not_synchronized(inst.id):
        target = mapping.target(inst, vim_info=vim_info)
        with _ROUND.inspect(inst.id, target.access):
            changed_view(inst, vim_info)


def changed_view(inst: Any, vim_info: Any) -> InstanceView:
    """Return the live state if it differs from Tacker's database.

    Raises DbSyncNoDiff if it does not, or while an operation is in progress;
    Tacker repeats the check later.
    """
    target = mapping.target(inst, vim_info=vim_info)
    seen = instances.inspect(target, sync_round.SECONDS)
    if why := synchronization.busy_reason(seen):
        LOG.info("%s: not synchronized: %s", inst.id, why)
        raise exceptions.DbSyncNoDiff(why)
    if not is_changed(inst, seen):
        raise exceptions.DbSyncNoDiff("no VNFC and no scale level differs")
    return seen


def synchronize(inst: Any, vim_info: Any) -> None:
    """Store VNFCs and, if they match a level, scale levels."""
    with problem_details.not_synchronized(inst.id):
        target = mapping.target(inst, vim_info=vim_info)
        adopted = modification.adopt(inst, target)
        if adopted:
            seen = instances.inspect(target, sync_round.SECONDS)
        else:
            seen = changed_view(inst, vim_info)
    mapping.note_vdus(inst, seen.inventory)
    mapping.note_members(inst, seen.members)
    levels = synchronization.live_levels(mapping.scale_levels(inst), seen)
    if levels is None:
        LOG.warning(synchronization.NO_LEVEL, inst.id)
        return
    note_levels(inst, levels)


# -- Pure --------------------------------------------------------------------


def is_changed(inst: Any, seen: InstanceView) -> bool:
    """Return whether VNFCs or scale levels differ from the database."""
    info = inst.instantiatedVnfInfo
    noted = {vnfc.id for vnfc in info.get("vnfcResourceInfo", None) or ()}
    live = {item.uid for items in seen.members.values() for item in items}
    if script_changes.has_other_descriptor(seen.inventory, inst.vnfdId):
        return True
    return noted != live or synchronization.is_level_changed(
        mapping.scale_levels(inst), seen
    )


def note_levels(inst: Any, levels: Mapping[str, int]) -> None:
    if levels:
        inst.instantiatedVnfInfo.scaleStatus = [
            objects.ScaleInfoV2(aspectId=aspect, scaleLevel=level)
            for aspect, level in levels.items()
        ]
