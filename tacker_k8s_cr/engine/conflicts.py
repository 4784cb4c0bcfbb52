"""Repeat a write that another client's write has overtaken."""

from __future__ import annotations

from collections.abc import Callable
import itertools
from typing import TypeVar

from tacker_k8s_cr.model import errors

TRIES = 5
"""Attempts, where a busy object must not hold up an operation."""

Result = TypeVar("Result")


def retry_on_conflict(
    write: Callable[[], Result], tries: int | None = TRIES
) -> Result:
    """Return what ``write`` returns, once the server answers it without 409.

    ``write`` reads the object and sends its change with the resourceVersion
    that it has read.

    :param tries: attempts; None to try until the cluster's deadline.
    :raises Conflict: by the last attempt.
    """
    for attempt in itertools.count(1):
        try:
            return write()
        except errors.Conflict:
            if attempt == tries:
                raise
    raise AssertionError("count() does not end")
