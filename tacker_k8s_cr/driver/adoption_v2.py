"""Adopt an instance of Tacker's own driver in the v2 API."""

from __future__ import annotations

import logging
from typing import Any

from tacker_k8s_cr.driver import adoption
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.driver import script_changes
from tacker_k8s_cr.driver import translate_v2
from tacker_k8s_cr.driver.instances import Target

LOG = logging.getLogger(__name__)


def is_wanted(inst: Any) -> bool:
    """Whether a synchronization is to adopt an instance."""
    return adoption.is_enabled() and is_possible(inst)


def is_possible(inst: Any) -> bool:
    """Whether Tacker's own driver made the instance from manifests."""
    info = inst.get("instantiatedVnfInfo", None)
    metadata = (info and info.get("metadata", None)) or {}
    return request.FILES in metadata and not translate_v2.is_ours(inst)


def adopt(inst: Any, vim_info: Any) -> None:
    """Adopt the objects, and note in the instance that it is ours.

    The caller holds Tacker's lock on the instance, and stores it.

    :raises Error: any of ``errors``; nothing is noted then.
    """
    info = inst.instantiatedVnfInfo
    metadata = info.metadata
    namespace = str(metadata.get("namespace") or "default")
    asked = request.Asked(
        files=tuple(metadata[request.FILES]), namespace=namespace
    )
    home = instances.home(asked)
    target = translate_v2.target(
        inst, home=home, namespace=namespace, vim_info=vim_info
    )
    former = adoption.Former(
        script_changes.package_path(inst),
        info.flavourId,
        asked,
        translate_v2.scale_levels(inst),
    )
    adoption.adopt(target, former)
    _note(inst, target)
    LOG.info("%s: adopted from Tacker's own driver", inst.id)


def _note(inst: Any, target: Target) -> None:
    inventory, found = instances.members(target)
    translate_v2.note_record(inst, target.home)
    translate_v2.note_members(inst, found)
    translate_v2.note_vdus(inst, inventory)
