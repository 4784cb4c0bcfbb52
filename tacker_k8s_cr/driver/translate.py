"""Tacker's requests and records <-> our values."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import re
from typing import Any

from tacker import objects
from tacker.objects import fields

from tacker_k8s_cr.driver.instances import Target
from tacker_k8s_cr.errors import RequestInvalid
from tacker_k8s_cr.package import numbers
from tacker_k8s_cr.package.model import Package

NOTE = "tacker_k8s_cr"
"""Key of a VNF instance's metadata, beside those of Tacker's own driver."""

NOTE_OF_VIM = "tacker_k8s_cr_vim"
"""The same for the id of the VIM, as long as something may be on it."""

_REFERENCE = re.compile(r"([-a-z0-9]{1,63})/([-0-9a-f]{36})")


# -- Where an instance is ----------------------------------------------------


def reference(instance: str, home: str) -> str:
    """What Tacker keeps as ``instance_id``: where the record lies."""
    return f"{home}/{instance}"


def ours(instance_id: str) -> bool:
    """Whether Tacker's ``instance_id`` is one that we gave."""
    return _REFERENCE.fullmatch(instance_id) is not None


def place(
    instance_id: str | None, vnf_instance: Any = None
) -> tuple[str, str]:
    """The instance and the namespace of its record.

    When an instantiation ended early Tacker has no ``instance_id``, but
    what was noted on the VNF instance before.

    Raises RequestInvalid for the ``instance_id`` of another driver: saying
    that there is nothing would leave its objects behind.
    """
    if not instance_id and vnf_instance is not None:
        return vnf_instance.id, _noted_home(vnf_instance)
    found = _REFERENCE.fullmatch(instance_id or "")
    if found is None:
        raise RequestInvalid(
            "the VNF instance was instantiated by another driver, and "
            "kubernetes_cr cannot operate on it"
        )
    return found[2], found[1]


def target(
    instance_id: str | None,
    access: Mapping[str, Any],
    vnf_instance: Any = None,
) -> Target:
    """The instance that a call is about, on its VIM."""
    return Target(*place(instance_id, vnf_instance), access)


def target_of(vnf_instance: Any, vim_connection_info: Any) -> Target:
    info = vnf_instance.instantiated_vnf_info
    instance_id = info.instance_id if info else None
    return target(instance_id, access(vim_connection_info), vnf_instance)


def access(vim_connection_info: Any) -> Mapping[str, Any]:
    """The decrypted access information, and which VIM it is."""
    return {
        **vim_connection_info.access_info,
        "vim_id": vim_connection_info.vim_id,
    }


def noted(vnf_instance: Any) -> str:
    """The reference that was noted before anything was written."""
    return str((vnf_instance.vnf_metadata or {}).get(NOTE) or "")


def noted_vim(vnf_instance: Any) -> str:
    """The id of the VIM that may have something of the instance."""
    return str((vnf_instance.vnf_metadata or {}).get(NOTE_OF_VIM) or "")


def home(vnf_instance: Any, asked: str) -> str:
    """Where the record lies amid a heal, or is to lie.

    :param asked: as the request, or the configuration, has it now.
    """
    if healing(vnf_instance) and noted(vnf_instance):
        return _noted_home(vnf_instance)
    return asked


def _noted_home(vnf_instance: Any) -> str:
    """Where the record was to lie. A user may have written what is noted.

    Raises RequestInvalid where it names another instance.
    """
    mark = noted(vnf_instance)
    if not mark:
        return "default"
    found = _REFERENCE.fullmatch(mark)
    if found is None or found[2] != vnf_instance.id:
        raise RequestInvalid(
            f"{NOTE} of the VNF instance's metadata does not name the "
            f"instance; wanted: NAMESPACE/{vnf_instance.id}"
        )
    return found[1]


def note(vnf_instance: Any, target: Target, vim_id: str) -> bool:
    """Whose the instance is, and where Tacker's own code looks for it.

    It tells our instances from those of another driver as long as Tacker
    has no ``instance_id`` of them. Returns whether that is new: amid a heal
    Tacker's record has lost what must not be lost in its database.
    """
    before = vnf_instance.vnf_metadata or {}
    vnf_instance.vnf_metadata = {
        **before,
        "namespace": target.namespace,
        "tenant": target.namespace,
        NOTE: reference(vnf_instance.id, target.home),
        NOTE_OF_VIM: vim_id,
    }
    return bool(before != vnf_instance.vnf_metadata)


def forget_vim(vnf_instance: Any) -> bool:
    """Note that nothing is left on the VIM; whether that is new."""
    before = vnf_instance.vnf_metadata or {}
    if NOTE_OF_VIM not in before:
        return False
    vnf_instance.vnf_metadata = {
        key: value for key, value in before.items() if key != NOTE_OF_VIM
    }
    return True


def healing(vnf_instance: Any) -> bool:
    """Whether a termination or an instantiation is half of a heal.

    Tacker heals a whole instance by both, and marks neither. The instance
    is INSTANTIATED all the while, which it is not in an instantiation or
    its rollback; in its termination the task state says so.
    """
    return bool(
        vnf_instance.instantiation_state
        == fields.VnfInstanceState.INSTANTIATED
    ) and vnf_instance.task_state in (
        fields.VnfInstanceTaskState.HEALING,
        fields.VnfInstanceTaskState.INSTANTIATING,
    )


# -- What is asked for -------------------------------------------------------


def grace_seconds(terminate_vnf_req: Any) -> int | None:
    """The time-out of a graceful termination; none for a forceful one.

    None leaves each object its own.
    """
    if terminate_vnf_req is None:
        return None
    if terminate_vnf_req.termination_type != "GRACEFUL":
        return 0
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
    return numbers.scale_levels(package.vnfd, level)


def scale_levels(scale_status: Iterable[Any] | None) -> dict[str, int]:
    """The level of each aspect, from Tacker's ``ScaleInfo`` records."""
    return {item.aspect_id: item.scale_level for item in scale_status or ()}


def scale_status(levels: Mapping[str, int]) -> list[Any]:
    return [
        objects.ScaleInfo(aspect_id=aspect, scale_level=level)
        for aspect, level in levels.items()
    ]
