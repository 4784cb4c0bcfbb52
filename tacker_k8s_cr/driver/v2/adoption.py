"""Adopt an instance of Tacker's own driver in the v2 API."""

from __future__ import annotations

from typing import Any

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import adoption
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import schema
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.v2 import mapping
from tacker_k8s_cr.driver.v2 import modification


def is_wanted(inst: Any) -> bool:
    """Return whether a synchronization adopts an instance."""
    return adoption.is_enabled() and is_possible(inst)


def is_possible(inst: Any) -> bool:
    """Return whether Tacker's own driver created it from manifests."""
    info = inst.get("instantiatedVnfInfo", None)
    metadata = (info and info.get("metadata", None)) or {}
    return schema.FILES in metadata and not mapping.is_managed(inst)


def adopt(inst: Any, vim_info: Any) -> None:
    """Adopt the objects, and store the reference of the record.

    The caller holds Tacker's lock on the instance, and stores it.

    :raises Error: any of ``errors``; nothing is noted then.
    """
    info = inst.instantiatedVnfInfo
    metadata = info.metadata
    namespace = str(metadata.get("namespace") or "default")
    params = additional_params.RequestParams(
        files=tuple(metadata[schema.FILES]), namespace=namespace
    )
    record_namespace = instances.choose_record_namespace(params)
    target = mapping.target(
        inst,
        record_namespace=record_namespace,
        namespace=namespace,
        vim_info=vim_info,
    )
    former = adoption.UpstreamInstance(
        modification.package_path(inst),
        info.flavourId,
        params,
        mapping.scale_levels(inst),
    )
    adoption.adopt(target, former)
    _note(inst, target)


def _note(inst: Any, target: InstanceTarget) -> None:
    inventory, members = instances.read_members(target)
    mapping.note_record(inst, target.record_namespace)
    mapping.note_members(inst, members)
    mapping.note_vdus(inst, inventory)
