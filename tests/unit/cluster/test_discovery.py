"""Which kinds a server has. Answers in the form of kube-apiserver 1.36.3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tacker_k8s_cr.cluster.discovery import Discovery
from tacker_k8s_cr.errors import KindUnknown
from tacker_k8s_cr.errors import Unavailable
from tacker_k8s_cr.objects import GroupKind

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

    def __call__(self, path: str) -> Mapping[str, Any]:
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


def test_a_kind_the_preferred_version_lacks(server: Server) -> None:
    """It is looked for in the others."""
    found = Discovery().resource(server, GADGET, "")

    assert "example.org/v1" == found.api_version


def test_one_group_is_asked_for_once(server: Server) -> None:
    """A named version costs one request, whatever the number of kinds."""
    discovery = Discovery()

    for _ in range(3):
        discovery.resource(server, WIDGET, "v1")
        discovery.resource(server, GADGET, "v1")

    assert ["/apis/example.org/v1"] == server.asked


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


def test_forgetting(server: Server) -> None:
    """What a group serves is asked for anew, and of that group only."""
    discovery = Discovery()
    discovery.resource(server, WIDGET, "v1")
    discovery.resource(server, GroupKind("", "Pod"), "v1")
    server.asked.clear()

    discovery.forget("example.org")
    discovery.resource(server, WIDGET, "v1")
    discovery.resource(server, GroupKind("", "Pod"), "v1")

    assert ["/apis/example.org/v1"] == server.asked


def test_an_unknown_kind(server: Server) -> None:
    """It is named, and a version that is not served with those that are."""
    with pytest.raises(KindUnknown) as caught:
        Discovery().resource(server, GroupKind("nope.org", "Nope"), "v1")
    assert () == caught.value.served

    with pytest.raises(KindUnknown) as caught:
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
