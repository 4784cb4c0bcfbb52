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

    :param home: the namespace that it named for its record, if any.
    :param access: its VIM, with v1's keys; empty if only a grant named it,
        which Tacker deletes.
    """

    namespace: str
    home: str
    access: Mapping[str, Any] = dataclasses.field(repr=False)


def abandoned_attempts(instance: str) -> tuple[FailedAttempt, ...]:
    """Return failed instantiations, whose objects may still exist."""
    found = objects.VnfLcmOpOccV2.get_by_filter(
        contexts.get_admin_context(),
        vnfInstanceId=instance,
        operation=fields.LcmOperationType.INSTANTIATE,
        operationState=fields.LcmOperationStateType.FAILED,
    )
    return tuple(
        FailedAttempt(
            *_places(item.operationParams), _access(item.operationParams)
        )
        for item in found
    )


def current(access: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the current access to a VIM from Tacker's database.

    An operation that has ended has the credential of that time, or none if
    Tacker encrypts credentials.
    """
    context = contexts.get_admin_context()
    with contextlib.suppress(exceptions.VimNotFound, ValueError):
        # Any other is none of the database.
        uuid.UUID(str(access.get("vim_id")))
        found = vim.access(vim_utils.get_vim(context, access["vim_id"]))
        if found["auth_url"] == access["auth_url"]:
            return found
    return access


def _places(req: Any) -> tuple[str, str]:
    """Return the namespaces of the instance and, if given, its record."""
    said = req.get("additionalParams", None) or {}
    ours = said.get("tacker_k8s_cr")
    home = ours.get("record_namespace") if isinstance(ours, dict) else ""
    return str(said.get("namespace") or "default"), str(home or "")


def _access(req: Any) -> Mapping[str, Any]:
    """Return the VIM of a request, or Tacker's default."""
    if named := req.get("vimConnectionInfo", None):
        found = vnf_instance_utils.select_vim_info(named)
    else:
        found = vim_utils.get_default_vim(contexts.get_admin_context())
    return vim.access(found) if found else {}
