"""Answers that come drop by drop, each of them before any silence is long.

The server is a real one; it drips until the test is over, or for a minute.
"""

from __future__ import annotations

import dataclasses
import time

import pytest
from urllib3 import exceptions

from tacker_k8s_cr.cluster.answers import Request
from tacker_k8s_cr.cluster.listing import Selection
from tacker_k8s_cr.cluster.requests import Sender
from tacker_k8s_cr.cluster.streams import Line
from tacker_k8s_cr.cluster.streams import Stream
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.errors import Unavailable
from tacker_k8s_cr.errors import Unreachable
from tacker_k8s_cr.objects import Resource
from tests.unit.cluster.scripted import Scripted
from tests.unit.cluster.scripted import drips
from tests.unit.cluster.scripted import says

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


def while_(script: Scripted, count: int, at: float = 60.0) -> Deadline:
    """Not passed before the server has got so many requests.

    Then a minute has passed, however fast the machine is.
    """
    return Deadline(at, lambda: 60.0 if len(script.sent) >= count else 0.0)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_no_answer_is_read_past_the_deadline(
    script: Scripted, sender: Sender, answer: tuple[str, str]
) -> None:
    """Wherever in it the drops fall; it is told as one that is late (P25)."""
    script.then(says(200, {}), drips(*answer))
    sender.send(GET)
    begun = time.monotonic()
    hasty = dataclasses.replace(sender, deadline=while_(script, 2))

    with pytest.raises(Unreachable, match="did not answer in time"):
        hasty.send(GET)

    assert time.monotonic() - begun < SOON


def test_what_comes_after_a_late_answer_is_not_late(
    script: Scripted, sender: Sender
) -> None:
    """Its connection is not used again, and its limit is not kept."""
    script.then(says(200, {}), drips(*ANSWERS["body"]), says(200, {"a": 1}))
    sender.send(GET)
    hasty = dataclasses.replace(sender, deadline=while_(script, 2))
    with pytest.raises(Unreachable):
        hasty.send(GET)

    assert {"a": 1} == sender.send(GET).body


def test_a_stream_ends_when_it_was_to_last_no_longer(
    script: Scripted, sender: Sender
) -> None:
    """Though something comes on it all the time (P25)."""
    script.then(drips(CHUNKED, BLANK))
    begun = time.monotonic()
    endless = dataclasses.replace(sender, deadline=while_(script, 1, 1e6))

    with pytest.raises(exceptions.ReadTimeoutError):
        list(endless.stream(GET, 30.0).stream(2**16))

    assert time.monotonic() - begun < SOON


def test_no_stream_is_followed_past_the_deadline(
    script: Scripted, sender: Sender
) -> None:
    """One that brings nothing and does not end is left then (P25)."""
    script.then(says(200, {}), drips(CHUNKED, BLANK))
    sender.send(GET)
    begun = time.monotonic()
    hasty = dataclasses.replace(sender, deadline=while_(script, 2))
    kind = Resource("", "v1", "ConfigMap", "configmaps", True, frozenset())
    stream = Stream(hasty, Line(), Selection(kind), lambda obj, gone: None)

    with pytest.raises(Unavailable, match="the deadline passed"):
        stream.follow(lambda: "7")

    assert time.monotonic() - begun < SOON
