"""What `kube.http` uses of http.client and urllib3 beyond their documents.

A test that fails here after an update shows which part has changed: compare it
with ``single_write``, ``fast_exchange``, ``deadline_reader`` and
``connection_pool`` in ``tacker_k8s_cr/kube/http`` before you change a table.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
import http.client
import inspect
import queue
import textwrap
from typing import Any

import pytest
import urllib3
from urllib3.connection import HTTPConnection

PARAMETERS: list[tuple[Callable[..., Any], list[str]]] = [
    (
        http.client.HTTPResponse.__init__,
        ["self", "sock", "debuglevel", "method", "url"],
    ),
    (http.client.HTTPConnection.getresponse, ["self"]),
    (http.client.HTTPConnection.putheader, ["self", "header", "values"]),
    (http.client.HTTPConnection.send, ["self", "data"]),
    (
        HTTPConnection.request,
        [
            "self",
            "method",
            "url",
            "body",
            "headers",
            "chunked",
            "preload_content",
            "decode_content",
            "enforce_content_length",
        ],
    ),
    (HTTPConnection.getresponse, ["self"]),
    (HTTPConnection.putheader, ["self", "header", "values"]),
    (urllib3.HTTPConnectionPool._get_conn, ["self", "timeout"]),
    (urllib3.HTTPConnectionPool._put_conn, ["self", "conn"]),
]

USED: list[tuple[Callable[..., Any], str, set[str]]] = [
    # `deadline_reader` is the socket of an answer.
    (http.client.HTTPResponse.__init__, "sock", {"makefile"}),
    # An exchange that passes by it must leave nothing of this undone.
    (
        http.client.HTTPConnection.getresponse,
        "self",
        {
            "__response",
            "__state",
            "_method",
            "close",
            "debuglevel",
            "response_class",
            "sock",
        },
    ),
]


def tree(function: Callable[..., Any]) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


@pytest.mark.parametrize(("function", "parameters"), PARAMETERS)
def test_a_function_has_the_parameters_that_we_pass(
    function: Callable[..., Any], parameters: list[str]
) -> None:
    """What is overridden or called takes these, in this order."""
    assert parameters == list(inspect.signature(function).parameters)


@pytest.mark.parametrize(("function", "variable", "names"), USED)
def test_a_function_uses_what_is_provided(
    function: Callable[..., Any], variable: str, names: set[str]
) -> None:
    """Of an object that we replace or change, exactly these attributes."""
    assert names == {
        node.attr
        for node in ast.walk(tree(function))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == variable
    }


def test_the_host_is_written_by_putheader() -> None:
    """Where the host of later requests is taken from."""
    written = [
        node.args[0].value
        for node in ast.walk(tree(http.client.HTTPConnection.putrequest))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "putheader"
        and isinstance(node.args[0], ast.Constant)
    ]

    assert {"Host", "Accept-Encoding"} == set(written)


def test_idle_connections_are_in_a_queue() -> None:
    """The last one that was put back is the next one that is used."""
    pool = urllib3.HTTPConnectionPool("127.0.0.1", maxsize=2)
    assert isinstance(pool.pool, queue.LifoQueue)
    first, second = pool._get_conn(), pool._get_conn()

    pool._put_conn(first)
    pool._put_conn(second)

    assert [first, second] == pool.pool.queue
    assert second is pool._get_conn()
    pool.close()
