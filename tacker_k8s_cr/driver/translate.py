"""Tacker's requests and records <-> our values."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import re
from typing import Any
import uuid

from tacker import objects
from tacker.objects.fields import ErrorPoint

from tacker_k8s_cr.driver.conf import Settings
from tacker_k8s_cr.driver.request import Asked
from tacker_k8s_cr.errors import RequestInvalid
from tacker_k8s_cr.members import Member
from tacker_k8s_cr.operation import Options
from tacker_k8s_cr.package import numbers
from tacker_k8s_cr.package.model import Package

TOUCHED = ErrorPoint.POST_VIM_CONTROL
"""What the error point must be for Tacker's rollback to delete anything."""

_REFERENCE = re.compile(r"([-a-z0-9]{1,63})/([-0-9a-f]{36})")
_MEMBERS = uuid.UUID("6f2c3f0e-9d0a-5f6c-8b58-0c1f4f2d7f43")
"""Of the ids that we make of the UIDs of Pods and Machines."""


# -- Where an instance is ----------------------------------------------------


def reference(instance: str, namespace: str) -> str:
    """What Tacker keeps as ``instance_id``: where the record lies."""
    return f"{namespace}/{instance}"


def place(
    instance_id: str | None, vnf_instance: Any = None
) -> tuple[str, str]:
    """The instance and its namespace.

    When an instantiation ended early Tacker has no ``instance_id``, but the
    namespace that was noted on the VNF instance before.

    Raises RequestInvalid for the ``instance_id`` of another driver: saying
    that there is nothing would leave its objects behind.
    """
    if instance_id:
        found = _REFERENCE.fullmatch(instance_id)
        if found is None:
            raise RequestInvalid(
                "the VNF instance was instantiated by another driver, and "
                "kubernetes_cr cannot operate on it"
            )
        return found[2], found[1]
    return vnf_instance.id, noted_namespace(vnf_instance)


def noted_namespace(vnf_instance: Any) -> str:
    metadata = vnf_instance.vnf_metadata or {}
    return str(metadata.get("namespace") or "default")


def note_namespace(vnf_instance: Any, namespace: str) -> None:
    """Where Tacker's own code looks for it, too."""
    vnf_instance.vnf_metadata = {
        **(vnf_instance.vnf_metadata or {}),
        "namespace": namespace,
        "tenant": namespace,
    }


# -- What is asked for -------------------------------------------------------


def options(
    asked: Asked, settings: Settings, grace_seconds: int | None = None
) -> Options:
    """The request's choices, else those of the configuration."""
    return Options(
        dry_run=settings.dry_run if asked.dry_run is None else asked.dry_run,
        conflict=asked.conflict or settings.conflict,
        dwell=settings.blocked_after,
        grace_seconds=grace_seconds,
    )


def grace_seconds(terminate_vnf_req: Any) -> int | None:
    """The time-out of a graceful termination; None for any other."""
    if terminate_vnf_req is None:
        return None
    if terminate_vnf_req.termination_type != "GRACEFUL":
        return None
    seconds: int | None = terminate_vnf_req.graceful_termination_timeout
    return seconds


def first_levels(
    package: Package, vnfd_dict: Mapping[str, Any], instantiate_vnf_req: Any
) -> dict[str, int]:
    """The scale levels to begin with: before a heal, else the request's."""
    if kept := scale_levels(vnfd_dict.get("scale_status")):
        return kept
    if package.vnfd is None:
        return {}
    level = instantiate_vnf_req.instantiation_level_id or ""
    return numbers.at_level(package.vnfd, level)[0]


def scale_levels(scale_status: Iterable[Any] | None) -> dict[str, int]:
    """The level of each aspect, from Tacker's ``ScaleInfo`` records."""
    return {item.aspect_id: item.scale_level for item in scale_status or ()}


def scale_status(levels: Mapping[str, int]) -> list[Any]:
    return [
        objects.ScaleInfo(aspect_id=aspect, scale_level=level)
        for aspect, level in levels.items()
    ]


# -- What there is -----------------------------------------------------------


def vnfc_resources(members: Mapping[str, Iterable[Member]]) -> list[Any]:
    """Tacker's record of each Pod or Machine.

    Its id comes from the object's UID: Tacker asks several times for each
    operation, and takes another id for another VNFC.
    """
    return [
        objects.VnfcResourceInfo(
            id=str(uuid.uuid5(_MEMBERS, member.uid)),
            vdu_id=vdu,
            compute_resource=objects.ResourceHandle(
                resource_id=member.ref.name,
                vim_level_resource_type=member.owner.kind,
            ),
            metadata=_metadata(member),
            storage_resource_ids=[],
            vnfc_cp_info=[],
        )
        for vdu, found in members.items()
        for member in found
    ]


def _metadata(member: Member) -> dict[str, str]:
    known = {
        "kind": member.ref.kind,
        "namespace": member.ref.namespace,
        "uid": member.uid,
        "owner": member.owner.name,
        "node": member.node,
    }
    return {key: value for key, value in known.items() if value}
