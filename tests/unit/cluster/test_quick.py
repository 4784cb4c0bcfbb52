"""Requests on a connection that has carried one before."""

from __future__ import annotations

import dataclasses
import logging

import pytest

from tacker_k8s_cr.cluster.answers import Request
from tacker_k8s_cr.cluster.requests import Sender
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.errors import Unauthenticated
from tacker_k8s_cr.errors import Unavailable
from tests.unit.cluster.scripted import Handler
from tests.unit.cluster.scripted import Scripted
from tests.unit.cluster.scripted import hangs_up
from tests.unit.cluster.scripted import says
from tests.unit.cluster.scripted import status

GET = Request("get", "GET", "/version", "/version")
PUT = Request("update", "PUT", "/api/a", "a", body=b'{"b": 1}')


def begun(script: Scripted, sender: Sender) -> None:
    """One request, whose connection is there for the next."""
    script.replies.insert(0, says(200, {}))
    sender.send(GET)


def ends(handler: Handler) -> None:
    """An answer, after which the server closes the connection unsaid."""
    says(200, {})(handler)
    handler.close_connection = True


def test_a_connection_is_used_again(script: Scripted, sender: Sender) -> None:
    """Its requests are what the first one was."""
    begun(script, sender)
    script.then(says(200, {"a": 1}), says(201, {"b": 2}))

    answers = [sender.send(GET), sender.send(PUT)]

    assert [{"a": 1}, {"b": 2}] == [answer.body for answer in answers]
    first, second, third = script.sent
    assert first.headers == second.headers
    assert first.connection == second.connection == third.connection
    assert {"b": 1} == third.body
    assert 3 == sender.counter.total


def test_an_answer_in_chunks_is_read(script: Scripted, sender: Sender) -> None:
    """As a proxy may send it."""

    def chunked(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for part in (b'{"a":', b" 1}", b""):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))

    begun(script, sender)
    script.then(chunked, says(200, {"b": 2}))

    assert {"a": 1} == sender.send(GET).body
    assert {"b": 2} == sender.send(GET).body
    assert 1 == len({sent.connection for sent in script.sent})


def test_a_server_that_says_close_gets_another_connection(
    script: Scripted, sender: Sender, pauses: list[float]
) -> None:
    """And so does one that closes without a word, when that has come."""
    begun(script, sender)
    script.then(says(200, {}, Connection="close"), ends, says(200, {"a": 1}))
    sender.send(GET)
    sender.send(GET)

    answer = sender.send(GET)

    assert {"a": 1} == answer.body
    assert 3 == len({sent.connection for sent in script.sent})
    # Whether the end has come by then is for the system to say.
    assert 1 >= len(pauses)


def test_a_connection_that_breaks_is_made_again(
    script: Scripted, sender: Sender, pauses: list[float]
) -> None:
    """The request may have been carried out."""
    begun(script, sender)
    script.then(hangs_up, says(200, {"a": 1}))

    answer = sender.send(PUT)

    assert {"a": 1} == answer.body
    assert answer.repeated
    assert 1 == len(pauses)


def test_what_is_no_answer_is_a_connection_that_breaks(
    script: Scripted, sender: Sender, pauses: list[float]
) -> None:
    """Nothing that came is taken for an answer."""

    def garbled(handler: Handler) -> None:
        handler.wfile.write(b"garbage\r\n\r\n")
        handler.close_connection = True

    begun(script, sender)
    script.then(garbled, says(200, {"a": 1}))

    assert {"a": 1} == sender.send(GET).body
    assert 1 == len(pauses)


def test_a_silent_server_is_told_as_one(
    script: Scripted, sender: Sender
) -> None:
    """In the time that the request has; the connection is not used again."""

    def silent(handler: Handler) -> None:
        handler.close_connection = True
        handler.script.over.wait(20)

    begun(script, sender)
    script.then(silent, says(200, {"a": 1}))
    hasty = dataclasses.replace(sender, deadline=Deadline.after(0.2))

    with pytest.raises(Exception, match="did not answer in time"):
        hasty.send(GET)

    assert {"a": 1} == sender.send(GET).body


def test_refusals_are_what_they_were(script: Scripted, sender: Sender) -> None:
    """With what the server says of them, and when to come again."""
    begun(script, sender)
    script.then(
        status(401, "Unauthorized"),
        says(429, {"message": "busy"}, Retry_After="2"),
        says(200, {"a": 1}),
        says(302, "", Location="http://elsewhere.example.org/"),
    )

    with pytest.raises(Unauthenticated):
        sender.send(GET)
    assert {"a": 1} == sender.send(GET).body
    with pytest.raises(Exception, match="302"):
        sender.send(GET)


def test_nothing_is_sent_past_the_deadline(
    script: Scripted, sender: Sender
) -> None:
    """There is a connection, and no time."""
    begun(script, sender)
    late = dataclasses.replace(sender, deadline=Deadline(0.0))

    with pytest.raises(Unavailable):
        late.send(GET)

    assert 1 == len(script.sent)


def test_the_log_of_urllib3_has_it(
    script: Scripted, sender: Sender, caplog: pytest.LogCaptureFixture
) -> None:
    """A reader or filter of its lines gets the same lines."""
    caplog.set_level(logging.DEBUG, "urllib3.connectionpool")
    begun(script, sender)
    script.then(says(200, {}))
    sender.send(GET)

    lines = [
        record.getMessage()
        for record in caplog.records
        if "GET" in record.getMessage()
    ]
    assert 2 == len(lines)
    assert lines[0].split()[:5] == lines[1].split()[:5]
