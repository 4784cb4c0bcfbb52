"""A watch continues where it ended, or lists again.

The events have the form of kube-apiserver 1.36.3's; the endings are those
seen of it, and those a network adds.
"""

from __future__ import annotations

import dataclasses
import itertools
import threading
from typing import Any

import pytest

from tacker_k8s_cr.kube.http.requests import Client
from tacker_k8s_cr.kube.pagination import ListQuery
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Snapshot
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchUpdate
from tacker_k8s_cr.kube.reflector import Reflector
from tacker_k8s_cr.kube.reflector import StreamClosed
from tacker_k8s_cr.kube.reflector import StreamGroup
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Forbidden
from tacker_k8s_cr.model.errors import Unauthenticated
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Resource
from tests.unit.kube.scripted_server import ScriptedServer
from tests.unit.kube.scripted_server import answer_events
from tests.unit.kube.scripted_server import answer_json
from tests.unit.kube.scripted_server import answer_status
from tests.unit.kube.scripted_server import close_connection

WATCH = Watch(GroupKind("", "ConfigMap"), "ns", "a=b")
SERVED = (
    answer_json(200, {"versions": ["v1"]}),
    answer_json(200, {"groups": []}),
    answer_json(
        200,
        {
            "resources": [
                {
                    "name": "configmaps",
                    "kind": "ConfigMap",
                    "namespaced": True,
                    "verbs": ["list", "watch"],
                }
            ]
        },
    ),
)
TOO_OLD = {
    "type": "ERROR",
    "object": {
        "kind": "Status",
        "message": "too old resource version: 1 (3)",
        "reason": "Expired",
        "code": 410,
    },
}


def listed(version: str, *names: str, **metadata: str) -> Any:
    items = [{"metadata": {"name": name, "namespace": "ns"}} for name in names]
    return answer_json(
        200,
        {
            "metadata": {"resourceVersion": version, **metadata},
            "items": items,
        },
    )


def event(kind: str, version: str, name: str = "one") -> dict[str, Any]:
    return {
        "type": kind,
        "object": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "resourceVersion": version},
        },
    }


def brought(cluster: Cluster, count: int) -> list[WatchUpdate]:
    """The first observations of the watch."""
    deadline = Deadline.after(10)
    taken: list[WatchUpdate] = []
    with cluster.watch([WATCH]) as watching:
        while len(taken) < count and not deadline.expired:
            taken.extend(watching.next_events(deadline.remaining))
    # More may have come at once with the last.
    return taken[:count]


def update_values(taken: list[WatchUpdate]) -> list[Any]:
    """Names in a list; version and whether gone of a change."""
    return [
        [obj["metadata"]["name"] for obj in item.objs]
        if isinstance(item, Snapshot)
        else (item.obj["metadata"]["resourceVersion"], item.deleted)
        for item in taken
    ]


def requested_versions(script: ScriptedServer) -> list[str]:
    """What each list and watch asked to begin with."""
    paths = [sent.path for sent in script.sent if "/configmaps" in sent.path]
    return [
        path.split("resourceVersion=")[1].split("&")[0]
        if "watch=true" in path
        else "list"
        for path in paths
    ]


@pytest.mark.requirement("P25")
def test_changes_follow_the_list(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """A watch starts from the list's version, with a selector, bookmarks."""
    script.then(
        *SERVED,
        listed("7", "one"),
        answer_events(event("MODIFIED", "8"), event("DELETED", "9")),
    )

    taken = brought(cluster, 3)

    assert [["one"], ("8", False), ("9", True)] == update_values(taken)
    path = script.sent[4].path
    assert path.startswith("/api/v1/namespaces/ns/configmaps?")
    assert "labelSelector=a%3Db" in path
    assert "allowWatchBookmarks=true" in path
    assert "timeoutSeconds=" in path


@pytest.mark.requirement("P25")
def test_a_watch_does_not_last(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """So that a silent one is not believed for long."""
    script.then(*SERVED, listed("7"), answer_events(event("ADDED", "8")))

    brought(cluster.with_deadline(Deadline.after(300)), 2)

    requested_versions = (
        script.sent[4].path.split("timeoutSeconds=")[1].split("&")[0]
    )
    assert 30 <= int(requested_versions) <= 38


class Noting(StreamGroup):
    """Ends after some pauses, for which no time passes."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.paused: list[float] = []
        self._most = most

    def sleep(self, seconds: float) -> None:
        self.paused.append(seconds)
        if len(self.paused) == self._most:
            raise StreamClosed


@pytest.mark.parametrize(("seconds", "sent"), [(0.0, 1), (20.0, 2)])
@pytest.mark.requirement("P25")
def test_a_quiet_watch_is_followed_by_the_next(
    script: ScriptedServer, sender: Client, seconds: float, sent: int
) -> None:
    """At once, where it had lasted: what happens then is not missed."""
    now = itertools.count(0.0, seconds)
    timed = dataclasses.replace(
        sender, deadline=Deadline.after(99), clock=lambda: next(now)
    )
    kind = Resource("", "v1", "ConfigMap", "configmaps", True, frozenset())
    line = Noting(1)
    broken = answer_json(200, "no JSON\n")
    script.then(answer_events(), *[broken] * 3)
    stream = Reflector(timed, line, ListQuery(kind), lambda obj, gone: None)

    with pytest.raises(StreamClosed):
        stream.follow(lambda: "7")

    # What breaks at once is followed by a pause.
    assert sent == len(script.sent)
    assert [0.2] == line.paused


def test_two_watches_without_news_are_not_trusted(
    script: ScriptedServer, sender: Client
) -> None:
    """The server may have stalled: all is listed again, on a new connection.

    A bookmark that brings nothing new does not prove progress either.
    """
    now = itertools.count(0.0, 20.0)
    timed = dataclasses.replace(
        sender, deadline=Deadline.after(99), clock=lambda: next(now)
    )
    kind = Resource("", "v1", "ConfigMap", "configmaps", True, frozenset())
    looks = []

    def look() -> str:
        looks.append(len(script.sent))
        return "7"

    script.then(
        answer_events(),
        answer_events(event("BOOKMARK", "7", "")),
        answer_events(event("BOOKMARK", "8", "")),
        answer_events(),
        *[answer_json(200, "no JSON\n")] * 3,
    )
    stream = Reflector(
        timed, Noting(1), ListQuery(kind), lambda obj, gone: None
    )

    with pytest.raises(StreamClosed):
        stream.follow(look)

    assert [0, 2] == looks
    first, second, third, fourth, fifth = (
        sent.connection for sent in script.sent[:5]
    )
    assert len({first, second, third}) == 3
    # What it brought was new.
    assert third == fourth != fifth


@pytest.mark.parametrize("end", ["proper", "broken"])
@pytest.mark.requirement("P25")
def test_an_ended_watch_is_resumed(
    script: ScriptedServer, cluster: Cluster, end: str
) -> None:
    """It asks for what came after the last event it saw."""
    script.then(
        *SERVED,
        listed("7"),
        answer_events(event("ADDED", "8"), end=end),
        answer_events(event("MODIFIED", "9")),
    )

    assert [[], ("8", False), ("9", False)] == update_values(
        brought(cluster, 3)
    )
    assert ["list", "7", "8"] == requested_versions(script)[:3]


def test_a_bookmark_updates_the_version(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """It is not an object; only its resourceVersion is kept."""
    script.then(
        *SERVED,
        listed("7"),
        answer_events(event("BOOKMARK", "20", "")),
        answer_events(event("ADDED", "21")),
    )

    assert [[], ("21", False)] == update_values(brought(cluster, 2))
    assert ["list", "7", "20"] == requested_versions(script)[:3]


def test_half_an_event_is_none(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """A watch that ends in mid-word goes on before that word."""
    script.then(
        *SERVED,
        listed("7"),
        answer_events(event("ADDED", "8"), '{"type":"MOD', end="broken"),
        answer_events(event("MODIFIED", "9")),
    )

    assert [[], ("8", False), ("9", False)] == update_values(
        brought(cluster, 3)
    )


@pytest.mark.parametrize(
    "expired",
    [
        answer_events(TOO_OLD),
        answer_status(410, "too old resource version", "Expired"),
        answer_events(
            {"type": "ERROR", "object": {"code": 500, "message": "oops"}}
        ),
    ],
)
def test_an_expired_version_is_listed_again(
    script: ScriptedServer, cluster: Cluster, expired: Any
) -> None:
    """After a restart of the server, every watch gets an error 410."""
    script.then(
        *SERVED,
        listed("1", "one"),
        expired,
        listed("3", "two"),
        answer_events(event("ADDED", "4")),
    )

    assert [["one"], ["two"], ("4", False)] == update_values(
        brought(cluster, 3)
    )
    assert ["list", "1", "list", "3"] == requested_versions(script)[:4]


@pytest.mark.requirement("P25")
def test_a_list_in_pages_is_one(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """A watch shows all pages at once."""
    script.then(
        *SERVED,
        listed("7", "one", **{"continue": "token"}),
        listed("7", "two"),
        answer_events(event("ADDED", "8")),
    )

    assert [["one", "two"], ("8", False)] == update_values(brought(cluster, 2))
    assert "continue=token" in script.sent[4].path


def test_a_page_that_expired(script: ScriptedServer, cluster: Cluster) -> None:
    """A list that took too long is asked for in one piece."""
    script.then(
        *SERVED,
        listed("7", "one", **{"continue": "token"}),
        answer_status(
            410, "The provided continue parameter is too old", "Expired"
        ),
        listed("9", "one", "two"),
        answer_events(event("ADDED", "10")),
    )

    assert [["one", "two"], ("10", False)] == update_values(
        brought(cluster, 2)
    )
    assert "limit=" not in script.sent[5].path


def test_a_list_outside_of_a_watch(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """What was shown before a page expired is not shown again."""
    script.then(
        *SERVED,
        listed("7", "one", **{"continue": "token"}),
        answer_status(
            410, "The provided continue parameter is too old", "Expired"
        ),
        listed("9", "one", "two"),
    )

    found = cluster.list_objects(WATCH.group_kind, "ns")

    assert ["one", "two"] == [obj["metadata"]["name"] for obj in found]


def test_a_deleted_kind(script: ScriptedServer, cluster: Cluster) -> None:
    """Objects go with their definition: the list is empty."""
    script.then(*SERVED, answer_json(404, "404 page not found"))

    assert [[]] == update_values(brought(cluster, 1))


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (answer_status(403, 'User "a" cannot list resource "x"'), Forbidden),
        (answer_status(401, "Unauthorized"), Unauthenticated),
    ],
)
def test_a_permanent_error(
    script: ScriptedServer,
    cluster: Cluster,
    reply: Any,
    error: type[Exception],
) -> None:
    """The error of a stream is raised where its changes are taken."""
    script.then(*SERVED, reply)

    with pytest.raises(error):
        brought(cluster, 1)


def test_an_unreachable_webhook_is_waited_for(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """A list that needs a conversion webhook is tried again."""
    words = "conversion webhook for example.org/v1, Kind=A failed: refused"
    script.then(*SERVED, answer_status(500, words), listed("7", "one"))

    assert [["one"]] == update_values(brought(cluster, 1))


def test_a_restart_is_waited_for(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """A server that hangs up, then is not ready, is asked again."""
    busy = answer_json(503, {"message": "not installed"}, Retry_After="0")
    script.then(
        *SERVED,
        listed("7"),
        close_connection,
        busy,
        answer_events(event("ADDED", "8")),
    )

    assert [[], ("8", False)] == update_values(brought(cluster, 2))


def test_past_its_deadline_a_stream_is_silent(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """The caller raises the timeout, with the objects that it waited for."""
    late = cluster.with_deadline(Deadline.after(0))

    with late.watch([WATCH]) as watching:
        assert [] == list(watching.next_events(0.01))


def test_a_timeout_of_a_request_does_not_end_the_wait(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """The caller has the deadline for that, and names its objects."""
    script.then(*[close_connection] * 40)
    # There is no time for a pause, and so not for another attempt.
    late = cluster.with_deadline(Deadline(60.0, lambda: 59.95))
    before = set(threading.enumerate())

    with late.watch([WATCH]) as watching:
        for thread in set(threading.enumerate()) - before:
            if thread.name == "watch":
                thread.join(10)
                assert not thread.is_alive()
        assert [] == watching.next_events(0.01)
