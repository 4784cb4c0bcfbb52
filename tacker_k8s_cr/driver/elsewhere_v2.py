"""What instantiations that were given up have left somewhere else.

Tacker forgets an instantiation that is marked as failed. The next one may
name another VIM or another namespace; nobody would look at the former again.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import logging
from typing import Any
import urllib.parse

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import occurrences_v2
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver.operations import Target

LOG = logging.getLogger(__name__)

SECONDS = 10.0
"""For asking a VIM that may be away for good."""

_SECRETS = ("bearer_token", "password")
"""Without one of them there is no access to a VIM."""


def refuse(target: Target) -> None:
    """Raise InstanceExists if an earlier try may have left a record."""
    seen = {(_server(target.access), target.namespace)}
    for former in occurrences_v2.given_up(target.instance):
        access = former.access or target.access
        place = (_server(access), former.namespace)
        if place in seen:
            continue
        seen.add(place)
        if _server(access) == _server(target.access):
            # Who instantiates it now has the credential that counts.
            access = target.access
        else:
            access = occurrences_v2.current(access)
        other = dataclasses.replace(
            target, namespace=former.namespace, access=access
        )
        if access is target.access:
            _refuse_namespace(target, other)
        else:
            _refuse_vim(target, other)


def _refuse_namespace(target: Target, other: Target) -> None:
    if _left(other):
        raise errors.InstanceExists(
            target.instance,
            f"has objects in namespace {other.namespace}; wanted: the same "
            f"namespace again; found: {target.namespace}",
        )


def _refuse_vim(target: Target, other: Target) -> None:
    where = f"namespace {other.namespace} of {_name(other.access)}"
    try:
        left = _left_on_vim(other, where)
    except errors.Error as error:
        raise errors.InstanceExists(
            target.instance,
            f"may have objects in {where}, from an instantiation that "
            "failed and was not rolled back, and these cannot be looked "
            f"for: {error.sentence()}; wanted: the same VIM again, or "
            "another VNF instance",
        ) from error
    if left:
        raise errors.InstanceExists(
            target.instance,
            f"has objects in {where}; wanted: the same VIM and namespace "
            f"again; found: namespace {target.namespace} of "
            f"{_name(target.access)}",
        )


def _left_on_vim(other: Target, where: str) -> bool:
    if not any(other.access.get(key) for key in _SECRETS):
        raise errors.RequestInvalid("Tacker has its credential no longer")
    try:
        return _left(other)
    except (errors.RequestInvalid, errors.KubeconfigInvalid) as error:
        LOG.warning("%s; nothing can have been written to %s", error, where)
        return False


def _left(other: Target) -> bool:
    try:
        return operations.inventory(other, SECONDS) is not None
    except errors.Forbidden as error:
        LOG.warning(
            "%s; nothing of the instance %s counts as left there, since its "
            "record would have been read first",
            error,
            other.instance,
        )
        return False


def _server(access: Mapping[str, Any]) -> str:
    return str(access.get("auth_url") or "").rstrip("/")


def _name(access: Mapping[str, Any]) -> str:
    """The VIM by its id, or by its host; a URL may hold more than that."""
    if named := access.get("vim_id"):
        return f"VIM {named}"
    try:
        host = urllib.parse.urlsplit(_server(access)).hostname
    except ValueError:
        host = None
    return f"the VIM at {host or 'an unknown host'}"
