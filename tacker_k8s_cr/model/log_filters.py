"""Keep URLs with credentials out of urllib3's logs.

Presigned links and webhooks have it in their query. At DEBUG urllib3 logs
the path and query of each request; ours name the URL without them.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import contextvars
import logging

_SILENT = contextvars.ContextVar("silent", default=False)

_LOGGERS = ("urllib3.connectionpool", "urllib3.util.retry")


class _SuppressFilter(logging.Filter):
    """Passes nothing of the context that asked for silence."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _SILENT.get()


_SILENCE = _SuppressFilter()


@contextlib.contextmanager
def suppress_urllib3_logs() -> Iterator[None]:
    """Suppress the log records of urllib3 for the requests in this block."""
    for name in _LOGGERS:
        # A second time it does nothing.
        logging.getLogger(name).addFilter(_SILENCE)
    before = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(before)
