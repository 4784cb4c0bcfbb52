"""Give oslo.log the instance and operation of each log line of this package.

The conductor works on many instances at once, and the core logs about
objects. oslo.log formats ``%(instance)s`` and the request ids of a record;
this filter sets them, also in worker threads, which oslo.context does not
reach.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import contextvars
import dataclasses
import logging

from oslo_context import context as oslo_context

PACKAGE = "tacker_k8s_cr"


@dataclasses.dataclass(frozen=True)
class _LogContext:
    """The ids of an operation, and the context of its request."""

    instance: str = ""
    occurrence: str = ""
    request: oslo_context.RequestContext | None = None

    @property
    def ids(self) -> str:
        """The ids that oslo.log puts before the message."""
        operation = f" operation: {self.occurrence}" if self.occurrence else ""
        return f"[instance: {self.instance}{operation}] "


_NONE = _LogContext()
_CURRENT: contextvars.ContextVar[_LogContext] = contextvars.ContextVar(
    "tacker_k8s_cr.log_context"
)


@contextlib.contextmanager
def log_ids(instance: str, occurrence: str = "") -> Iterator[None]:
    """Set the ids of all log lines of this package until the end.

    A nested call for the same instance keeps the occurrence if it has none.
    """
    before = _CURRENT.get(_NONE)
    if not occurrence and before.instance == instance:
        occurrence = before.occurrence
    _add_filter()
    request = oslo_context.get_current() or before.request
    token = _CURRENT.set(_LogContext(instance, occurrence, request))
    try:
        yield
    finally:
        _CURRENT.reset(token)


class _ContextFilter(logging.Filter):
    """A filter that adds the attributes for oslo.log and drops no record.

    It is a filter since handlers and formatters are the conductor's, and a
    record does not pass the filters of parent loggers.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        current = _CURRENT.get(_NONE)
        if current.instance:
            record.instance = current.ids
            record.resource_id = current.instance
            record.operation_id = current.occurrence
            # The JSON formatter reports these.
            record.extra_keys = ["operation_id", "resource_id"]
        if current.request and not hasattr(record, "context"):
            record.context = current.request
        return True


_FILTER = _ContextFilter()


def _add_filter() -> None:
    """Add the filter to all loggers of this package; adding twice is safe."""
    for name in list(logging.root.manager.loggerDict):
        if name == PACKAGE or name.startswith(f"{PACKAGE}."):
            logging.getLogger(name).addFilter(_FILTER)
