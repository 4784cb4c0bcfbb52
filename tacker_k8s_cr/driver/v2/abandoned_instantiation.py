"""Refuse an instantiation that would abandon an earlier attempt, in v2."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any
import urllib.parse

from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import earlier_attempt
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.v2 import lcm_op_occs
from tacker_k8s_cr.model import errors

_SECRETS = ("bearer_token", "password")
"""Without one of them there is no access to a VIM."""


def check_abandoned(target: InstanceTarget) -> None:
    """Raise InstanceConflict if an earlier attempt may have left a record."""
    configured = configuration.settings().record_namespace
    seen = {
        (_server(target.access), target.record_namespace, target.namespace)
    }
    for failed in lcm_op_occs.abandoned_attempts(target.instance):
        access = failed.access or target.access
        record_namespace = (
            failed.record_namespace or configured or failed.namespace
        )
        location = (_server(access), record_namespace, failed.namespace)
        if location in seen:
            continue
        seen.add(location)
        same_server = _server(access) == _server(target.access)
        # For the same server, the credential of the new request counts.
        attempt = dataclasses.replace(
            target,
            record_namespace=record_namespace,
            namespace=failed.namespace,
            access=target.access
            if same_server
            else lcm_op_occs.current_access(access),
        )
        if same_server:
            inventory = earlier_attempt.find_record(attempt, search=True)
            earlier_attempt.check_namespace(target, inventory)
        else:
            _check_vim(target, attempt)


def _check_vim(target: InstanceTarget, attempt: InstanceTarget) -> None:
    name = _name(attempt.access)
    if not any(attempt.access.get(key) for key in _SECRETS):
        error = errors.RequestInvalid("Tacker no longer has its credential")
        raise earlier_attempt.unverified_error(target, attempt, name, error)
    earlier_attempt.check_vim(
        target, _name(target.access), attempt, name, search=True
    )


def _server(access: Mapping[str, Any]) -> str:
    return str(access.get("auth_url") or "").rstrip("/")


def _name(access: Mapping[str, Any]) -> str:
    """Return the id of the VIM, or its host; its URL may contain a secret."""
    if named := access.get("vim_id"):
        return f"VIM {named}"
    try:
        host = urllib.parse.urlsplit(_server(access)).hostname
    except ValueError:
        host = None
    return f"the VIM at {host or 'an unknown host'}"
