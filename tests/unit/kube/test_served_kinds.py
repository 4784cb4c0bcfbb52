"""Kinds that are served and removed while a process caches them.

Answers in the form of kube-apiserver 1.36.3: a path of a kind that is not
served is a plain page, and an object that does not exist a Status.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.http_model import Response
from tacker_k8s_cr.kube.lagging_servers import Definitions
from tacker_k8s_cr.kube.lagging_servers import LaggingServer
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.errors import KindNotServed
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tests.unit.kube.scripted_server import Reply
from tests.unit.kube.scripted_server import ScriptedServer
from tests.unit.kube.scripted_server import answer_json
from tests.unit.kube.scripted_server import answer_status

WIDGET = GroupKind("example.org", "Widget")
ONE = ObjectRef("example.org", "Widget", "ns", "one")
DEFINITION = ObjectRef(
    "apiextensions.k8s.io",
    "CustomResourceDefinition",
    "",
    "widgets.example.org",
)
PAGE = answer_json(404, "404 page not found")
CORE = answer_json(200, {"versions": ["v1"]})


def manifest(version: str = "v1") -> dict[str, Any]:
    return {
        "apiVersion": f"example.org/{version}",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": "ns", "uid": "u"},
    }


def groups(*versions: str) -> Reply:
    """The groups of a server that has the group at these versions."""
    served = [{"version": version} for version in versions]
    group = {
        "name": "example.org",
        "versions": served,
        "preferredVersion": served[0] if served else None,
    }
    extensions = {
        "name": "apiextensions.k8s.io",
        "versions": [{"version": "v1"}],
        "preferredVersion": {"version": "v1"},
    }
    return answer_json(
        200, {"groups": [extensions, *([group] if served else [])]}
    )


def kinds(kind: str = "Widget", plural: str = "widgets") -> Reply:
    entry = {"name": plural, "kind": kind, "namespaced": kind == "Widget"}
    return answer_json(200, {"resources": [entry]})


DEFINITIONS = answer_json(
    200,
    {
        "items": [
            {"metadata": {"name": "widgets.example.org"}},
            {"metadata": {"name": "widgets.other.example.com"}},
        ]
    },
)
GOING = {
    **manifest(),
    "metadata": {
        **manifest()["metadata"],
        "deletionTimestamp": "2026-01-01T00:00:07Z",
        "finalizers": ["example.org/a"],
    },
}


def definition(**conditions: str) -> Reply:
    """That of Widget, with the status of these conditions."""
    return answer_json(
        200,
        {
            "metadata": {"name": "widgets.example.org"},
            "spec": {
                "group": "example.org",
                "names": {"kind": "Widget", "plural": "widgets"},
                "versions": [{"name": "v1", "served": True}],
            },
            "status": {
                "conditions": [
                    {"type": key, "status": value}
                    for key, value in conditions.items()
                ]
            },
        },
    )


@pytest.fixture
def informed_cluster(script: ScriptedServer, cluster: Cluster) -> Cluster:
    """It has asked, and got v1 for an answer."""
    script.then(CORE, groups("v1"), kinds())
    assert "v1" == cluster.resource(WIDGET).version
    script.sent.clear()
    return cluster


def requested_paths(script: ScriptedServer) -> list[str]:
    return [sent.path.partition("?")[0] for sent in script.sent]


V1 = "/apis/example.org/v1/namespaces/ns/widgets"
V2 = "/apis/example.org/v2/namespaces/ns/widgets"
DISCOVERY = ["/api", "/apis", "/apis/example.org/v2"]


def test_a_kind_that_is_served_elsewhere_now(
    script: ScriptedServer, informed_cluster: Cluster
) -> None:
    """An object is looked for once more, where its kind is now."""
    script.then(PAGE, CORE, groups("v2"), kinds())
    script.then(answer_json(200, manifest("v2")))

    assert manifest("v2") == informed_cluster.get(ONE)

    assert [f"{V1}/one", *DISCOVERY, f"{V2}/one"] == requested_paths(script)


@pytest.mark.parametrize(
    "do",
    [
        lambda cluster: list(cluster.list_objects(WIDGET, "ns")),
        lambda cluster: list(cluster.list_metadata(WIDGET, "ns")),
        lambda cluster: cluster.get(ONE) or [],
        lambda cluster: cluster.delete(ONE, "u") or [],
    ],
)
def test_a_kind_that_is_served_no_more(
    script: ScriptedServer,
    informed_cluster: Cluster,
    do: Callable[[Cluster], Any],
) -> None:
    """There is nothing of it, and it is not remembered."""
    script.then(PAGE, CORE, groups())

    assert [] == do(informed_cluster)

    script.then(CORE, groups())
    with pytest.raises(KindNotServed):
        informed_cluster.resource(WIDGET)


def test_a_list_uses_the_served_version_of_its_kind(
    script: ScriptedServer, informed_cluster: Cluster
) -> None:
    """And has what is there."""
    script.then(PAGE, CORE, groups("v2"), kinds())
    script.then(answer_json(200, {"items": [manifest("v2"), manifest("v2")]}))

    assert [manifest("v2")] * 2 == list(
        informed_cluster.list_objects(WIDGET, "ns")
    )

    assert [V1, *DISCOVERY, V2] == requested_paths(script)


def test_an_apply_of_a_kind_that_is_no_longer_served(
    script: ScriptedServer, informed_cluster: Cluster
) -> None:
    """It is retried later; the next one has read that the kind is removed."""
    script.then(PAGE, PAGE, CORE, groups())

    with pytest.raises(DependencyMissing, match="does not serve its kind"):
        informed_cluster.apply(manifest(), "m")
    script.then(PAGE, CORE, groups())
    with pytest.raises(KindNotServed):
        informed_cluster.apply(manifest(), "m")


def test_an_object_that_does_not_exist(
    script: ScriptedServer, informed_cluster: Cluster
) -> None:
    """That does not concern its kind, which is not discovered again."""
    details = {"name": "one", "group": "example.org", "kind": "widgets"}
    script.then(answer_status(404, "not found", "NotFound", details=details))

    assert informed_cluster.get(ONE) is None

    assert [f"{V1}/one"] == requested_paths(script)
    assert "v1" == informed_cluster.resource(WIDGET).version


def test_a_page_that_is_not_found_where_the_kind_still_is(
    script: ScriptedServer, informed_cluster: Cluster
) -> None:
    """Where no definition is Established, the object is absent."""
    script.then(PAGE, CORE, groups("v1"), kinds(), DEFINITIONS)
    script.then(definition(Established="False"))

    assert informed_cluster.get(ONE) is None

    assert 6 == len(script.sent)


def test_an_object_without_the_namespace_that_its_kind_has(
    script: ScriptedServer, informed_cluster: Cluster
) -> None:
    """It cannot exist; its server does not lag behind others."""
    nameless = ObjectRef("example.org", "Widget", "", "one")
    script.then(PAGE)

    assert None is informed_cluster.get_metadata(nameless)

    assert ["/apis/example.org/v1/widgets/one"] == requested_paths(script)


def test_an_object_with_a_namespace_that_its_kind_does_not_have(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """It cannot exist either."""
    script.then(CORE, groups("v1"), kinds("Zone", "zones"), PAGE)
    zone = ObjectRef("example.org", "Zone", "ns", "one")

    assert None is cluster.get_metadata(zone)

    path = "/apis/example.org/v1/namespaces/ns/zones/one"
    assert path == requested_paths(script)[-1]


@pytest.mark.parametrize(
    ("do", "reply", "expected"),
    [
        (lambda it: it.get(ONE), answer_json(200, manifest()), manifest()),
        (lambda it: it.delete(ONE, "u"), answer_json(200, GOING), GOING),
        (
            lambda it: list(it.list_objects(WIDGET, "ns")),
            answer_json(200, {"items": [manifest()]}),
            [manifest()],
        ),
    ],
    ids=["get", "delete", "list"],
)
def test_a_server_with_stale_discovery_is_polled(
    script: ScriptedServer,
    informed_cluster: Cluster,
    do: Callable[[Cluster], Any],
    reply: Reply,
    expected: Any,
) -> None:
    """A 404 does not mean absent while the kind's definition is Established.

    The request goes out on another connection, which a balancer may give to
    another server.
    """
    script.then(PAGE, CORE, groups("v1"), kinds(), DEFINITIONS)
    script.then(definition(Established="True"), reply)

    assert expected == do(informed_cluster)

    assert V1 in script.sent[-1].path
    assert script.sent[-1].connection != script.sent[0].connection


def test_a_server_with_stale_discovery_is_named() -> None:
    """It is polled for ten seconds; its answers make no object absent."""
    now = 0.0
    reconnected = []

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    behind = LaggingServer(
        "https://one",
        WIDGET,
        Deadline.never(lambda: now),
        lambda: True,
        lambda: reconnected.append(now),
        sleep,
    )

    def ask_again() -> None:
        while behind.should_retry():
            pass

    with pytest.raises(
        DependencyMissing, match="https://one does not serve"
    ) as e:
        ask_again()

    assert 8 < now <= 10
    assert 8 == len(reconnected)
    assert ObjectRef("example.org", "Widget", "", "*") == e.value.ref


def test_a_kind_that_another_server_serves_already(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """It is not unknown: discovery is asked on another connection."""
    script.then(CORE, groups(), DEFINITIONS, definition(Established="True"))
    script.then(CORE, groups("v1"), kinds())

    assert "v1" == cluster.resource(WIDGET).version


def test_a_version_that_no_definition_serves_is_unknown(
    script: ScriptedServer, cluster: Cluster
) -> None:
    """The definition serves v1; no server serves v9."""
    script.then(CORE, groups("v1"), kinds(), DEFINITIONS)
    script.then(definition(Established="True"))
    script.then(CORE, groups("v1"), kinds())

    with pytest.raises(KindNotServed, match="v9"):
        cluster.resource(WIDGET, "v9")


def test_without_permission_for_definitions_a_404_is_trusted(
    script: ScriptedServer, informed_cluster: Cluster
) -> None:
    """Then a 404 is all that is known of the kind."""
    script.then(PAGE, CORE, groups("v1"), kinds())
    script.then(
        answer_status(403, 'User "a" cannot list resource "x"', "Forbidden")
    )

    assert informed_cluster.get(ONE) is None


def test_definitions_are_remembered_for_a_second() -> None:
    """A package asks for many objects of a kind at once."""
    now = 0.0
    requested_paths: list[str] = []

    def send(request: Request) -> Response:
        requested_paths.append(request.path)
        return Response(200, {"items": []})

    found = Definitions(lambda: now)
    for now in (0.0, 0.9, 1.0):  # noqa: B007  the clock above
        assert not found.is_served(send, WIDGET, "", Deadline.never())

    assert 2 == len(requested_paths)


def test_a_kind_of_kubernetes_itself_has_no_definition() -> None:
    """Nothing is asked for it."""

    def send(request: Request) -> Response:
        raise AssertionError(request)

    kind = GroupKind("apps", "Deployment")
    assert not Definitions().is_served(send, kind, "", Deadline.never())


@pytest.mark.requirement("P4")
def test_a_definition_that_was_deleted(
    script: ScriptedServer, informed_cluster: Cluster
) -> None:
    """The resources of its group are discovered again."""
    script.then(kinds("CustomResourceDefinition", "definitions"))
    script.then(answer_status(200, "", status="Success"))

    assert informed_cluster.delete(DEFINITION, "u") is None

    script.then(CORE, groups())
    with pytest.raises(KindNotServed):
        informed_cluster.resource(WIDGET)
