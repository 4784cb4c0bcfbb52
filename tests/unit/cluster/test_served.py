"""Kinds that come and go while a process remembers them.

Answers in the form of kube-apiserver 1.36.3: a path of a kind that is not
served is a plain page, and an object that is not there a Status.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.errors import KindUnknown
from tacker_k8s_cr.errors import NotYet
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tests.unit.cluster.scripted import Reply
from tests.unit.cluster.scripted import Scripted
from tests.unit.cluster.scripted import says
from tests.unit.cluster.scripted import status

WIDGET = GroupKind("example.org", "Widget")
ONE = ObjectRef("example.org", "Widget", "ns", "one")
DEFINITION = ObjectRef(
    "apiextensions.k8s.io",
    "CustomResourceDefinition",
    "",
    "widgets.example.org",
)
PAGE = says(404, "404 page not found")
CORE = says(200, {"versions": ["v1"]})


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
    return says(200, {"groups": [extensions, *([group] if served else [])]})


def kinds(kind: str = "Widget", plural: str = "widgets") -> Reply:
    entry = {"name": plural, "kind": kind, "namespaced": kind == "Widget"}
    return says(200, {"resources": [entry]})


@pytest.fixture
def knowing(script: Scripted, cluster: Cluster) -> Cluster:
    """It has asked, and got v1 for an answer."""
    script.then(CORE, groups("v1"), kinds())
    assert "v1" == cluster.resource(WIDGET).version
    script.sent.clear()
    return cluster


def asked(script: Scripted) -> list[str]:
    return [sent.path.partition("?")[0] for sent in script.sent]


V1 = "/apis/example.org/v1/namespaces/ns/widgets"
V2 = "/apis/example.org/v2/namespaces/ns/widgets"
DISCOVERY = ["/api", "/apis", "/apis/example.org/v2"]


def test_a_kind_that_is_served_elsewhere_now(
    script: Scripted, knowing: Cluster
) -> None:
    """An object is looked for once more, where its kind is now."""
    script.then(PAGE, CORE, groups("v2"), kinds())
    script.then(says(200, manifest("v2")))

    assert manifest("v2") == knowing.get(ONE)

    assert [f"{V1}/one", *DISCOVERY, f"{V2}/one"] == asked(script)


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
    script: Scripted, knowing: Cluster, do: Callable[[Cluster], Any]
) -> None:
    """There is nothing of it, and it is not remembered."""
    script.then(PAGE, CORE, groups())

    assert [] == do(knowing)

    script.then(CORE, groups())
    with pytest.raises(KindUnknown):
        knowing.resource(WIDGET)


def test_a_list_goes_where_its_kind_is_now(
    script: Scripted, knowing: Cluster
) -> None:
    """And has what is there."""
    script.then(PAGE, CORE, groups("v2"), kinds())
    script.then(says(200, {"items": [manifest("v2"), manifest("v2")]}))

    assert [manifest("v2")] * 2 == list(knowing.list_objects(WIDGET, "ns"))

    assert [V1, *DISCOVERY, V2] == asked(script)


def test_an_apply_of_a_kind_that_is_served_no_more(
    script: Scripted, knowing: Cluster
) -> None:
    """It is not possible yet; the next one knows that the kind is gone."""
    script.then(PAGE, PAGE, CORE, groups())

    with pytest.raises(NotYet, match="does not serve its kind"):
        knowing.apply(manifest(), "m")
    script.then(PAGE, CORE, groups())
    with pytest.raises(KindUnknown):
        knowing.apply(manifest(), "m")


def test_an_object_that_is_not_there(
    script: Scripted, knowing: Cluster
) -> None:
    """That says nothing of its kind, which is not asked for again."""
    details = {"name": "one", "group": "example.org", "kind": "widgets"}
    script.then(status(404, "not found", "NotFound", details=details))

    assert knowing.get(ONE) is None

    assert [f"{V1}/one"] == asked(script)
    assert "v1" == knowing.resource(WIDGET).version


def test_a_page_that_is_not_found_where_the_kind_still_is(
    script: Scripted, knowing: Cluster
) -> None:
    """The server is not asked without end."""
    script.then(PAGE, CORE, groups("v1"), kinds())

    assert knowing.get(ONE) is None

    assert 4 == len(script.sent)


def test_a_definition_that_was_deleted(
    script: Scripted, knowing: Cluster
) -> None:
    """What its group serves is asked for anew."""
    script.then(kinds("CustomResourceDefinition", "definitions"))
    script.then(status(200, "", status="Success"))

    assert knowing.delete(DEFINITION, "u") is None

    script.then(CORE, groups())
    with pytest.raises(KindUnknown):
        knowing.resource(WIDGET)
