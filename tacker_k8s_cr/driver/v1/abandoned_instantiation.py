"""Refuse an instantiation that would abandon an earlier attempt, in v1."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker.common import exceptions

from tacker_k8s_cr.driver import earlier_attempt
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.v1 import mapping
from tacker_k8s_cr.model import errors


def check_abandoned(
    context: Any, vnf_instance: Any, target: InstanceTarget
) -> None:
    """Raise InstanceConflict if an earlier attempt may have left a record."""
    if not mapping.noted_reference(vnf_instance):
        return
    vim = mapping.noted_vim(vnf_instance)
    attempt = mapping.target(None, target.access, vnf_instance)
    is_same_vim = vim in ("", target.access.get("vim_id"))
    is_same_home = attempt.record_namespace == target.record_namespace
    if is_same_vim and is_same_home:
        return
    # Also for another VIM: the same cluster may be registered again.
    inventory = earlier_attempt.find_record(attempt)
    if not is_same_home:
        earlier_attempt.check_namespace(target, inventory)
    if inventory or is_same_vim:
        return
    try:
        access = _access(context, vim)
    except errors.Error as error:
        raise earlier_attempt.unverified_error(
            target, attempt, f"VIM {vim}", error
        ) from error
    if access.get("auth_url") != target.access.get("auth_url"):
        earlier_attempt.check_vim(
            target,
            f"VIM {target.access.get('vim_id')}",
            dataclasses.replace(attempt, access=access),
            f"VIM {vim}",
        )


def is_readable(target: InstanceTarget) -> bool:
    """Return whether the record may be read; if not, nothing was written."""
    try:
        instances.find_inventory(target)
    except errors.Forbidden as error:
        earlier_attempt.log_forbidden(error, target)
        return False
    return True


def _access(context: Any, vim: str) -> Mapping[str, Any]:
    # Imported here: it is slow, and rarely needed.
    from tacker.vnfm import vim_client

    try:
        current = vim_client.VimClient().get_vim(context, vim)
    except exceptions.TackerException as error:
        raise errors.RequestInvalid(
            f"Tacker does not return the access information of VIM {vim}: "
            f"{type(error).__name__}"
        ) from error
    return {**current["vim_auth"], "vim_id": vim}
