"""One request, and again where its answer calls for that."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import socket
import time
from typing import Any

import pytest

from tacker_k8s_cr.kube.connection import Connection
from tacker_k8s_cr.kube.first_answer import FirstAnswer
from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.requests import Client
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Conflict
from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.errors import Forbidden
from tacker_k8s_cr.model.errors import Unauthenticated
from tacker_k8s_cr.model.errors import Unavailable
from tacker_k8s_cr.model.errors import Unreachable
from tacker_k8s_cr.model.objects import ObjectRef
from tests.unit.kube.scripted_server import Handler
from tests.unit.kube.scripted_server import Reply
from tests.unit.kube.scripted_server import ScriptedServer
from tests.unit.kube.scripted_server import answer_json
from tests.unit.kube.scripted_server import answer_status
from tests.unit.kube.scripted_server import close_connection

GET = Request("get", "GET", "/version", "/version")
SERVED = {
    "resources": [
        {
            "name": "configmaps",
            "kind": "ConfigMap",
            "namespaced": True,
            "verbs": ["list"],
        }
    ]
}
CORE = {"versions": ["v1"]}
GROUPS = {"groups": []}
MADE = "2026-01-01T00:00:07Z"
SOON = "2026-01-01T00:00:08Z"
LATER = "2026-01-01T00:00:59Z"
MANIFEST = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "one", "namespace": "ns", "resourceVersion": "1"},
    "data": {"a": "1"},
}


def test_a_request_identifies_the_client(
    script: ScriptedServer, sender: Client
) -> None:
    """It has the token, and no header that was not set."""
    script.then(answer_json(200, {"gitVersion": "v1"}))

    answer = sender.send(GET)

    assert {"gitVersion": "v1"} == answer.body
    (sent,) = script.sent
    assert "Bearer t0ken" == sent.headers["Authorization"]
    assert "tacker-k8s-cr" == sent.headers["User-Agent"]
    assert 1 == sender.counter.total


@pytest.mark.requirement("P5")
def test_the_server_is_given_the_time_it_asks_for(
    script: ScriptedServer, sender: Client, recorded_pauses: list[float]
) -> None:
    """Retry-After is honoured; a restarted server sends it."""
    script.then(
        answer_json(
            429, {"message": "storage is (re)initializing"}, Retry_After="1"
        ),
        answer_json(503, {"message": "please try again"}, Retry_After="5"),
        answer_json(200, {"a": 1}),
    )

    assert {"a": 1} == sender.send(GET).body
    assert [1.0, 5.0] == recorded_pauses
    assert 3 == sender.counter.total


def test_an_unanswered_request_is_sent_on_another_connection(
    script: ScriptedServer, sender: Client
) -> None:
    """Behind a balancer the next one may lead to another server."""
    script.then(
        answer_json(200, {"a": 1}),
        answer_json(504, {"message": "request did not complete"}),
        answer_json(429, {"message": "too many"}),
        answer_json(200, {"a": 2}),
    )

    sender.send(GET)
    sender.send(GET)

    before, failed, busy, after = (sent.connection for sent in script.sent)
    assert before == failed != busy
    assert busy == after


def nested(sender: Client, reply: Reply) -> Reply:
    """Reply after another request, which is sent while this one is open."""

    def after(handler: Handler) -> None:
        sender.send(GET)
        reply(handler)

    return after


@pytest.mark.parametrize(
    "failure",
    [close_connection, answer_json(504, {"message": "no answer of etcd"})],
)
def test_a_connection_that_answered_meanwhile_is_used_next(
    script: ScriptedServer, sender: Client, failure: Reply
) -> None:
    """Its server works; a new connection might lead to the one that fails."""
    script.then(nested(sender, answer_json(200, {})), answer_json(200, {}))
    sender.send(GET)
    script.then(
        nested(sender, failure),
        answer_json(200, {}),
        answer_json(200, {"a": 2}),
    )

    assert {"a": 2} == sender.send(GET).body

    one, other, failed, answered, again = (
        sent.connection for sent in script.sent
    )
    assert one == failed != other == answered
    assert answered == again


def test_some_attempts_are_made_though_each_took_long(
    script: ScriptedServer, sender: Client
) -> None:
    """Several new connections may lead to the one server that is away."""
    times = itertools.count(0.0, 10.0)
    slow = dataclasses.replace(sender, clock=lambda: next(times))
    script.then(*[close_connection] * 5, answer_json(200, {"a": 1}))

    assert {"a": 1} == slow.send(GET).body


def test_no_more_attempts_are_made_after_three_minutes(
    script: ScriptedServer, sender: Client
) -> None:
    """A server that leaves each request without an answer is given up."""
    times = itertools.count(0.0, 95.0)
    slow = dataclasses.replace(sender, clock=lambda: next(times))
    script.then(*[close_connection] * 6)

    with pytest.raises(Unreachable):
        slow.send(GET)

    assert 2 == len(script.sent)


def test_a_server_that_stays_busy(
    script: ScriptedServer, sender: Client
) -> None:
    """When the server asks for more than there is, that is the end."""
    script.then(answer_json(503, {"message": "busy"}, Retry_After="60"))

    with pytest.raises(Unavailable, match=r"get /version: busy \(503\)"):
        sender.send(GET)

    assert 1 == sender.counter.total


@pytest.mark.requirement("P5")
def test_retries_are_limited(script: ScriptedServer, sender: Client) -> None:
    """A persistent internal error is raised, without a deadline too."""
    ticks = iter(range(1000))
    endless = dataclasses.replace(
        sender,
        deadline=Deadline.never(),
        clock=lambda: float(next(ticks)),
    )
    script.then(*[answer_status(500, "boom")] * 40)

    with pytest.raises(Unavailable, match="boom"):
        endless.send(GET)

    assert 5 < endless.counter.total < 15


def test_no_request_past_the_deadline(
    script: ScriptedServer, sender: Client
) -> None:
    """After the deadline nothing is sent."""
    late = dataclasses.replace(sender, deadline=Deadline.after(-1))

    with pytest.raises(Unavailable, match="the deadline passed"):
        late.send(GET)

    assert [] == script.sent


class Pausing:
    """A clock that a pause moves on, however short the pause was to be."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += 10.0


def test_a_deadline_between_two_attempts_hides_no_reason(
    script: ScriptedServer, sender: Client
) -> None:
    """The error has the reason of the last attempt, and the deadline."""
    clock = Pausing()
    late = dataclasses.replace(
        sender, deadline=Deadline(5.0, clock), sleep=clock.sleep
    )
    script.then(close_connection)

    with pytest.raises(Unreachable) as caught:
        late.send(GET)

    assert 1 == sender.counter.total
    assert caught.value.deadline_passed
    assert caught.value.outcome().endswith(
        "cannot be reached: the connection broke; the deadline passed"
    )


def test_no_pause_exceeds_the_deadline(
    script: ScriptedServer, sender: Client
) -> None:
    """The next attempt would be too late, so the last one is the answer."""
    late = dataclasses.replace(sender, deadline=Deadline(5.0, lambda: 0.0))
    script.then(answer_json(503, {"message": "busy"}, Retry_After="60"))

    with pytest.raises(Unavailable) as caught:
        late.send(GET)

    assert caught.value.deadline_passed
    said = "get /version: busy (503); the deadline passed"
    assert said == caught.value.outcome()


def test_what_patience_ended_is_not_late(
    script: ScriptedServer, sender: Client
) -> None:
    """There was time left; the server was given up before."""
    ticks = iter(range(1000))
    script.then(*[answer_status(500, "boom")] * 40)

    with pytest.raises(Unavailable) as caught:
        dataclasses.replace(
            sender,
            deadline=Deadline.never(),
            clock=lambda: float(next(ticks)),
        ).send(GET)

    assert not caught.value.deadline_passed


def test_a_broken_connection_is_reopened(
    script: ScriptedServer, sender: Client
) -> None:
    """The request is sent again, and the answer records the retry."""
    script.then(close_connection, answer_json(200, {"a": 1}))

    answer = sender.send(GET)

    assert {"a": 1} == answer.body
    assert answer.repeated


def test_a_refused_connection_is_retried(
    sender: Client, recorded_pauses: list[float]
) -> None:
    """A refused connection is tried for a while, and told with its server."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = f"http://127.0.0.1:{port}"
    ticks = iter(range(100_000))
    lost = dataclasses.replace(
        sender,
        transport=_way(server),
        server=server,
        clock=lambda: float(next(ticks)),
    )

    with pytest.raises(Unreachable) as caught:
        lost.send(GET)

    assert f"{server} cannot be reached: Connection refused" in str(
        caught.value
    )
    assert recorded_pauses


@pytest.mark.requirement("P25")
def test_a_connection_that_is_not_accepted_is_not_waited_for(
    sender: Client,
) -> None:
    """The queue of the server is full, as if a network dropped packets."""
    with contextlib.ExitStack() as queue:
        full = queue.enter_context(
            socket.create_server(("127.0.0.1", 0), backlog=0)
        )
        for _ in range(4):
            waiting = queue.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        server = f"http://127.0.0.1:{full.getsockname()[1]}"
        lost = dataclasses.replace(
            sender,
            transport=_way(server),
            server=server,
            deadline=Deadline.after(2),
        )
        begun = time.monotonic()

        with pytest.raises(Unreachable, match="no answer"):
            lost.send(GET)

    assert time.monotonic() - begun < 10


def nobody(sender: Client, contact: FirstAnswer | None, **more: Any) -> Client:
    """Sends to a port on which no process listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = f"http://127.0.0.1:{port}"
    return dataclasses.replace(
        sender, transport=_way(server), server=server, contact=contact, **more
    )


def test_a_command_does_not_wait_long_for_the_first_answer(
    sender: Client, recorded_pauses: list[float]
) -> None:
    """Three attempts; the retry is reported once, with the reason."""
    said: list[str] = []
    lost = nobody(sender, FirstAnswer(said.append))

    with pytest.raises(Unreachable, match="Connection refused") as caught:
        lost.send(GET)

    assert 3 == sender.counter.total
    assert 2 == len(recorded_pauses)
    assert not caught.value.deadline_passed
    assert [
        f"the API server {lost.server} cannot be reached: Connection refused; "
        "retrying (at most 3 attempts, 5 s)"
    ] == said


def test_a_command_waits_for_no_more_than_five_seconds(
    sender: Client, recorded_pauses: list[float]
) -> None:
    """Where each attempt takes long, as in a network that drops packets."""
    ticks = itertools.count(0.0, 3.0)
    lost = nobody(sender, FirstAnswer(), clock=lambda: next(ticks))

    with pytest.raises(Unreachable):
        lost.send(GET)

    assert 1 == sender.counter.total


def test_a_running_operation_survives_a_restart(
    script: ScriptedServer, sender: Client, recorded_pauses: list[float]
) -> None:
    """After one answer, whatever it has, the usual limits hold."""
    contact = FirstAnswer()
    script.then(answer_status(403, "no", "Forbidden"))
    with pytest.raises(Forbidden):
        dataclasses.replace(sender, contact=contact).send(GET)
    ticks = itertools.count(0.0, 1.0)
    lost = nobody(sender, contact, clock=lambda: next(ticks))

    with pytest.raises(Unreachable):
        lost.send(GET)

    assert len(recorded_pauses) > 5


def test_a_refused_credential_is_final(
    script: ScriptedServer, sender: Client
) -> None:
    """A fixed token that was refused is not tried again."""
    script.then(answer_status(401, "Unauthorized", "Unauthorized"))

    with pytest.raises(Unauthenticated):
        sender.send(GET)

    assert 1 == sender.counter.total


def test_a_server_that_is_not_an_api_server(
    script: ScriptedServer, sender: Client
) -> None:
    """A page of something else is not taken for an answer, nor shown."""
    script.then(answer_json(200, "<html>s3cret</html>"))

    with pytest.raises(Unreachable, match="not from a Kubernetes API server"):
        sender.send(GET)


def test_a_page_of_a_proxy_is_not_shown(
    script: ScriptedServer, sender: Client
) -> None:
    """Only a line of plain text is quoted of what is not a Status."""
    script.then(
        answer_json(400, "<html>s3cret</html>"),
        answer_json(400, "plain words"),
    )

    for expected in ("no message of Kubernetes", "plain words"):
        with pytest.raises(Exception, match=expected) as caught:
            sender.send(GET)
        assert "s3cret" not in str(caught.value)


def test_redirects_are_not_followed(
    script: ScriptedServer, sender: Client
) -> None:
    """The credential goes to the server that was named, and no other."""
    script.then(answer_json(302, "", Location="http://evil.example.org/"))

    with pytest.raises(Exception, match="302"):
        sender.send(GET)

    assert 1 == sender.counter.total


def test_a_write_whose_answer_was_lost(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """A replace that was done is not mistaken for another client's."""
    live = {**MANIFEST, "metadata": {**MANIFEST["metadata"], "uid": "u"}}
    script.then(
        answer_json(200, SERVED),
        close_connection,
        answer_status(409, "the object has been modified", "Conflict"),
        answer_json(200, {"versions": ["v1"]}),
        answer_json(200, {"groups": []}),
        answer_json(200, live),
    )

    assert live == cluster.replace(MANIFEST, "m")


def test_a_write_that_another_client_preceded(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """A replace whose answer was lost, over another client's write."""
    script.then(
        answer_json(200, SERVED),
        close_connection,
        answer_status(409, "the object has been modified", "Conflict"),
        answer_json(200, {"versions": ["v1"]}),
        answer_json(200, {"groups": []}),
        answer_json(200, {**MANIFEST, "data": {"a": "2"}}),
    )

    with pytest.raises(Conflict, match="has been modified"):
        cluster.replace(MANIFEST, "m")


@pytest.mark.parametrize(
    ("time", "wrote", "ours"),
    [
        (MADE, "f:status", True),
        (SOON, "f:status", True),
        (SOON, "f:data", False),
        (LATER, "f:status", False),
    ],
)
def test_an_apply_whose_answer_was_lost(
    script: ScriptedServer, cluster: Cluster, time: str, wrote: str, ours: bool
) -> None:
    """It created the object if that is not older and no other client did.

    A server writes an object with empty mappings each time it is applied.
    """
    other = {"manager": "k", "operation": "Update", "time": MADE}
    entries = [
        {"manager": "m", "operation": "Apply", "time": time},
        {**other, "fieldsV1": {wrote: {}}},
    ]
    metadata = {
        **MANIFEST["metadata"],
        "creationTimestamp": MADE,
        "managedFields": entries,
    }
    script.then(
        answer_json(200, SERVED),
        close_connection,
        answer_json(200, {**MANIFEST, "metadata": metadata}),
    )

    assert ours == cluster.apply(MANIFEST, "m").created


ONE = ObjectRef("", "ConfigMap", "ns", "one")
AWAY = answer_status(500, 'failed calling webhook "a.example.org": refused')


def test_a_delete_while_a_webhook_is_unreachable(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """It is sent again, as after any answer that may be another soon."""
    script.then(
        answer_json(200, CORE),
        answer_json(200, GROUPS),
        answer_json(200, SERVED),
    )
    script.then(AWAY, answer_status(200, "", status="Success"))

    assert cluster.delete(ONE, "uid") is None

    assert ["DELETE", "DELETE"] == [s.method for s in script.sent[-2:]]


def test_a_patch_while_a_webhook_is_unreachable(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """The same; where that does not help, the webhook's words are quoted."""
    script.then(
        answer_json(200, CORE),
        answer_json(200, GROUPS),
        answer_json(200, SERVED),
    )
    script.then(AWAY, answer_json(200, MANIFEST))
    assert cluster.patch(ONE, {"data": {}}, "m") == MANIFEST
    words = 'failed calling webhook "a.example.org": refused'
    # After the deadline, which leaves no time for another attempt.
    script.then(answer_json(500, {"message": words}, Retry_After="60"))

    with pytest.raises(
        DependencyMissing, match=r"webhook \"a\.example\.org\""
    ):
        cluster.patch(ONE, {"data": {}}, "m")


def test_an_apply_while_a_webhook_is_unreachable(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """Who applies has others to go on with, and repeats it later."""
    script.then(answer_json(200, SERVED), AWAY)

    with pytest.raises(DependencyMissing):
        cluster.apply(MANIFEST, "m")

    assert 2 == len(script.sent)


def _way(server: str) -> Connection:
    kubeconfig = Kubeconfig(where="test", server=server)
    return Connection(lambda: kubeconfig, verify=True, size=1)
