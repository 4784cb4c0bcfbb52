"""Read operations on an instance from Tacker's v2 database."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses
from typing import Any
import uuid

from tacker import context as contexts
from tacker.sol_refactored import objects
from tacker.sol_refactored.common import exceptions
from tacker.sol_refactored.common import vim_utils
from tacker.sol_refactored.common import vnf_instance_utils
from tacker.sol_refactored.objects.v2 import fields

from tacker_k8s_cr.driver import vim


@dataclasses.dataclass(frozen=True)
class FailedAttempt:
    """An instantiation that failed and was not rolled back.

    :param record_namespace: that it named for its record, if any.
    :param access: its VIM, with v1's keys; empty if only a grant named it,
        which Tacker deletes.
    """

    namespace: str
    record_namespace: str
    access: Mapping[str, Any] = dataclasses.field(repr=False)


def abandoned_attempts(instance: str) -> tuple[FailedAttempt, ...]:
    """Return failed instantiations, whose objects may still exist."""
    operations = objects.VnfLcmOpOccV2.get_by_filter(
        contexts.get_admin_context(),
        vnfInstanceId=instance,
        operation=fields.LcmOperationType.INSTANTIATE,
        operationState=fields.LcmOperationStateType.FAILED,
    )
    return tuple(
        FailedAttempt(
            *_namespaces(item.operationParams), _access(item.operationParams)
        )
        for item in operations
    )


def current_access(access: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the current access to a VIM from Tacker's database.

    An operation that has ended has the credential of that time, or none if
    Tacker encrypts credentials.
    """
    context = contexts.get_admin_context()
    with contextlib.suppress(exceptions.VimNotFound, ValueError):
        # Any other is none of the database.
        uuid.UUID(str(access.get("vim_id")))
        stored = vim.access(vim_utils.get_vim(context, access["vim_id"]))
        if stored["auth_url"] == access["auth_url"]:
            return stored
    return access


def _namespaces(req: Any) -> tuple[str, str]:
    """Return the namespaces of the instance and, if given, its record."""
    params = req.get("additionalParams", None) or {}
    own = params.get("tacker_k8s_cr")
    record_namespace = (
        own.get("record_namespace") if isinstance(own, dict) else ""
    )
    return str(params.get("namespace") or "default"), str(
        record_namespace or ""
    )


def _access(req: Any) -> Mapping[str, Any]:
    """Return the VIM of a request, or Tacker's default."""
    if named := req.get("vimConnectionInfo", None):
        vim_info = vnf_instance_utils.select_vim_info(named)
    else:
        vim_info = vim_utils.get_default_vim(contexts.get_admin_context())
    return vim.access(vim_info) if vim_info else {}
