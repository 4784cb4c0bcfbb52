"""Which instance and operation a line of the log is about, on each of ours.

The conductor works on many instances at once, and what the core says is
about objects. While an operation runs, every line of this package begins
with the ids of the VNF instance and of Tacker's operation occurrence.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import contextvars
import logging

PACKAGE = "tacker_k8s_cr"

_ABOUT: contextvars.ContextVar[tuple[str, str]] = contextvars.ContextVar(
    "tacker_k8s_cr.about", default=("", "")
)


@contextlib.contextmanager
def about(instance: str, occurrence: str = "") -> Iterator[None]:
    """Begin all lines with these ids until the end.

    Of one within another on the same instance, an occurrence that is not
    said again stays.
    """
    before = _ABOUT.get()
    if not occurrence and before[0] == instance:
        occurrence = before[1]
    _marked()
    token = _ABOUT.set((instance, occurrence))
    try:
        yield
    finally:
        _ABOUT.reset(token)


class _Mark(logging.Filter):
    """Lets everything pass, with the ids before it.

    A filter, since a handler and its format are the host's, and a logger's
    records do not pass the filters of the loggers above it.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        ids = " ".join(filter(None, _ABOUT.get()))
        if ids and isinstance(record.msg, str):
            record.msg = f"[{ids}] {record.msg}"
        return True


_MARK = _Mark()


def _marked() -> None:
    """Give the filter to all loggers that there are of this package.

    Adding it to one that has it changes nothing.
    """
    for name in list(logging.root.manager.loggerDict):
        if name == PACKAGE or name.startswith(f"{PACKAGE}."):
            logging.getLogger(name).addFilter(_MARK)
