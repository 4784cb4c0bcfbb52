"""A kind that is not served comes with what its author meant."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.engine import kind_resolution
from tacker_k8s_cr.engine import suggestions
from tacker_k8s_cr.kinds.removed_versions import REMOVED
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.model.package import Document
from tests.fakes.cluster import FakeCluster


def unknown(*kinds: tuple[str, str], cluster=None) -> list[str]:
    """The lines about documents of these versions and kinds."""
    documents = [
        Document(
            {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}},
            f"{kind}.yaml",
        )
        for version, kind in kinds
    ]
    with pytest.raises(errors.KindNotServed) as caught:
        kind_resolution.resolve_kinds(cluster or FakeCluster(), documents)
    return caught.value.outcome().splitlines()


@pytest.mark.parametrize(
    ("version", "kind", "expected"),
    [
        ("v1", "Deployment", "did you mean apps/v1?"),
        ("apps/v1", "Service", "did you mean v1?"),
        ("apps/v1", "Deploymnet", "did you mean Deployment of apps/v1?"),
        ("apps/v1", "deployment", "did you mean Deployment of apps/v1?"),
        (
            "extensions/v1beta1",
            "Deployment",
            "it was removed in Kubernetes 1.16; use apps/v1",
        ),
        (
            "policy/v1beta1",
            "PodSecurityPolicy",
            "it was removed in Kubernetes 1.25; use Pod Security Admission "
            "(labels of the Namespace)",
        ),
    ],
)
def test_what_was_meant_is_suggested(version, kind, expected):
    """The kind elsewhere, one of a similar name, or what replaced it."""
    (line,) = unknown((version, kind))

    assert line.startswith(f"{kind}.yaml: the server does not serve {kind}")
    assert line.endswith(f"; {expected}")


def test_a_removed_version_has_its_removal():
    """Beside the versions that the server has."""
    assert [
        "Deployment.yaml: Deployment.apps is served at v1, not at v1beta1; it "
        "was removed in Kubernetes 1.16; use apps/v1"
    ] == unknown(("apps/v1beta1", "Deployment"))


def test_an_unknown_kind_has_no_suggestion():
    """A kind of an operator that is not installed has no neighbour."""
    (line,) = unknown(("example.org/v1", "Warpdrive"))

    assert line.endswith("the package does not contain its definition")


def test_a_server_that_fails_then_costs_the_suggestion_only():
    """The kind is still named."""

    class Failing(FakeCluster):
        def resources(self):
            raise errors.Unavailable("get /apis", 503, "busy")

    (line,) = unknown(("v1", "Deployment"), cluster=Failing())

    assert line.endswith("the package does not contain its definition")


def test_the_server_is_asked_once_and_only_where_it_helps():
    """Not for versions that are known to be removed."""
    asked = []

    def resources():
        asked.append(1)
        return ()

    gone = errors.KindNotServed(GroupKind("extensions", "Ingress"), "v1beta1")
    known = errors.KindNotServed(GroupKind("apps", "X"), "v2", ("v1",))
    suggestions.add_hints([gone, known], resources)
    assert [] == asked

    some = errors.KindNotServed(GroupKind("", "Deployment"), "v1")
    suggestions.add_hints([gone, some, some], resources)
    assert [1] == asked


@pytest.mark.parametrize("key", REMOVED, ids=lambda key: f"{key[0]}-{key[1]}")
def test_a_removal_names_what_replaces_it(key):
    """Another apiVersion than the removed one, or words."""
    found = REMOVED[key]

    assert found.replacement != found.api_version
    assert objects.split_api_version(found.api_version)[0] == key[0].group
    assert (1, 16) <= tuple(map(int, found.since.split("."))) < (1, 36)


@given(
    st.text("abDepl", min_size=1, max_size=12),
    st.lists(st.text("abDepl", min_size=1, max_size=12)),
)
def test_a_suggestion_is_served(kind, names):
    """Nothing is suggested that the server does not have."""
    served = [Resource("g", "v1", name, "", True) for name in names]

    said = suggestions.hint_served(GroupKind("", kind), served)

    assert not said or kind in names or any(f"{n} of" in said for n in names)
