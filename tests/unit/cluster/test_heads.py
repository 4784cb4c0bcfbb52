"""The head of an answer, read as HTTP."""

import http.client
import io

from hypothesis import given
from hypothesis import strategies
import pytest

from tacker_k8s_cr.cluster import heads

NAMES = strategies.sampled_from(
    [
        "Content-Type",
        "content-length",
        "Content-Length",
        "Connection",
        "Keep-Alive",
        "Transfer-Encoding",
        "Warning",
        "Audit-Id",
    ]
)
VALUES = strategies.one_of(
    strategies.sampled_from(
        ["close", "keep-alive", "chunked", "7", "-1", "x", "", "a: b"]
    ),
    strategies.text('abc \xe9"-', max_size=8),
)
FIELDS = strategies.lists(strategies.tuples(NAMES, VALUES), max_size=6)
STATUS = strategies.sampled_from(
    [
        "HTTP/1.1 200 OK",
        "HTTP/1.0 200 OK",
        "HTTP/1.1 204",
        "HTTP/1.1 404 Not Found",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created",
    ]
)


class Socket:
    """Holds an answer."""

    def __init__(self, text: str) -> None:
        self.text = text.encode("latin-1")

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self.text)


def begun(kind, text, method="GET"):
    response = kind(Socket(text), method=method)
    response.begin()
    return response


def said(response):
    """All that a reader of the answer asks it."""
    return (
        response.status,
        response.reason,
        response.version,
        # The parser for mail keeps blanks at the end, urllib3 does not.
        [(name, value.strip()) for name, value in response.headers.items()],
        response.chunked,
        response.length,
        response.will_close,
        response.fp and response.fp.read(),
    )


@given(STATUS, FIELDS, strategies.sampled_from(["GET", "HEAD", "DELETE"]))
def test_a_head_says_what_the_library_reads_in_it(status, fields, method):
    """Status, fields, the end of the body, and that of the connection."""
    lines = [status, *(f"{name}: {value}" for name, value in fields)]
    text = "\r\n".join([*lines, "", "body"])

    assert said(begun(http.client.HTTPResponse, text, method)) == said(
        begun(heads.PlainHead, text, method)
    )


def test_a_field_may_go_on_in_the_next_line():
    """Some proxy may still write it so."""
    text = "HTTP/1.1 200 OK\r\nWarning: one,\r\n two\r\n\r\n"

    found = begun(heads.PlainHead, text)

    assert [("Warning", "one, two")] == found.headers.items()


def test_what_is_no_field_is_passed_over():
    """What answers there may be no API server."""
    text = "HTTP/1.1 200 OK\r\nno field\r\nContent-Length: 2\r\n\r\nab"

    found = begun(heads.PlainHead, text)

    assert 2 == found.length


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\n" + "A: b\r\n" * 101 + "\r\n",
        "HTTP/1.1 200 OK\r\nA: " + "b" * 65536 + "\r\n\r\n",
    ],
    ids=["nothing", "not-http", "version", "many", "long"],
)
def test_what_is_no_head_is_an_error_that_the_pool_knows(text):
    """urllib3 makes a broken connection of it, as of the library's own."""
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        begun(heads.PlainHead, text)
