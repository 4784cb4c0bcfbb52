"""Parse the head of an answer as HTTP.

http.client uses the parser for mail, which takes a tenth of the processor time
of an apply; the page on performance has the figure.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import http.client
from typing import Protocol

MAX_LINE = 65536
"""Bytes of a line; `_LINES` is the number of lines. http.client has the same
limits."""
_LINES = 100


class _Lines(Protocol):
    def readline(self, limit: int, /) -> bytes: ...


def by_name(fields: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the fields by name; of several with the same name, the first."""
    return {name.lower(): value for name, value in reversed(fields)}


def is_simple(head: bytes) -> bool:
    """Return whether headers have no unusual lines, and not too many."""
    return (
        len(head) <= MAX_LINE
        and head.count(b"\n") == head.count(b"\r\n") <= _LINES
        and b"\n " not in head
        and b"\n\t" not in head
    )


def parse_simple(lines: Iterable[bytes]) -> dict[str, str]:
    """Return the fields of usual lines by name, as ``known`` does."""
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        if colon and name:
            found.setdefault(name.lower(), value.strip())
    return found


def length(text: str) -> int | None:
    try:
        length = int(text)
    except ValueError:
        return None
    return length if length >= 0 else None


def read(lines: _Lines) -> list[tuple[str, str]]:
    """Return the fields up to the empty line. Raises HTTPException."""
    fields: list[tuple[str, str]] = []
    for _ in range(_LINES + 1):
        line = lines.readline(MAX_LINE + 1)
        if len(line) > MAX_LINE:
            raise http.client.LineTooLong("header line")
        if line in (b"\r\n", b"\n", b""):
            return fields
        text = line.decode("latin-1")
        name, colon, value = text.partition(":")
        if text[0] in " \t" and fields:
            # The line continues the one before: obsolete line folding.
            name, value = fields.pop()
            fields.append((name, f"{value} {text.strip()}"))
        elif colon and name:
            fields.append((name, value.strip()))
    raise http.client.HTTPException(f"got more than {_LINES} headers")
