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
from tacker_k8s_cr.driver import conf
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import occurrences_v2
from tacker_k8s_cr.driver.instances import Target
from tacker_k8s_cr.inventory import Inventory

LOG = logging.getLogger(__name__)

SECONDS = 10.0
"""For asking a VIM that may be away for good."""

_SECRETS = ("bearer_token", "password")
"""Without one of them there is no access to a VIM."""


def refuse(target: Target) -> None:
    """Raise InstanceExists if an earlier try may have left a record."""
    usual = conf.settings().record_namespace
    seen = {(_server(target.access), target.home, target.namespace)}
    for former in occurrences_v2.given_up(target.instance):
        access = former.access or target.access
        home = former.home or usual or former.namespace
        place = (_server(access), home, former.namespace)
        if place in seen:
            continue
        seen.add(place)
        if _server(access) == _server(target.access):
            # Who instantiates it now has the credential that counts.
            access = target.access
        else:
            access = occurrences_v2.current(access)
        other = dataclasses.replace(
            target, home=home, namespace=former.namespace, access=access
        )
        if access is target.access:
            _refuse_namespace(target, other)
        else:
            _refuse_vim(target, other)


def _refuse_namespace(target: Target, other: Target) -> None:
    found = _left(other)
    if found and (found.home, found.namespace) != (
        target.home,
        target.namespace,
    ):
        raise errors.InstanceExists(
            target.instance,
            f"of the namespace {found.namespace} has its record in namespace "
            f"{found.home}; wanted: the same again; found: namespace "
            f"{target.namespace}, record in {target.home}",
        )


def _refuse_vim(target: Target, other: Target) -> None:
    where = f"namespace {other.home} of {_name(other.access)}"
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
            f"has its record in {where}; wanted: the same VIM and namespace "
            f"again; found: namespace {target.home} of "
            f"{_name(target.access)}",
        )


def _left_on_vim(other: Target, where: str) -> bool:
    if not any(other.access.get(key) for key in _SECRETS):
        raise errors.RequestInvalid("Tacker has its credential no longer")
    try:
        return _left(other) is not None
    except (errors.RequestInvalid, errors.KubeconfigInvalid) as error:
        LOG.warning("%s; nothing can have been written to %s", error, where)
        return False


def _left(other: Target) -> Inventory | None:
    try:
        return instances.inventory(instances.located(other, SECONDS), SECONDS)
    except errors.Forbidden as error:
        LOG.warning(
            "%s; nothing of the instance %s counts as left there, since its "
            "record would have been read first",
            error,
            other.instance,
        )
        return None


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
