"""Reading objects, whatever is in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("ref", "shown"),
    [
        (
            ObjectRef("apps", "Deployment", "ns", "web"),
            "Deployment.apps/ns/web",
        ),
        (ObjectRef("", "ConfigMap", "ns", "a"), "ConfigMap/ns/a"),
        (ObjectRef("", "Namespace", "", "ns"), "Namespace/ns"),
    ],
)
def test_an_object_is_named_in_one_way(ref, shown):
    """It is the subject of every sentence."""
    assert shown == str(ref)


@pytest.mark.parametrize(
    ("api_version", "group"), [("v1", ""), ("apps/v1", "apps")]
)
def test_a_kind_has_no_version(api_version, group):
    """The version is the server's business."""
    manifest = {"apiVersion": api_version, "kind": "Thing"}

    assert GroupKind(group, "Thing") == GroupKind.of(manifest)


@given(anything, st.lists(st.text(max_size=3), max_size=4).map(tuple))
def test_reading_a_field_never_fails(obj, path):
    """Whatever is on the way there, the default comes back."""
    objects.field(obj, path)


@given(anything)
def test_reading_conditions_never_fails(found):
    """A status of the wrong shape has no conditions."""
    result = objects.conditions({"status": {"conditions": found}})

    assert all(isinstance(kind, str) for kind in result)


def test_what_is_null_counts_as_absent():
    """As it does for the API server."""
    assert 3 == objects.field({"spec": {"n": None}}, ("spec", "n"), 3)
