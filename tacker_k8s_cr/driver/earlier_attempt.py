"""Refuse an instantiation whose earlier attempt left a record elsewhere.

Tacker forgets an instantiation that failed. The next request may name another
VIM or another namespace, where nothing would delete what the first one left.
"""

from __future__ import annotations

import logging

from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.plan.inventory import Inventory

LOG = logging.getLogger(__name__)

SECONDS = 10.0
"""Time to read a record on a VIM that may be unavailable permanently."""


def find_record(
    attempt: InstanceTarget, search: bool = False
) -> Inventory | None:
    """Return the record of an attempt, or None.

    An instantiation reads the record before it writes anything: if reading
    is forbidden, it has left nothing.

    :param search: the record may be in another namespace than ``home``.
    """
    try:
        if search:
            attempt = instances.locate_record(attempt, SECONDS)
        return instances.find_inventory(attempt, SECONDS)
    except errors.Forbidden as error:
        log_forbidden(error, attempt)
        return None


def log_forbidden(error: errors.Forbidden, attempt: InstanceTarget) -> None:
    """Log that nothing can be left where the record may not be read."""
    LOG.warning(
        "%s; assuming that nothing of instance %s is in namespace %s, since "
        "its record would have been read first",
        error,
        attempt.instance,
        attempt.record_namespace,
    )


def check_namespace(
    target: InstanceTarget, inventory: Inventory | None
) -> None:
    """Raise InstanceElsewhere for a record of other namespaces.

    :param target: of the request, on the VIM of the record.
    """
    requested = (target.record_namespace, target.namespace)
    if (
        inventory
        and (inventory.record_namespace, inventory.namespace) != requested
    ):
        raise errors.InstanceElsewhere(
            target.instance,
            _format_namespaces(
                inventory.namespace, inventory.record_namespace
            ),
            _format_namespaces(target.namespace, target.record_namespace),
        )


def check_vim(
    target: InstanceTarget,
    vim: str,
    attempt: InstanceTarget,
    other_vim: str,
    search: bool = False,
) -> None:
    """Raise InstanceConflict if an attempt left a record on another VIM.

    :param vim: of the request, for the message.
    :param other_vim: of the attempt, for the message.
    """
    location = f"namespace {attempt.record_namespace} of {other_vim}"
    try:
        inventory = find_record(attempt, search)
    except (errors.RequestInvalid, errors.KubeconfigInvalid) as error:
        LOG.warning("%s; nothing can have been written to %s", error, location)
        return
    except errors.Error as error:
        raise unverified_error(target, attempt, other_vim, error) from error
    if inventory:
        raise errors.InstanceElsewhere(
            target.instance,
            location,
            f"namespace {target.record_namespace} of {vim}",
        )


def unverified_error(
    target: InstanceTarget,
    attempt: InstanceTarget,
    other_vim: str,
    error: errors.Error,
) -> errors.AttemptUnverified:
    """Return the error for a VIM whose record cannot be read."""
    return errors.AttemptUnverified(
        target.instance,
        f"namespace {attempt.record_namespace} of {other_vim}",
        error.summary(),
    )


def _format_namespaces(namespace: str, record_namespace: str) -> str:
    return f"namespace {namespace} (record in namespace {record_namespace})"
