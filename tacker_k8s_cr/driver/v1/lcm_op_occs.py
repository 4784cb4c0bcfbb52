"""Read and mark running operations in Tacker's v1 database."""

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


def mark_started(context: Any, vnf_instance_id: str) -> str:
    """Mark the start of writes to the cluster; return the operation's id.

    Tacker stores the error point only when an operation has failed. After
    the conductor was killed it would be that of the start: the operation,
    once cancelled, could not be retried, and its rollback would delete
    nothing.
    """
    occurrence = ""
    for operations in list_of_instance(context, vnf_instance_id):
        if operations.operation_state == _STATES.PROCESSING:
            operations.error_point = TOUCHED
            operations.save()
            occurrence = str(operations.id)
    release_connection(context)
    return occurrence


def read_parameters(context: Any, occurrence: str) -> Mapping[str, Any]:
    """Return the additionalParams of a request from its stored body.

    Tacker does not pass them to a driver when it heals a whole instance.
    """
    if not occurrence:
        return {}
    operation = objects.VnfLcmOpOcc.get_by_id(context, occurrence)
    release_connection(context)
    params = json.loads(operation.operation_params or "{}")
    return params.get("additionalParams") or {}


def release_connection(context: Any) -> None:
    """Release the database connection before a long wait.

    Tacker's session keeps it from its first read on, as one transaction. A
    restart of the database would fail the operation at its end, and waiting
    operations would use all connections.
    """
    session = context.session
    if session.in_transaction() and not session.in_nested_transaction():
        session.commit()


def has_failed(context: Any, vnf_instance_id: str) -> bool:
    """Return whether the last operation failed.

    Tacker does not change the record of such an instance.
    """
    operations = list_of_instance(context, vnf_instance_id)
    if any(item.operation_state == _STATES.FAILED_TEMP for item in operations):
        return True
    last = max(operations, key=lambda item: item.start_time, default=None)
    return last is not None and last.operation_state == _STATES.FAILED


def is_running(context: Any, vnf_instance_id: str) -> bool:
    """Return whether an operation is in progress in Tacker."""
    # Tacker has no constant for the last of these states.
    states = (_STATES.STARTING, _STATES.PROCESSING, "ROLLING_BACK")
    return any(
        item.operation_state in states
        for item in list_of_instance(context, vnf_instance_id)
    )


def list_of_instance(context: Any, vnf_instance_id: str) -> list[Any]:
    filters = {
        "model": "VnfLcmOpOccs",
        "field": "vnf_instance_id",
        "value": vnf_instance_id,
        "op": "==",
    }
    operations = objects.VnfLcmOpOccList.get_by_filters(
        context, read_deleted="no", filters=filters
    )
    return list(operations.objects)
