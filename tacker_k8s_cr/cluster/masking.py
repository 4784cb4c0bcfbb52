"""What the server says about a Secret, without what is in it: pure."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import json
from typing import Any


def masked(message: str, kind: str, body: bytes | None) -> str:
    """A message without the values of the Secret that was sent."""
    if body is None or kind != "Secret":
        return message
    sent = json.loads(body)
    values = {
        value
        for part in ("data", "stringData")
        for value in _leaves(sent.get(part))
    }
    # As they are, and as they stand between quotation marks.
    values |= {json.dumps(value)[1:-1] for value in values}
    for value in sorted(filter(None, values), key=len, reverse=True):
        message = message.replace(value, "***")
    return message


def _leaves(value: Any) -> Iterator[str]:
    """All texts and numbers in it; it may not have the form it should."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
