"""The head of an answer, read as HTTP and not as mail.

The library reads it with the parser for mail, which is made for whatever
people send each other. That takes a sixth of the processor time that a
request takes altogether.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import http.client
from typing import Any, Protocol

LONGEST = 65536
"""Bytes of a line, and below it the lines of a head: the library's own
limits."""
_LINES = 100


class _Lines(Protocol):
    def readline(self, limit: int, /) -> bytes: ...


class PlainHead(http.client.HTTPResponse):
    """An answer that is the library's own in everything but its head."""

    # What the library sets, and does not declare.
    fp: Any
    chunked: bool
    chunk_left: Any
    length: int | None
    will_close: bool
    _method: str

    def begin(self) -> None:
        if self.headers is not None:
            return
        while True:
            version, status, reason = self._read_status()
            if status != http.client.CONTINUE:
                break
            read(self.fp)
        self.code = self.status = status
        self.reason = reason.strip()
        if version in ("HTTP/1.0", "HTTP/0.9"):
            self.version = 10
        elif version.startswith("HTTP/1."):
            self.version = 11
        else:
            raise http.client.UnknownProtocol(version)
        fields = read(self.fp)
        self.headers = self.msg = http.client.HTTPMessage()
        for name, value in fields:
            self.headers.set_raw(name, value)
        self._understand(known(fields))

    def _understand(self, known: dict[str, str]) -> None:
        """Where the body ends, and whether the connection does."""
        self.chunked = known.get("transfer-encoding", "").lower() == "chunked"
        self.chunk_left = None
        if self.version == 11:
            self.will_close = "close" in known.get("connection", "").lower()
        else:
            self.will_close = self._check_close()  # type: ignore[attr-defined]
        self.length = None
        if not self.chunked:
            self.length = length(known.get("content-length", ""))
        if (
            self.status in (http.client.NO_CONTENT, http.client.NOT_MODIFIED)
            or self.status < 200
            or self._method == "HEAD"
        ):
            self.length = 0
        if not self.chunked and self.length is None:
            self.will_close = True


def known(fields: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the fields by name; of several with the same name, the first."""
    return {name.lower(): value for name, value in reversed(fields)}


def usual(head: bytes) -> bool:
    """Return whether headers have no unusual lines, and not too many."""
    return (
        len(head) <= LONGEST
        and head.count(b"\n") == head.count(b"\r\n") <= _LINES
        and b"\n " not in head
        and b"\n\t" not in head
    )


def plain(lines: Iterable[bytes]) -> dict[str, str]:
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
    """The fields up to the empty line. Raises HTTPException."""
    fields: list[tuple[str, str]] = []
    for _ in range(_LINES + 1):
        line = lines.readline(LONGEST + 1)
        if len(line) > LONGEST:
            raise http.client.LineTooLong("header line")
        if line in (b"\r\n", b"\n", b""):
            return fields
        text = line.decode("latin-1")
        name, colon, value = text.partition(":")
        if text[0] in " \t" and fields:
            # A line that goes on with the one before, as of old.
            name, value = fields.pop()
            fields.append((name, f"{value} {text.strip()}"))
        elif colon and name:
            fields.append((name, value.strip()))
    raise http.client.HTTPException(f"got more than {_LINES} headers")
