"""The head and the body of a request, as one."""

from __future__ import annotations

from typing import Any

from urllib3.connection import HTTPConnection

from tacker_k8s_cr.cluster.together import together


class Socket:
    """Keeps what is written to it."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def sendall(self, data: bytes) -> None:
        self.written.append(data)

    def settimeout(self, seconds: float | None) -> None:
        """Nothing here takes time."""

    def close(self) -> None:
        """There is nothing to close."""


def written(kind: type[Any], body: bytes | None) -> list[bytes]:
    connection = kind("server.example.org", timeout=1)
    connection.sock = Socket()
    connection.request("PUT", "/api", body, {"Accept": "application/json"})
    sent: list[bytes] = connection.sock.written
    return sent


def test_a_request_is_written_once() -> None:
    """What urllib3 writes in parts goes out as a whole, unchanged."""
    parts = written(HTTPConnection, b'{"a": 1}')

    assert [b"".join(parts)] == written(together(HTTPConnection), b'{"a": 1}')


def test_a_request_without_a_body_is_as_it_was() -> None:
    """There is nothing to put together."""
    assert written(HTTPConnection, None) == written(
        together(HTTPConnection), None
    )
