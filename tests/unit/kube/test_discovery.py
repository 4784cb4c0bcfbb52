"""Which kinds a server has. Answers in the form of kube-apiserver 1.36.3."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import concurrent.futures
import pathlib
import threading
from typing import Any

import pytest

from tacker_k8s_cr.kube.discovery import Discovery
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import KindNotServed
from tacker_k8s_cr.model.errors import Unavailable
from tacker_k8s_cr.model.objects import GroupKind

WIDGET = GroupKind("example.org", "Widget")
GADGET = GroupKind("example.org", "Gadget")


def entry(kind: str, **more: Any) -> dict[str, Any]:
    name = more.pop("name", f"{kind.lower()}s")
    verbs = more.pop("verbs", ["get", "list"])
    return {"name": name, "kind": kind, "namespaced": True, "verbs": verbs}


class Server:
    """Answers paths from a dictionary, and remembers them."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        versions = [{"version": "v1"}, {"version": "v2"}]
        group = {
            "name": "example.org",
            "versions": versions,
            "preferredVersion": {"version": "v2"},
        }
        self.paths: dict[str, Any] = {
            "/api": {"versions": ["v1"]},
            "/api/v1": {"resources": [entry("Pod")]},
            "/apis": {"groups": [group]},
            "/apis/example.org/v1": {
                "resources": [entry("Widget"), entry("Gadget")]
            },
            "/apis/example.org/v2": {
                "resources": [
                    entry("Widget"),
                    entry("Scale", name="widgets/scale"),
                    entry("Secretive", verbs=["create"]),
                ]
            },
        }

    def __call__(self, path: str, deadline: Deadline) -> Mapping[str, Any]:
        self.asked.append(path)
        found = self.paths.get(path, {})
        if isinstance(found, Exception):
            raise found
        return found  # type: ignore[no-any-return]


@pytest.fixture
def server() -> Server:
    return Server()


def test_the_preferred_version(server: Server) -> None:
    """Without a version the group's preferred one is meant."""
    found = Discovery().resource(server, WIDGET, "")

    assert "example.org/v2" == found.api_version
    assert {"scale"} == found.subresources


def test_a_kind_missing_in_the_preferred_version(server: Server) -> None:
    """It is looked for in the others."""
    found = Discovery().resource(server, GADGET, "")

    assert "example.org/v1" == found.api_version


@pytest.mark.requirement("P4", "P25")
def test_one_group_is_asked_for_once(server: Server) -> None:
    """A named version costs one request, whatever the number of kinds."""
    discovery = Discovery()

    for _ in range(3):
        discovery.resource(server, WIDGET, "v1")
        discovery.resource(server, GADGET, "v1")

    assert ["/apis/example.org/v1"] == server.asked


@pytest.mark.requirement("P25")
def test_among_500_groups_only_the_one_that_is_used_is_read(
    server: Server,
) -> None:
    """A kind costs three requests, and none is for another group."""
    server.paths["/apis"]["groups"] += [
        {
            "name": f"{number}.example.org",
            "versions": [{"version": "v1"}],
            "preferredVersion": {"version": "v1"},
        }
        for number in range(500)
    ]

    Discovery().resource(server, WIDGET, "")

    assert ["/api", "/apis", "/apis/example.org/v2"] == server.asked


@pytest.mark.requirement("P4")
def test_nothing_is_shared_between_two_runs(
    server: Server,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each one reads a group again, and none writes a file."""
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)

    for _ in range(2):
        Discovery().resource(server, WIDGET, "v1")

    assert 2 * ["/apis/example.org/v1"] == server.asked
    assert [] == list(tmp_path.iterdir())


@pytest.mark.requirement("P4")
def test_a_miss_asks_again(server: Server) -> None:
    """A kind that was defined since is found."""
    discovery = Discovery()
    discovery.resource(server, WIDGET, "v1")
    new = entry("Sprocket")
    server.paths["/apis/example.org/v1"]["resources"].append(new)

    found = discovery.resource(
        server, GroupKind("example.org", "Sprocket"), "v1"
    )

    assert "sprockets" == found.plural


def test_a_group_that_is_new(server: Server) -> None:
    """A group that came since the groups were asked for is found."""
    discovery = Discovery()
    discovery.resource(server, WIDGET, "")
    server.paths["/apis"]["groups"].append(
        {
            "name": "new.org",
            "versions": [{"version": "v1"}],
            "preferredVersion": {"version": "v1"},
        }
    )
    server.paths["/apis/new.org/v1"] = {"resources": [entry("New")]}

    assert discovery.resource(server, GroupKind("new.org", "New"), "")


@pytest.mark.requirement("P4")
def test_a_forgotten_group_is_discovered_again(server: Server) -> None:
    """The other groups are not requested."""
    discovery = Discovery()
    discovery.resource(server, WIDGET, "v1")
    discovery.resource(server, GroupKind("", "Pod"), "v1")
    server.asked.clear()

    discovery.invalidate("example.org")
    discovery.resource(server, WIDGET, "v1")
    discovery.resource(server, GroupKind("", "Pod"), "v1")

    assert ["/apis/example.org/v1"] == server.asked


def test_an_unknown_kind(server: Server) -> None:
    """It is named, and a version that is not served with those that are."""
    with pytest.raises(KindNotServed) as caught:
        Discovery().resource(server, GroupKind("nope.org", "Nope"), "v1")
    assert () == caught.value.served

    with pytest.raises(KindNotServed) as caught:
        Discovery().resource(server, WIDGET, "v3")
    assert ("v2", "v1") == caught.value.served


def test_all_that_can_be_listed(server: Server) -> None:
    """Each kind once, at the version it is read at."""
    found = {
        resource.group_kind: resource.version
        for resource in Discovery().resources(server)
    }

    assert {GroupKind("", "Pod"): "v1", WIDGET: "v2", GADGET: "v1"} == found


def test_a_broken_group_is_left_out(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """One aggregated API that is away does not hide all others."""
    server.paths["/apis/example.org/v2"] = Unavailable("get", 503, "away")

    found = {r.group_kind for r in Discovery().resources(server)}

    assert {GroupKind("", "Pod"), WIDGET, GADGET} == found
    assert "example.org/v2" in caplog.text


def test_each_group_has_its_own_time(server: Server) -> None:
    """Two that say nothing, or a slow server, cost none of the others."""
    now = 0.0
    deadline = Deadline(300.0, lambda: now)
    silent = ["/apis/example.org/v1", "/apis/example.org/v2"]
    later = {
        "name": "later.org",
        "versions": [{"version": "v1"}],
        "preferredVersion": {"version": "v1"},
    }
    server.paths["/apis"]["groups"].append(later)
    server.paths["/apis/later.org/v1"] = {"resources": [entry("Late")]}

    def ask(path: str, until: Deadline) -> Mapping[str, Any]:
        nonlocal now
        if path in silent:
            now += until.remaining
            raise Unavailable(path, 504, "silent")
        now += 9.0
        assert not until.expired
        return server(path, until)

    found = {r.group_kind for r in Discovery().resources(ask, deadline)}

    assert {GroupKind("", "Pod"), GroupKind("later.org", "Late")} == found
    assert 4 * 9.0 + 2 * 10.0 == now


# -- Many threads, and a long time --------------------------------------------

SLOW = GroupKind("slow.org", "Slow")
SECONDS = 20.0


class Hesitant(Server):
    """Delays its answer for one path on request."""

    def __init__(self) -> None:
        super().__init__()
        self.paths["/apis/slow.org/v1"] = {"resources": [entry("Slow")]}
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, path: str, deadline: Deadline) -> Mapping[str, Any]:
        found = super().__call__(path, deadline)
        if path == "/apis/slow.org/v1":
            self.begun.set()
            assert self.go_on.wait(SECONDS)
        return found


@pytest.fixture
def slow_server() -> Iterator[Hesitant]:
    server = Hesitant()
    yield server
    server.go_on.set()


@pytest.fixture
def in_background() -> Iterator[Callable[..., concurrent.futures.Future[Any]]]:
    """Calls in threads of their own."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        yield pool.submit


def test_a_silent_group_holds_up_no_other(
    slow_server: Hesitant,
    in_background: Callable[..., concurrent.futures.Future[Any]],
) -> None:
    """Operations on one VIM share what is known, but not their waits."""
    discovery = Discovery()
    slow = in_background(discovery.resource, slow_server, SLOW, "v1")
    assert slow_server.begun.wait(SECONDS)

    try:
        found = in_background(discovery.resource, slow_server, WIDGET, "v1")
        assert "widgets" == found.result(SECONDS / 2).plural
        in_background(discovery.invalidate, "example.org").result(SECONDS / 2)
    finally:
        slow_server.go_on.set()
    assert "slows" == slow.result(SECONDS).plural


def test_one_thread_asks_for_all(
    slow_server: Hesitant,
    in_background: Callable[..., concurrent.futures.Future[Any]],
) -> None:
    """Who wants the same waits for its answer, until its own deadline."""
    discovery = Discovery()
    first = in_background(discovery.resource, slow_server, SLOW, "v1")
    assert slow_server.begun.wait(SECONDS)
    more = [
        in_background(discovery.resource, slow_server, SLOW, "v1")
        for _ in range(6)
    ]
    hasty = in_background(
        discovery.resource, slow_server, SLOW, "v1", Deadline.after(0.05)
    )

    try:
        with pytest.raises(Unavailable) as caught:
            hasty.result(SECONDS / 2)
    finally:
        slow_server.go_on.set()

    assert "/apis/slow.org/v1: the deadline passed" in str(caught.value)
    assert {"slows"} == {one.result(SECONDS).plural for one in [first, *more]}
    assert 1 == slow_server.asked.count("/apis/slow.org/v1")


def test_what_is_forgotten_while_it_is_asked_for(
    slow_server: Hesitant,
    in_background: Callable[..., concurrent.futures.Future[Any]],
) -> None:
    """An answer from before is not kept: a definition came since."""
    discovery = Discovery()
    slow = in_background(discovery.resource, slow_server, SLOW, "v1")
    assert slow_server.begun.wait(SECONDS)

    try:
        in_background(discovery.invalidate, "slow.org").result(SECONDS / 2)
    finally:
        slow_server.go_on.set()
    slow.result(SECONDS)
    discovery.resource(slow_server, SLOW, "v1")

    assert 2 == slow_server.asked.count("/apis/slow.org/v1")


def test_a_cached_answer_expires(server: Server) -> None:
    """After five minutes it is requested again, however busy a VIM is."""
    now = 0.0
    discovery = Discovery(lambda: now)
    first = discovery.resource(server, WIDGET, "")
    group = server.paths["/apis"]["groups"][0]
    group["preferredVersion"] = {"version": "v1"}

    now = 299.0
    assert first == discovery.resource(server, WIDGET, "")
    now = 300.0
    assert "v1" == discovery.resource(server, WIDGET, "").version
    assert 2 == server.asked.count("/apis")


def test_an_old_answer_is_better_than_none(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the server does not answer, using the cached response."""
    now = 0.0
    discovery = Discovery(lambda: now)
    known = discovery.resource(server, WIDGET, "v1")
    away = Unavailable("get", 503, "away")
    server.paths["/apis/example.org/v1"] = away

    now = 300.0
    found = [discovery.resource(server, WIDGET, "v1") for _ in range(3)]

    assert [known] * 3 == found
    assert 2 == len(server.asked)
    assert "using the cached response" in caplog.text


def test_an_expired_cache_does_not_block_other_threads(
    slow_server: Hesitant,
    in_background: Callable[..., concurrent.futures.Future[Any]],
) -> None:
    """One thread asks again; the others go on with what is known."""
    now = 0.0
    discovery = Discovery(lambda: now)
    slow_server.go_on.set()
    known = discovery.resource(slow_server, SLOW, "v1")
    slow_server.go_on.clear()
    slow_server.begun.clear()

    now = 300.0
    asks = in_background(discovery.resource, slow_server, SLOW, "v1")
    assert slow_server.begun.wait(SECONDS)
    try:
        other = in_background(discovery.resource, slow_server, SLOW, "v1")
        assert known == other.result(SECONDS / 2)
    finally:
        slow_server.go_on.set()
    assert known == asks.result(SECONDS)
