"""Which fields of an object differ, told without any secret."""

from __future__ import annotations

import base64
import json

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.plan import diff

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


def obj(kind="Thing", **parts):
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": "a"},
        **parts,
    }


def diff_lines(before, after):
    return [str(found) for found in diff.diff(before, after)]


@pytest.mark.requirement("E1")
def test_a_changed_a_new_and_a_missing_field_are_reported():
    """Each by its path, with both values."""
    assert [
        "spec.gone: was 1, removed",
        "spec.new.deep: new: true",
        "spec.size: s -> xl",
    ] == diff_lines(
        obj(spec={"size": "s", "gone": 1, "same": 2}),
        obj(spec={"size": "xl", "new": {"deep": True}, "same": 2}),
    )


def test_an_item_of_a_list_is_matched_by_its_name():
    """A container that comes first moves no other."""
    before = [{"name": "main", "image": "a:1"}]
    after = [
        {"name": "side", "image": "c"},
        {"name": "main", "image": "a:2"},
    ]

    assert [
        'spec[name="main"].image: a:1 -> a:2',
        'spec[name="side"].image: new: c',
        'spec[name="side"].name: new: side',
    ] == diff_lines(obj(spec=before), obj(spec=after))


def test_fields_of_the_server_are_not_a_difference():
    """Nor is a status, nor what kubectl keeps for itself."""
    before = obj(status={"a": 1})
    after = obj()
    after["metadata"] = {
        "name": "a",
        "generation": 2,
        "resourceVersion": "7",
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{}"
        },
    }

    assert [] == diff_lines(before, after)


def test_a_name_with_dots_differs_from_a_path():
    """As labels and keys of configuration have them."""
    assert ['data["app.conf"]: a -> b'] == diff_lines(
        obj(data={"app.conf": "a"}), obj(data={"app.conf": "b"})
    )


@pytest.mark.requirement("P23", "K5")
def test_no_secret_is_shown():
    """The diff states only that a secret differs."""
    old = base64.b64encode(b"hunter2hunter2").decode()
    new = base64.b64encode(b"correct horse battery").decode()
    secret = diff_lines(
        obj("Secret", data={"key": old}), obj("Secret", data={"key": new})
    )
    env = [{"name": "DB_PASSWORD", "value": "hunter2hunter2"}]
    less = [{"name": "DB_PASSWORD", "value": "abc"}]
    plain = diff_lines(obj(spec={"env": env}), obj(spec={"env": less}))

    assert ["data.key: *** -> ***"] == secret
    assert ['spec.env[name="DB_PASSWORD"].value: *** -> ***'] == plain


def test_a_long_value_is_cut_short():
    """A forecast is read by people."""
    (found,) = diff.diff(obj(data={"a": "x"}), obj(data={"a": "y " * 400}))

    assert found.after.endswith("... (800 characters)")
    assert len(found.after) < 110


@given(values)
def test_nothing_differs_from_itself(value):
    """However it is nested."""
    copy = json.loads(json.dumps(value))

    assert [] == diff_lines(obj(spec=value), obj(spec=copy))


@given(values, values)
def test_a_difference_is_reported(one, other):
    """There is a difference exactly where the values are not equal."""
    assert (one == other) == (
        [] == diff_lines(obj(spec={"a": one}), obj(spec={"a": other}))
    )
