"""The reference of a record, as Tacker stores it for an instance: pure."""

from __future__ import annotations

import re

_REFERENCE = re.compile(r"([-a-z0-9]{1,63})/([-0-9a-f]{36})")


def reference(instance: str, home: str) -> str:
    """Return the reference of an instance.

    :param home: the namespace of its record.
    """
    return f"{home}/{instance}"


def parse(text: str) -> tuple[str, str] | None:
    """Return instance and home, or None for the text of another driver."""
    found = _REFERENCE.fullmatch(text)
    return (found[2], found[1]) if found else None
