"""Translate requests and records of Tacker's v1 API."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from tacker import objects
from tacker.objects import fields

from tacker_k8s_cr.driver import references
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.package import replica_counts

NOTE = "tacker_k8s_cr"
"""Key of a VNF instance's metadata, beside those of Tacker's own driver."""

NOTE_OF_VIM = "tacker_k8s_cr_vim"
"""The same for the id of the VIM, as long as something may be on it."""


# -- Where an instance is ----------------------------------------------------


def is_our_reference(instance_id: str) -> bool:
    """Return whether Tacker's ``instance_id`` is of this driver."""
    return references.parse(instance_id) is not None


def parse_reference(
    instance_id: str | None, vnf_instance: Any = None
) -> tuple[str, str]:
    """Return the instance and the namespace of its record.

    If an instantiation ended early Tacker has no ``instance_id``, but the
    note on the VNF instance.

    Raises RequestInvalid for the ``instance_id`` of another driver, whose
    objects would be left otherwise.
    """
    if not instance_id and vnf_instance is not None:
        return vnf_instance.id, _noted_record_namespace(vnf_instance)
    parsed = references.parse(instance_id or "")
    if parsed is None:
        raise RequestInvalid(
            "the VNF instance was instantiated by another driver, and "
            "kubernetes_cr cannot operate on it"
        )
    return parsed


def target(
    instance_id: str | None,
    access: Mapping[str, Any],
    vnf_instance: Any = None,
) -> InstanceTarget:
    """Return the instance of a call, on its VIM."""
    return InstanceTarget(*parse_reference(instance_id, vnf_instance), access)


def target_of(vnf_instance: Any, vim_connection_info: Any) -> InstanceTarget:
    info = vnf_instance.instantiated_vnf_info
    instance_id = info.instance_id if info else None
    return target(instance_id, access(vim_connection_info), vnf_instance)


def access(vim_connection_info: Any) -> Mapping[str, Any]:
    """Return the decrypted access information with the id of the VIM."""
    return {
        **vim_connection_info.access_info,
        "vim_id": vim_connection_info.vim_id,
    }


def noted_reference(vnf_instance: Any) -> str:
    """Return the reference that was noted before the first write."""
    return str((vnf_instance.vnf_metadata or {}).get(NOTE) or "")


def noted_vim(vnf_instance: Any) -> str:
    """Return the id of the VIM that may have objects of the instance."""
    return str((vnf_instance.vnf_metadata or {}).get(NOTE_OF_VIM) or "")


def choose_record_namespace(vnf_instance: Any, requested: str) -> str:
    """Return the namespace of the record, also during a heal.

    :param requested: by the request or the configuration.
    """
    if is_healing(vnf_instance) and noted_reference(vnf_instance):
        return _noted_record_namespace(vnf_instance)
    return requested


def _noted_record_namespace(vnf_instance: Any) -> str:
    """Return the noted namespace; a user may have changed the note.

    Raises RequestInvalid where it names another instance.
    """
    mark = noted_reference(vnf_instance)
    if not mark:
        return "default"
    parsed = references.parse(mark)
    if parsed is None or parsed[0] != vnf_instance.id:
        raise RequestInvalid(
            f"{NOTE} of the VNF instance's metadata does not name the "
            f"instance; expected NAMESPACE/{vnf_instance.id}"
        )
    return parsed[1]


def note_reference(
    vnf_instance: Any, target: InstanceTarget, vim_id: str
) -> bool:
    """Note the reference and the namespace, which Tacker's code reads.

    The note distinguishes instances of this driver as long as they have no
    ``instance_id``. Return whether it changed: during a heal Tacker's object
    does not have all values that its database must keep.
    """
    before = vnf_instance.vnf_metadata or {}
    vnf_instance.vnf_metadata = {
        **before,
        "namespace": target.namespace,
        "tenant": target.namespace,
        NOTE: references.format_reference(
            vnf_instance.id, target.record_namespace
        ),
        NOTE_OF_VIM: vim_id,
    }
    return bool(before != vnf_instance.vnf_metadata)


def forget_vim(vnf_instance: Any) -> bool:
    """Remove the note of the VIM; return whether there was one."""
    before = vnf_instance.vnf_metadata or {}
    if NOTE_OF_VIM not in before:
        return False
    vnf_instance.vnf_metadata = {
        key: value for key, value in before.items() if key != NOTE_OF_VIM
    }
    return True


def is_healing(vnf_instance: Any) -> bool:
    """Return whether a termination or instantiation is half of a heal.

    Tacker heals a whole instance by both, without a flag. The instance
    is INSTANTIATED all the while, which it is not in an instantiation or
    its rollback; in its termination the task state shows it.
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
    """Return the timeout of a graceful termination; 0 for a forceful one.

    None is for the grace period of each object.
    """
    if terminate_vnf_req is None:
        return None
    if terminate_vnf_req.termination_type != "GRACEFUL":
        return 0
    seconds: int | None = terminate_vnf_req.graceful_termination_timeout
    return seconds


def initial_levels(
    package: Package, vnfd_dict: Mapping[str, Any], instantiate_vnf_req: Any
) -> dict[str, int]:
    """Return the initial scale levels: before a heal, else requested."""
    if kept := scale_levels(vnfd_dict.get("scale_status")):
        return kept
    if package.vnfd is None:
        return {}
    level = instantiate_vnf_req.instantiation_level_id or ""
    return replica_counts.scale_levels(package.vnfd, level)


def scale_levels(scale_status: Iterable[Any] | None) -> dict[str, int]:
    """Return the level of each aspect, from ``ScaleInfo`` records."""
    return {item.aspect_id: item.scale_level for item in scale_status or ()}


def scale_status(levels: Mapping[str, int]) -> list[Any]:
    return [
        objects.ScaleInfo(aspect_id=aspect, scale_level=level)
        for aspect, level in levels.items()
    ]
