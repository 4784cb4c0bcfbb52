"""The reference of a record, as Tacker stores it for an instance: pure."""

from __future__ import annotations

import re

_REFERENCE = re.compile(r"([-a-z0-9]{1,63})/([-0-9a-f]{36})")


def format_reference(instance: str, record_namespace: str) -> str:
    """Return the reference of an instance.

    :param record_namespace: the namespace of its record.
    """
    return f"{record_namespace}/{instance}"


def parse(text: str) -> tuple[str, str] | None:
    """Return instance and home, or None for the text of another driver."""
    match = _REFERENCE.fullmatch(text)
    return (match[2], match[1]) if match else None
