"""Write a request with one call, and read its answer as a whole.

urllib3 builds the head of each request field by field and sends head and body
apart; http.client reads each answer with five readers on top of each other.
The first request of a connection goes that way. Later ones take a third less
processor time here: the head is the one of the request before except for its
first line and length, and `read_body` reads the answer. The page on
performance has the figures.
"""

from __future__ import annotations

from collections.abc import Mapping
import http.client
import time
from typing import Any

from tacker_k8s_cr.kube.http import read_body
from tacker_k8s_cr.kube.http.deadline_reader import DeadlineReader

_OWN = frozenset(
    ("accept-encoding", "content-length", "host", "transfer-encoding")
)
"""Headers that urllib3 treats specially if a caller sets them."""

_EMPTY = frozenset(("DELETE", "GET", "HEAD"))
"""Methods whose requests may have no body, and then no Content-Length."""

_FAILED = 500
"""The lowest status of a failure of the server itself."""


def single_write_connection(kind: type[Any]) -> type[Any]:
    """Return a subclass of a connection of urllib3."""

    class SingleWriteConnection(kind):  # type: ignore[misc]
        _host = ""
        _last: tuple[Mapping[str, str], str] = ({}, "")
        _whole = ""
        answered = 0.0
        """When the server last answered without a failure of its own."""

        def response_class(
            self, sock: Any, **settings: Any
        ) -> http.client.HTTPResponse:
            """Return an answer that is read until a deadline."""
            reader: Any = DeadlineReader(sock, self.timeout)
            return http.client.HTTPResponse(reader, **settings)

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
            super().request(method, url, body, headers, **settings)
            if not _OWN.isdisjoint(map(str.lower, headers or ())):
                self._host = ""  # may be the caller's, for this request

        def putheader(self, header: Any, *values: Any) -> None:
            if header in ("Host", b"Host"):
                [host] = values
                text = host if isinstance(host, str) else host.decode()
                self._host = f"Host: {text}"
            super().putheader(header, *values)

        @property
        def ready(self) -> bool:
            """Return whether it is open and has carried a request."""
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

            Return False, and write nothing, for one that urllib3 has to
                        write.
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
            answer, stays = read_body.read(self.sock, self.timeout, method)
            if not stays:
                self.close()
            return answer

    return SingleWriteConnection


def _start(method: str, url: str, body: Any, host: str) -> str:
    """Return a head up to the caller's fields, as urllib3 writes it.

    It is empty for a request that urllib3 has to write.

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
    """Return the caller's fields; empty if urllib3 has to write them."""
    if (
        "User-Agent" not in headers
        or not _OWN.isdisjoint(map(str.lower, headers))
        or any("\n" in value or "\r" in value for value in headers.values())
    ):
        return ""
    return "".join(f"{name}: {v}\r\n" for name, v in headers.items())
