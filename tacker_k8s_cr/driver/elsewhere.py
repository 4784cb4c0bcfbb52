"""What an instantiation that was given up has left somewhere else, in v1.

Tacker forgets it. The next one may name another VIM or another namespace;
nobody would look at the former again.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import logging
from typing import Any

from tacker.common import exceptions

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import translate
from tacker_k8s_cr.driver.instances import Target

LOG = logging.getLogger(__name__)

SECONDS = 10.0
"""For asking a VIM that may be away for good."""


def refuse(context: Any, vnf_instance: Any, target: Target) -> None:
    """Raise InstanceExists if an earlier try may have left a record."""
    if not translate.noted(vnf_instance):
        return
    vim = translate.noted_vim(vnf_instance)
    former = translate.target(None, target.access, vnf_instance)
    if vim in ("", target.access.get("vim_id")):
        _refuse_namespace(former, target)
        return
    # The same cluster may have been registered anew, with another address.
    if _left(former):
        _refuse_namespace(former, target)
        return
    where = f"namespace {former.home} of VIM {vim}"
    try:
        left = _left_on_vim(context, vim, former, where)
    except errors.Error as error:
        raise errors.InstanceExists(
            target.instance,
            f"may have objects in {where}, from an earlier instantiation, "
            f"and these cannot be looked for: {error}; wanted: the same VIM "
            "again, or another VNF instance",
        ) from error
    if left:
        raise errors.InstanceExists(
            target.instance,
            f"has its record in {where}; wanted: the same VIM and namespace "
            f"again; found: namespace {target.home} of VIM "
            f"{target.access.get('vim_id')}",
        )


def readable(target: Target) -> bool:
    """Whether the VIM lets us read the record, if there is one.

    An instantiation reads it before it writes anything: where it may not,
    it has left nothing.
    """
    try:
        instances.inventory(target)
    except errors.Forbidden as error:
        _warn(error, target)
        return False
    return True


def _refuse_namespace(former: Target, target: Target) -> None:
    if former.home != target.home and _left(former):
        raise errors.InstanceExists(
            target.instance,
            f"has its record in namespace {former.home}; wanted: the same "
            f"namespace again; found: {target.home}",
        )


def _left_on_vim(context: Any, vim: str, former: Target, where: str) -> bool:
    """Whether there is a record on another VIM than that of the request."""
    access = _access(context, vim)
    if access.get("auth_url") == former.access.get("auth_url"):
        return False
    try:
        return _left(dataclasses.replace(former, access=access))
    except (errors.RequestInvalid, errors.KubeconfigInvalid) as error:
        LOG.warning("%s; nothing can have been written to %s", error, where)
        return False


def _access(context: Any, vim: str) -> Mapping[str, Any]:
    # Imported here: it is slow, and hardly ever needed.
    from tacker.vnfm import vim_client

    try:
        found = vim_client.VimClient().get_vim(context, vim)
    except exceptions.TackerException as error:
        raise errors.RequestInvalid(
            f"Tacker does not give the access information of VIM {vim}: "
            f"{type(error).__name__}"
        ) from error
    return {**found["vim_auth"], "vim_id": vim}


def _left(target: Target) -> bool:
    try:
        return instances.inventory(target, SECONDS) is not None
    except errors.Forbidden as error:
        _warn(error, target)
        return False


def _warn(error: errors.Forbidden, target: Target) -> None:
    LOG.warning(
        "%s; nothing of the instance counts as left in namespace %s, since "
        "its record would have been read first",
        error,
        target.home,
    )
