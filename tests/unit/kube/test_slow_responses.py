"""Answers that come drop by drop, each of them before any silence is long.

The server is a real one; it drips until the test is over, or for a minute.
"""

from __future__ import annotations

import dataclasses
import time

import pytest
from urllib3 import exceptions

from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.requests import Client
from tacker_k8s_cr.kube.pagination import ListQuery
from tacker_k8s_cr.kube.reflector import Reflector
from tacker_k8s_cr.kube.reflector import StreamGroup
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Unavailable
from tacker_k8s_cr.model.errors import Unreachable
from tacker_k8s_cr.model.objects import Resource
from tests.unit.kube.scripted_server import ScriptedServer
from tests.unit.kube.scripted_server import answer_json
from tests.unit.kube.scripted_server import answer_slowly

SOON = 15
"""Seconds: a quarter of a whole answer, and long for a busy machine."""

GET = Request("get", "GET", "/version", "/version")
OK = "HTTP/1.1 200 OK\n"
LONG = f"{OK}Content-Length: 1000000\n\n"
CHUNKED = f"{OK}Transfer-Encoding: chunked\n\n"

BLANK = "2\n\n\n"
"""A chunk of one empty line."""

ANSWERS = {
    "status": ("", "H"),
    "field": (f"{OK}Warning: ", "a"),
    "body": (LONG, " "),
    "chunk": (f"{CHUNKED}fffff\n", " "),
    "chunks": (CHUNKED, "1\n \n"),
    "refusal": (LONG.replace("200", "404"), " "),
}


def while_(script: ScriptedServer, count: int, at: float = 60.0) -> Deadline:
    """Not passed before the server has got so many requests.

    Then a minute has passed, however fast the machine is.
    """
    return Deadline(at, lambda: 60.0 if len(script.sent) >= count else 0.0)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.requirement("P25")
def test_no_answer_is_read_past_the_deadline(
    script: ScriptedServer, sender: Client, answer: tuple[str, str]
) -> None:
    """Wherever in it the drops fall; it is reported as a late answer."""
    script.then(answer_json(200, {}), answer_slowly(*answer))
    sender.send(GET)
    begun = time.monotonic()
    hasty = dataclasses.replace(sender, deadline=while_(script, 2))

    with pytest.raises(Unreachable, match="did not answer in time"):
        hasty.send(GET)

    assert time.monotonic() - begun < SOON


def test_what_comes_after_a_late_answer_is_not_late(
    script: ScriptedServer, sender: Client
) -> None:
    """Its connection is not used again, and its limit is not kept."""
    script.then(
        answer_json(200, {}),
        answer_slowly(*ANSWERS["body"]),
        answer_json(200, {"a": 1}),
    )
    sender.send(GET)
    hasty = dataclasses.replace(sender, deadline=while_(script, 2))
    with pytest.raises(Unreachable):
        hasty.send(GET)

    assert {"a": 1} == sender.send(GET).body


@pytest.mark.requirement("P25")
def test_a_stream_ends_when_it_was_to_last_no_longer(
    script: ScriptedServer, sender: Client
) -> None:
    """Though something comes on it all the time."""
    script.then(answer_slowly(CHUNKED, BLANK))
    begun = time.monotonic()
    endless = dataclasses.replace(sender, deadline=while_(script, 1, 1e6))

    with pytest.raises(exceptions.ReadTimeoutError):
        list(endless.stream(GET, 30.0).stream(2**16))

    assert time.monotonic() - begun < SOON


def test_no_stream_is_followed_past_the_deadline(
    script: ScriptedServer, sender: Client
) -> None:
    """One that brings nothing and does not end is left then."""
    script.then(answer_json(200, {}), answer_slowly(CHUNKED, BLANK))
    sender.send(GET)
    begun = time.monotonic()
    hasty = dataclasses.replace(sender, deadline=while_(script, 2))
    kind = Resource("", "v1", "ConfigMap", "configmaps", True, frozenset())
    stream = Reflector(
        hasty, StreamGroup(), ListQuery(kind), lambda obj, gone: None
    )

    with pytest.raises(Unavailable, match="the deadline passed"):
        stream.follow(lambda: "7")

    assert time.monotonic() - begun < SOON
