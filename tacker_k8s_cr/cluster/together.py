"""Write each request at once, and read its answer as a whole.

urllib3 writes the head and the body of a request one after the other. That
is two TLS records, twice the changes between threads, and for the server a
second wait: a tenth of the processor time that a request takes. It puts each
head together field by field, which takes another tenth; here only the first
of each connection is, and what it says of the host is kept. Answers are read
as in ``whole``; streams as in ``incoming``, their heads as in ``heads``.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import time
from typing import Any

from tacker_k8s_cr.cluster import whole
from tacker_k8s_cr.cluster.heads import PlainHead
from tacker_k8s_cr.cluster.incoming import Incoming

_OWN = frozenset(
    ("accept-encoding", "content-length", "host", "transfer-encoding")
)
"""Headers that urllib3 treats specially if a caller sets them."""

_EMPTY = frozenset(("DELETE", "GET", "HEAD"))
"""Methods whose requests may have no body, and then no Content-Length."""

_FAILED = 500
"""The lowest status of a failure of the server itself."""


def together(kind: type[Any]) -> type[Any]:
    """A kind of urllib3's connections that is as the given one otherwise."""

    class Together(kind):  # type: ignore[misc]
        _parts: list[bytes] | None = None
        _host = ""
        _last: tuple[Mapping[str, str], str] = ({}, "")
        _whole = ""
        answered = 0.0
        """When its server last answered a request that it could serve."""

        def response_class(self, sock: Any, **settings: Any) -> PlainHead:
            """What the library makes an answer of."""
            incoming: Any = Incoming(sock, self.timeout)
            return PlainHead(incoming, **settings)

        def request(
            self,
            method: str,
            url: str,
            body: Any = None,
            headers: Any = None,
            **settings: Any,
        ) -> None:
            if (
                settings.get("preload_content")
                and self.ready
                and self.written(method, url, body, headers, self.timeout)
            ):
                return
            self._whole = ""
            parts = self._parts = []
            try:
                super().request(method, url, body, headers, **settings)
            finally:
                self._parts = None
            self._host = _said(parts)
            self.send(b"".join(parts))

        @property
        def ready(self) -> bool:
            """Return whether it is open, and has carried a request."""
            return bool(self._host and self.sock)

        def written(
            self,
            method: str,
            url: str,
            body: Any,
            headers: Mapping[str, str],
            limit: float,
        ) -> bool:
            """Write a request whose answer will be read as a whole.

            Return False, and write nothing, for one that the library has to
            look at.
            """
            # Nearly all requests have the fields of the one before.
            last, fields = self._last
            if headers != last:
                fields = _fields(headers)
                self._last = headers, fields
            start = fields and _start(method, url, body, self._host)
            if not start:
                return False
            text = f"{start}{fields}\r\n"
            self.timeout = limit
            self.sock.settimeout(limit)
            self._whole = method
            self.send(text.encode("latin-1") + (body or b""))
            return True

        def getresponse(self) -> Any:
            answer = self._answer()
            if answer.status < _FAILED:
                self.answered = time.monotonic()
            return answer

        def _answer(self) -> Any:
            method, self._whole = self._whole, ""
            if not method:
                return super().getresponse()
            self.sock.settimeout(self.timeout)
            answer, stays = whole.read(self.sock, self.timeout, method)
            if not stays:
                self.close()
            return answer

        def send(self, data: Any) -> None:
            if self._parts is None:
                super().send(data)
            else:
                self._parts.append(data)

    return Together


def _said(parts: Sequence[bytes]) -> str:
    """Return the field with the host in the head of a request."""
    head = b"".join(parts).partition(b"\r\n\r\n")[0].decode("latin-1")
    lines = head.split("\r\n")
    return next((line for line in lines if line.startswith("Host: ")), "")


def _start(method: str, url: str, body: Any, host: str) -> str:
    """Return a head up to the caller's fields, as urllib3 writes it.

    It is empty for what urllib3 has to look at.

    :param host: the field that a request before had.
    """
    plain = url.isascii() and url.isprintable() and " " not in url
    length = ""
    if isinstance(body, bytes):
        length = f"Content-Length: {len(body)}\r\n"
    elif body is not None or method not in _EMPTY:
        return ""
    if not plain or url[0] != "/":
        return ""
    start = f"{method} {url} HTTP/1.1\r\n{host}\r\n"
    return f"{start}Accept-Encoding: identity\r\n{length}"


def _fields(headers: Mapping[str, str]) -> str:
    """Return the caller's fields; empty for what urllib3 has to look at."""
    if (
        "User-Agent" not in headers
        or not _OWN.isdisjoint(map(str.lower, headers))
        or any("\n" in value or "\r" in value for value in headers.values())
    ):
        return ""
    return "".join(f"{name}: {v}\r\n" for name, v in headers.items())
