"""Read an answer as a whole, nearly always with one read of the socket.

http.client and urllib3 wrap the socket of each answer in a file, a raw reader,
a buffered one and two responses.
"""

from __future__ import annotations

from collections.abc import Iterator
import http.client
import socket
from typing import Any
import zlib

from tacker_k8s_cr.kube.http import fast_headers
from tacker_k8s_cr.kube.http.deadline_reader import ReadTimeout

_READ = 16 * 1024
"""Maximum bytes of a TLS record."""

_EMPTY = (http.client.NO_CONTENT, http.client.NOT_MODIFIED)


class Headers(dict[str, str]):
    """The headers of an answer by their names in lower case."""

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.lower(), default)


class FullResponse:
    """An answer with its body, as far as our own code uses it."""

    version_string = "HTTP/1.1"
    length_remaining = 0

    def __init__(self, status: int, headers: Headers, data: bytes):
        self.status = status
        self.headers = headers
        self.data = data

    def drain_conn(self) -> None:
        """Do nothing: the whole answer has been read."""

    def release_conn(self) -> None:
        """Do nothing: the connection is in the pool again."""


def read(
    sock: socket.socket, limit: float, method: str
) -> tuple[FullResponse, bool]:
    """Return an answer, and whether the connection can be used again.

    Raises an HTTPException or an OSError.

    :param method: of the request.
    :param limit: the present time-out of the socket.
    """
    source = _Source(sock, limit)
    while True:
        if (head := source.head()) is None:
            version, status = _status(
                source.readline(fast_headers.MAX_LINE + 1)
            )
            known = Headers(fast_headers.by_name(fast_headers.read(source)))
        else:
            line, *lines = head.split(b"\r\n")
            version, status = _status(line)
            known = Headers(fast_headers.parse_simple(lines))
        if status != http.client.CONTINUE:
            break
    connection = known.get("connection", "").lower()
    stays = version == 11 and "close" not in connection
    coding = known.get("transfer-encoding", "").lower()
    length = fast_headers.length(known.get("content-length", ""))
    if method == "HEAD":
        data = b""
    elif coding == "chunked":
        data = b"".join(_chunks(source))
    elif status < 200 or status in _EMPTY:
        data = b""
    elif length is not None:
        data = source.take(length)
    else:
        data, stays = source.rest(), False
    if known.get("content-encoding", "identity") != "identity":
        data = _decoded(data)
    # More bytes must not be read as the next answer.
    return FullResponse(status, known, data), stays and not source.left


def _decoded(data: bytes) -> bytes:
    """Return a body that a proxy has compressed without being asked."""
    try:
        return zlib.decompress(data, 32 + zlib.MAX_WBITS)
    except zlib.error as error:
        raise http.client.HTTPException("its coding is not known") from error


def _status(line: bytes) -> tuple[int, int]:
    """Return the version and the code, as http.client reads them."""
    if not line:
        raise http.client.RemoteDisconnected(
            "Remote end closed connection without response"
        )
    version, _, rest = line.decode("latin-1").partition(" ")
    code = rest[:3]
    if not version.startswith("HTTP/") or not code.isdecimal():
        raise http.client.BadStatusLine(version)
    status = int(code)
    if not 100 <= status <= 999 or rest[3:4].strip():
        raise http.client.BadStatusLine(version)
    if version in ("HTTP/1.0", "HTTP/0.9"):
        return 10, status
    if version.startswith("HTTP/1."):
        return 11, status
    raise http.client.UnknownProtocol(version)


def _chunks(source: _Source) -> Iterator[bytes]:
    """Yield the parts of a chunked body, and read its trailers."""
    while True:
        line = source.readline(fast_headers.MAX_LINE + 1)
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError:
            raise http.client.IncompleteRead(b"") from None
        if size <= 0:
            fast_headers.read(source)
            return
        yield source.take(size)
        source.readline(fast_headers.MAX_LINE + 1)


class _Source:
    """The bytes of one answer, until a deadline; see ``deadline_reader``."""

    def __init__(self, sock: socket.socket, limit: float):
        self._sock = sock
        self._limit = ReadTimeout.of(limit)
        self._begun = False
        self._buffer = b""
        self._at = 0

    @property
    def left(self) -> bool:
        """Whether there are bytes that have not been returned."""
        return self._at < len(self._buffer)

    def head(self) -> bytes | None:
        """Return a head that came at once and has no unusual lines."""
        if not self.left:
            self._buffer, self._at = self._more(_READ), 0
        end = self._buffer.find(b"\r\n\r\n", self._at)
        head = self._buffer[self._at : end]
        if end < 0 or not fast_headers.is_simple(head):
            return None
        self._at = end + 4
        return head

    def readline(self, limit: int) -> bytes:
        """Return a line with its end, or the rest of the answer."""
        while True:
            end = self._buffer.find(b"\n", self._at) + 1
            short = not end and len(self._buffer) - self._at < limit
            if short and (more := self._more(_READ)):
                self._buffer = self._buffer[self._at :] + more
                self._at = 0
                continue
            line = self._buffer[self._at : end or None][:limit]
            self._at += len(line)
            return line

    def take(self, size: int) -> bytes:
        """Return the next bytes. Raises IncompleteRead."""
        end = self._at + size
        if end <= len(self._buffer):
            taken = self._buffer[self._at : end]
            self._at = end
            return taken
        parts = [self._buffer[self._at :]]
        missing = size - len(parts[0])
        self._buffer, self._at = b"", 0
        while missing:
            more = self._more(min(missing, 16 * _READ))
            if not more:
                raise http.client.IncompleteRead(b"".join(parts), missing)
            parts.append(more)
            missing -= len(more)
        return b"".join(parts)

    def rest(self) -> bytes:
        """Return all bytes up to the end of the connection."""
        parts = [self._buffer[self._at :]]
        self._buffer, self._at = b"", 0
        while more := self._more(_READ):
            parts.append(more)
        return b"".join(parts)

    def _more(self, size: int) -> bytes:
        # Nearly all answers come with the first read.
        if self._begun:
            self._limit.apply(self._sock)
        self._begun = True
        return self._sock.recv(size)
