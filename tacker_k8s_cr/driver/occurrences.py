"""Tacker's record of an operation that is under way."""

from __future__ import annotations

from collections.abc import Mapping
import json
import logging
from typing import Any

from tacker import objects
from tacker.objects import fields
from tacker.objects.fields import ErrorPoint

LOG = logging.getLogger(__name__)

TOUCHED = ErrorPoint.POST_VIM_CONTROL
"""What the error point must be for Tacker's rollback to delete anything."""

_STATES = fields.LcmOccsOperationState


def touched(context: Any, vnf_instance_id: str) -> str:
    """Note that the cluster is about to be written to; the operation's id.

    Tacker stores the error point only when an operation has failed. Of a
    conductor that was killed it would be that of the beginning: the
    operation, once cancelled, could not be retried, and its rollback would
    leave everything behind.
    """
    occurrence = ""
    for found in of_instance(context, vnf_instance_id):
        if found.operation_state == _STATES.PROCESSING:
            found.error_point = TOUCHED
            found.save()
            occurrence = str(found.id)
    let_go(context)
    return occurrence


def parameters(context: Any, occurrence: str) -> Mapping[str, Any]:
    """The additionalParams of a request, as Tacker keeps its body.

    Tacker gives them to no driver when it heals a whole instance.
    """
    if not occurrence:
        return {}
    found = objects.VnfLcmOpOcc.get_by_id(context, occurrence)
    let_go(context)
    said = json.loads(found.operation_params or "{}")
    return said.get("additionalParams") or {}


def let_go(context: Any) -> None:
    """Give the connection to the database back before a long wait.

    Tacker's session keeps it from its first read on, as one transaction. A
    database that is restarted meanwhile would fail the operation at its
    end, and operations that wait would take all connections.
    """
    session = context.session
    if session.in_transaction() and not session.in_nested_transaction():
        session.commit()


def failed(context: Any, vnf_instance_id: str) -> bool:
    """Whether an operation failed and nothing came after it.

    Tacker leaves the record of such an instance alone.
    """
    found = of_instance(context, vnf_instance_id)
    if any(item.operation_state == _STATES.FAILED_TEMP for item in found):
        return True
    last = max(found, key=lambda item: item.start_time, default=None)
    return last is not None and last.operation_state == _STATES.FAILED


def under_way(context: Any, vnf_instance_id: str) -> bool:
    """Whether Tacker has begun an operation that is not at its end."""
    # The last of them is a state that Tacker gives no name to.
    states = (_STATES.STARTING, _STATES.PROCESSING, "ROLLING_BACK")
    return any(
        item.operation_state in states
        for item in of_instance(context, vnf_instance_id)
    )


def of_instance(context: Any, vnf_instance_id: str) -> list[Any]:
    filters = {
        "model": "VnfLcmOpOccs",
        "field": "vnf_instance_id",
        "value": vnf_instance_id,
        "op": "==",
    }
    found = objects.VnfLcmOpOccList.get_by_filters(
        context, read_deleted="no", filters=filters
    )
    return list(found.objects)
