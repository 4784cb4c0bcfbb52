"""Tacker's v2 record of an instance, brought up to date with the cluster.

Tacker asks for it from time to time, first without its lock on the instance
and then, where something differs, with it.
"""

from __future__ import annotations

from collections.abc import Mapping
import logging
from typing import Any

from tacker.sol_refactored import objects
from tacker.sol_refactored.common import exceptions

from tacker_k8s_cr.driver import failures_v2
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import rounds
from tacker_k8s_cr.driver import script_changes
from tacker_k8s_cr.driver import translate_v2
from tacker_k8s_cr.driver.instances import Seen
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.package import numbers

LOG = logging.getLogger(__name__)


_ROUND = rounds.Round()
"""Tacker goes through all instances in one thread."""


def check(inst: Any, vim_info: Any) -> None:
    """Raise DbSyncNoDiff where there is nothing to do, as ``different``."""
    with failures_v2.not_synchronized(inst.id):
        target = translate_v2.target(inst, vim_info=vim_info)
        with _ROUND.looking(inst.id, target.access):
            different(inst, vim_info)


def different(inst: Any, vim_info: Any) -> Seen:
    """What is there, where Tacker knows something else.

    Raises DbSyncNoDiff where it does not, or where somebody works on the
    instance; Tacker asks again later.
    """
    target = translate_v2.target(inst, vim_info=vim_info)
    seen = instances.seen(target, rounds.SECONDS)
    if why := at_work(seen):
        LOG.info("%s: not synchronized: %s", inst.id, why)
        raise exceptions.DbSyncNoDiff(why)
    if not differs(inst, seen):
        raise exceptions.DbSyncNoDiff("no VNFC and no scale level differs")
    return seen


def synchronize(inst: Any, vim_info: Any) -> None:
    """Note VNFCs and scale levels; those as they are where none fits."""
    with failures_v2.not_synchronized(inst.id):
        target = translate_v2.target(inst, vim_info=vim_info)
        adopted = script_changes.adopt_v2(inst, target)
        if adopted:
            seen = instances.seen(target, rounds.SECONDS)
        else:
            seen = different(inst, vim_info)
    translate_v2.note_vdus(inst, seen.inventory)
    translate_v2.note_members(inst, seen.members)
    levels = levels_there(inst, seen)
    if levels is None:
        LOG.warning(
            "%s: the numbers of replicas are those of no scale level; "
            "scaleStatus stays as it is",
            inst.id,
        )
        return
    note_levels(inst, levels)


# -- Pure --------------------------------------------------------------------


def at_work(seen: Seen) -> str:
    """Why an instance is not at rest; empty if it is."""
    if seen.inventory.phase is not Phase.INSTANTIATED:
        return f"its record says {seen.inventory.phase.value}"
    return f"{seen.holder} works on it" if seen.holder else ""


def differs(inst: Any, seen: Seen) -> bool:
    """Whether VNFCs or scale levels are others than Tacker knows."""
    info = inst.instantiatedVnfInfo
    noted = {vnfc.id for vnfc in info.get("vnfcResourceInfo", None) or ()}
    there = {item.uid for items in seen.members.values() for item in items}
    if script_changes.has_other_descriptor(seen.inventory, inst.vnfdId):
        return True
    return noted != there or levels_there(inst, seen) not in (
        None,
        translate_v2.scale_levels(inst),
    )


def levels_there(inst: Any, seen: Seen) -> dict[str, int] | None:
    """The scale levels by the numbers that the objects ask for now.

    None where the numbers are those of no level.
    """
    before = translate_v2.scale_levels(inst)
    vnfd = seen.inventory.vnfd
    if vnfd is None:
        return before
    asked = {vdu: n for vdu, n in seen.numbers.items() if n is not None}
    found = numbers.levels_of(vnfd, before, asked)
    if found is None:
        return None
    return {a: found.get(a, level) for a, level in before.items()}


def note_levels(inst: Any, levels: Mapping[str, int]) -> None:
    if levels:
        inst.instantiatedVnfInfo.scaleStatus = [
            objects.ScaleInfoV2(aspectId=aspect, scaleLevel=level)
            for aspect, level in levels.items()
        ]
