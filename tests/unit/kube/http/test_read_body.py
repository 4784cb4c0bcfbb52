"""Answers that are read as a whole, beside what the library reads in them."""

from __future__ import annotations

import gzip
import http.client
import io

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.kube.http import read_body

FIELDS = st.lists(
    st.sampled_from(
        [
            "Content-Type: application/json",
            "content-length: 4",
            "Content-Length: 4",
            "Content-Length: -1",
            "Content-Length: x",
            "Content-Length: 0",
            "Connection: close",
            "Connection: keep-alive",
            "Transfer-Encoding: chunked",
            "Warning: a\r\n b",
            "Audit-Id: \xe9",
            "Audit-Id: a: b ",
            "Audit-Id:",
        ]
    ),
    max_size=5,
)
STATUS = st.sampled_from(
    [
        "HTTP/1.1 200 OK",
        "HTTP/1.0 200 OK",
        "HTTP/1.1 200",
        "HTTP/1.1 204 No Content",
        "HTTP/1.1 304",
        "HTTP/1.1 404 Not Found",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created",
    ]
)
BODY = st.sampled_from(
    [
        "",
        "1",
        "1234",
        "12345678",
        "4\r\nabcd\r\n0\r\n\r\n",
        "4;x=y\r\nabcd\r\n2\r\nef\r\n0\r\nTrailer: x\r\n\r\n",
        "4\r\nab",
        "x\r\nabcd",
    ]
)
BROKEN = (http.client.HTTPException, ConnectionError)


class Socket:
    """Brings an answer in pieces of so many bytes, and then its end."""

    def __init__(self, text, piece=16384):
        self.text = text if isinstance(text, bytes) else text.encode("latin-1")
        self.piece = piece
        self.taken = 0

    def recv(self, size):
        size = min(size, self.piece)
        found = self.text[self.taken : self.taken + size]
        self.taken += len(found)
        return found

    def makefile(self, mode):
        return io.BytesIO(self.text)

    def settimeout(self, seconds):
        """Nothing here takes time."""


def read(text, method="GET", piece=16384):
    return read_body.read(Socket(text, piece), 60.0, method)


def library(text, method):
    """As it reads the first answer of each connection."""
    response = http.client.HTTPResponse(Socket(text), method=method)
    response.begin()
    data = response.read()
    return response, data


@given(
    STATUS,
    FIELDS,
    BODY,
    st.sampled_from(["GET", "HEAD", "DELETE"]),
    st.sampled_from(["\r\n", "\r\n", "\n"]),
    st.sampled_from([1, 3, 16384]),
)
def test_a_body_is_read_as_the_library_does(
    status, fields, body, method, end, piece
):
    """Or is broken for both; however its bytes come."""
    head = "\r\n".join([status, *fields, "", ""]).replace("\r\n", end)
    text = head + body
    try:
        response, data = library(text, method)
    except BROKEN:
        with pytest.raises(BROKEN):
            read(text, method, piece)
        return

    found, stays = read(text, method, piece)

    assert (response.status, data) == (found.status, found.data)
    for name in ("Content-Type", "Retry-After", "Audit-Id"):
        # The parser for mail keeps blanks at the end, urllib3 does not.
        said = response.headers.get(name, "").strip()
        assert said == found.headers.get(name, "")
    if response.will_close:
        assert not stays


def test_a_connection_stays_for_the_next_answer():
    """Unless bytes follow that were not asked for."""
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

    assert read(answer)[1]
    assert not read(f"{answer}HTTP/1.1 408 Request Timeout\r\n\r\n")[1]


def test_what_a_proxy_has_compressed_is_read():
    """Though nothing but identity was asked for."""
    data = gzip.compress(b'{"a": 1}')
    head = (
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    ).encode()

    assert b'{"a": 1}' == read(head + data)[0].data
    with pytest.raises(http.client.HTTPException):
        read(head + b"x" * len(data))


def test_a_large_body_is_read():
    """It comes in as many pieces as it likes."""
    text = "x" * 1_000_003
    answer = f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n{text}"

    assert text.encode() == read(answer, piece=9999)[0].data


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 20\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\n" + "A: b\r\n" * 300 + "\r\n",
        "HTTP/1.1 200 OK\r\nA: " + "b" * 65536 + "\r\n\r\n",
    ],
    ids=[
        "nothing",
        "not-http",
        "version",
        "short",
        "low",
        "high",
        "many",
        "long",
    ],
)
def test_an_invalid_answer_is_a_broken_connection(text):
    """As the library has it."""
    with pytest.raises(BROKEN):
        library(text, "GET")
    with pytest.raises(BROKEN):
        read(text)


def test_of_several_fields_of_a_name_the_first_counts():
    """As in the library."""
    text = "HTTP/1.1 200 OK\r\nRetry-After: 1\r\nretry-after: 2\r\n\r\n"

    assert "1" == read(text)[0].headers.get("Retry-After")
