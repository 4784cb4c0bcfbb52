"""Requests on a connection that has carried one before."""

from __future__ import annotations

import http.client
from typing import Any

import pytest
from urllib3.connection import HTTPConnection

from tacker_k8s_cr.kube.http.single_write import single_write_connection


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


ASKED = {"User-Agent": "ours", "Accept": "application/json"}


def connected(kind: type[Any], host: str = "server.example.org") -> Any:
    connection = kind(host, timeout=1)
    connection.sock = Socket()
    return connection


def written(
    connection: Any, method: str, url: str, body: Any, headers: Any = ASKED
) -> bytes:
    """All that a request writes."""
    before = len(connection.sock.written)
    connection.request(method, url, body, headers, preload_content=True)
    return b"".join(connection.sock.written[before:])


def parts(method: str, url: str, body: Any, headers: Any = ASKED) -> bytes:
    """What urllib3 writes, which does that in parts."""
    connection = connected(HTTPConnection)
    connection.request(method, url, body, headers)
    return b"".join(connection.sock.written)


REQUESTS = [
    ("GET", "/api", None),
    ("DELETE", "/api/a?b=c%2F", b"{}"),
    ("PUT", "/api", b'{"a": 1}'),
    ("PATCH", "/api", "ä".encode()),
    ("POST", "/api", None),
]


@pytest.mark.parametrize(("method", "url", "body"), REQUESTS)
def test_a_request_is_written_once(method: str, url: str, body: Any) -> None:
    """What urllib3 writes in parts goes out as a whole, unchanged.

    The first request of a connection goes out as urllib3 writes it.
    """
    connection = connected(single_write_connection(HTTPConnection))

    first = written(connection, method, url, body)
    assert connection.ready
    connection._HTTPConnection__state = "Idle"  # its answer was read
    before = len(connection.sock.written)
    again = written(connection, method, url, body)

    assert parts(method, url, body) == first == again
    library = method == "POST"  # without a body
    assert library or 1 == len(connection.sock.written) - before


def test_the_host_of_one_request_is_not_that_of_the_next() -> None:
    """A caller's own Host header holds for its request only."""
    connection = connected(single_write_connection(HTTPConnection))
    written(connection, "GET", "/api", None, {**ASKED, "Host": "other"})
    connection._HTTPConnection__state = "Idle"  # its answer was read

    assert parts("GET", "/api", None) == written(
        connection, "GET", "/api", None
    )


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("/a\r\nHost: b", ASKED),
        ("/a b", ASKED),
        ("/api", {**ASKED, "Authorization": "Bearer a\r\nb: c"}),
        ("/api", {**ASKED, "Authorization": "Bearer a\nb"}),
    ],
)
def test_nothing_in_a_request_can_add_a_field(url: str, headers: Any) -> None:
    """Later requests are refused as the first one is."""
    connection = connected(single_write_connection(HTTPConnection))
    written(connection, "GET", "/api", None)
    connection._HTTPConnection__state = "Idle"  # its answer was read

    with pytest.raises((ValueError, http.client.InvalidURL)):
        connection.request("GET", url, None, headers, preload_content=True)


@pytest.mark.parametrize(
    "headers",
    [
        {"Accept": "a"},
        {**ASKED, "Host": "other"},
        {**ASKED, "accept-encoding": "gzip"},
    ],
)
def test_fields_that_urllib3_treats_its_own_way_are_left_to_it(
    headers: Any,
) -> None:
    """What is written is the same as ever."""
    connection = connected(single_write_connection(HTTPConnection))
    written(connection, "GET", "/api", None)
    connection._HTTPConnection__state = "Idle"  # its answer was read

    assert parts("GET", "/api", None, headers) == written(
        connection, "GET", "/api", None, headers
    )
