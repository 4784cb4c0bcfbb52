"""Requests on a connection that has carried one before."""

from __future__ import annotations

import dataclasses
import logging

import pytest

from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.requests import Client
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Unauthenticated
from tacker_k8s_cr.model.errors import Unavailable
from tests.unit.kube.scripted_server import Handler
from tests.unit.kube.scripted_server import ScriptedServer
from tests.unit.kube.scripted_server import answer_json
from tests.unit.kube.scripted_server import answer_status
from tests.unit.kube.scripted_server import close_connection

GET = Request("get", "GET", "/version", "/version")
PUT = Request("update", "PUT", "/api/a", "a", body=b'{"b": 1}')


def begun(script: ScriptedServer, sender: Client) -> None:
    """One request, whose connection is there for the next."""
    script.replies.insert(0, answer_json(200, {}))
    sender.send(GET)


def ends(handler: Handler) -> None:
    """An answer, after which the server closes the connection unsaid."""
    answer_json(200, {})(handler)
    handler.close_connection = True


def test_a_connection_is_used_again(
    script: ScriptedServer, sender: Client
) -> None:
    """Its requests are what the first one was."""
    begun(script, sender)
    script.then(answer_json(200, {"a": 1}), answer_json(201, {"b": 2}))

    answers = [sender.send(GET), sender.send(PUT)]

    assert [{"a": 1}, {"b": 2}] == [answer.body for answer in answers]
    first, second, third = script.sent
    assert first.headers == second.headers
    assert first.connection == second.connection == third.connection
    assert {"b": 1} == third.body
    assert 3 == sender.counter.total


def test_an_answer_in_chunks_is_read(
    script: ScriptedServer, sender: Client
) -> None:
    """As a proxy may send it."""

    def chunked(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for part in (b'{"a":', b" 1}", b""):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))

    begun(script, sender)
    script.then(chunked, answer_json(200, {"b": 2}))

    assert {"a": 1} == sender.send(GET).body
    assert {"b": 2} == sender.send(GET).body
    assert 1 == len({sent.connection for sent in script.sent})


def test_a_closed_connection_is_replaced(
    script: ScriptedServer, sender: Client, recorded_pauses: list[float]
) -> None:
    """And so does one that closes without a word, when that has come."""
    begun(script, sender)
    script.then(
        answer_json(200, {}, Connection="close"),
        ends,
        answer_json(200, {"a": 1}),
    )
    sender.send(GET)
    sender.send(GET)

    answer = sender.send(GET)

    assert {"a": 1} == answer.body
    assert 3 == len({sent.connection for sent in script.sent})
    # Whether the end has come by then is for the system to say.
    assert 1 >= len(recorded_pauses)


def test_a_connection_that_breaks_is_made_again(
    script: ScriptedServer, sender: Client, recorded_pauses: list[float]
) -> None:
    """The request may have been carried out."""
    begun(script, sender)
    script.then(close_connection, answer_json(200, {"a": 1}))

    answer = sender.send(PUT)

    assert {"a": 1} == answer.body
    assert answer.repeated
    assert 1 == len(recorded_pauses)


def test_an_invalid_answer_breaks_the_connection(
    script: ScriptedServer, sender: Client, recorded_pauses: list[float]
) -> None:
    """Nothing that came is taken for an answer."""

    def garbled(handler: Handler) -> None:
        handler.wfile.write(b"garbage\r\n\r\n")
        handler.close_connection = True

    begun(script, sender)
    script.then(garbled, answer_json(200, {"a": 1}))

    assert {"a": 1} == sender.send(GET).body
    assert 1 == len(recorded_pauses)


def test_a_silent_server_times_out(
    script: ScriptedServer, sender: Client
) -> None:
    """In the time that the request has; the connection is not used again."""

    def silent(handler: Handler) -> None:
        handler.close_connection = True
        handler.script.over.wait(20)

    begun(script, sender)
    script.then(silent, answer_json(200, {"a": 1}))
    hasty = dataclasses.replace(sender, deadline=Deadline.after(0.2))

    with pytest.raises(Exception, match="did not answer in time"):
        hasty.send(GET)

    assert {"a": 1} == sender.send(GET).body


def test_refusals_are_unchanged(
    script: ScriptedServer, sender: Client
) -> None:
    """With the server's message, and the time until the next try."""
    begun(script, sender)
    script.then(
        answer_status(401, "Unauthorized"),
        answer_json(429, {"message": "busy"}, Retry_After="2"),
        answer_json(200, {"a": 1}),
        answer_json(302, "", Location="http://elsewhere.example.org/"),
    )

    with pytest.raises(Unauthenticated):
        sender.send(GET)
    assert {"a": 1} == sender.send(GET).body
    with pytest.raises(Exception, match="302"):
        sender.send(GET)


def test_nothing_is_sent_past_the_deadline(
    script: ScriptedServer, sender: Client
) -> None:
    """There is a connection, and no time."""
    begun(script, sender)
    late = dataclasses.replace(sender, deadline=Deadline(0.0))

    with pytest.raises(Unavailable):
        late.send(GET)

    assert 1 == len(script.sent)


def test_the_log_of_urllib3_has_it(
    script: ScriptedServer, sender: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """A reader or filter of its lines gets the same lines."""
    caplog.set_level(logging.DEBUG, "urllib3.connectionpool")
    begun(script, sender)
    script.then(answer_json(200, {}))
    sender.send(GET)

    lines = [
        record.getMessage()
        for record in caplog.records
        if "GET" in record.getMessage()
    ]
    assert 2 == len(lines)
    assert lines[0].split()[:5] == lines[1].split()[:5]
