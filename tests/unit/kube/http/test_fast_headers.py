"""The head of an answer, read as HTTP."""

import http.client
import io

from hypothesis import given
from hypothesis import strategies
import pytest

from tacker_k8s_cr.kube.http import fast_headers

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


def library(lines):
    """The fields that http.client reads."""
    text = "".join(f"{line}\r\n" for line in [*lines, ""])
    message = http.client.parse_headers(io.BytesIO(text.encode("latin-1")))
    # The parser for mail keeps blanks at the end, urllib3 does not.
    return [(name, value.strip()) for name, value in message.items()]


def ours(lines):
    text = "".join(f"{line}\r\n" for line in [*lines, ""])
    return fast_headers.read(io.BytesIO(text.encode("latin-1")))


@given(FIELDS)
def test_headers_are_parsed_as_the_library_does(fields):
    """Whether it came with one read or not."""
    lines = [f"{name}: {value}" for name, value in fields]
    encoded = [line.encode("latin-1") for line in lines]

    assert library(lines) == ours(lines)
    assert fast_headers.by_name(ours(lines)) == fast_headers.parse_simple(
        encoded
    )


@pytest.mark.parametrize(
    ("text", "length"), [("7", 7), ("-1", None), ("x", None), ("", None)]
)
def test_a_length_is_a_natural_number_or_unknown(text, length):
    """As for the library."""
    assert length == fast_headers.length(text)


def test_a_field_may_go_on_in_the_next_line():
    """Some proxy may still write it so."""
    assert [("Warning", "one, two")] == ours(["Warning: one,", " two"])


def test_an_invalid_field_is_ignored():
    """What answers there may be no API server."""
    lines = ["no field", ": nameless", "Content-Length: 2"]

    assert [("Content-Length", "2")] == ours(lines)
    assert {"content-length": "2"} == fast_headers.parse_simple(
        line.encode() for line in lines
    )
