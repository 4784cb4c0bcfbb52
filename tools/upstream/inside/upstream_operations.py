"""The operations of a test, from Tacker's database.

The API of version 1 does not show those of an instance that was deleted.
UPSTREAM_DATABASE is the URL of the database.
"""

from __future__ import annotations

import json
import os
from typing import Any

import sqlalchemy

ENGINE = sqlalchemy.create_engine(
    os.environ["UPSTREAM_DATABASE"], poolclass=sqlalchemy.NullPool
)

_SELECT = {
    "v1": "select id, operation, operation_state, error, start_time "
    "from vnf_lcm_op_occs",
    "v2": "select id, operation, operationState, error, startTime "
    "from VnfLcmOpOccV2",
}


def _rows(version: str) -> list[tuple[Any, ...]]:
    with ENGINE.connect() as connection:
        found = connection.execute(sqlalchemy.text(_SELECT[version]))
        return [tuple(row) for row in found]


def known() -> set[str]:
    """The ids of all operations so far."""
    return {row[0] for version in _SELECT for row in _rows(version)}


def since(before: set[str]) -> list[dict[str, Any]]:
    """The operations since then, in their order."""
    found = [
        {
            "api": version,
            "operation": operation,
            "state": state,
            "error": _said(error),
            "begun": str(begun),
        }
        for version in _SELECT
        for identity, operation, state, error, begun in _rows(version)
        if identity not in before
    ]
    return sorted(found, key=lambda one: one["begun"])


def _said(error: Any) -> str:
    """The detail of a ProblemDetails; version 1 encodes it twice."""
    while isinstance(error, str):
        try:
            error = json.loads(error)
        except ValueError:
            return str(error)
    if not isinstance(error, dict):
        return ""
    return str(error.get("detail") or error.get("title") or "")
