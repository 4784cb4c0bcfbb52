"""Manifests that change nothing of the objects that exist."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tacker_k8s_cr.plan import live_values
from tests.functional import manifests

VALUES = st.recursive(
    st.integers(0, 3) | st.sampled_from("ab") | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "x", "y"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


def thing(spec: Any, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "example.org/v1",
        "kind": "Thing",
        "metadata": {"name": "a", "labels": labels},
        "spec": spec,
    }


def test_an_object_equal_to_its_manifest_has_no_difference():
    """Whatever else it has."""
    manifest = manifests.deployment("web", 2)
    live = copy.deepcopy(manifest)
    live["spec"]["strategy"] = {"type": "RollingUpdate"}
    live["status"] = {"replicas": 2}

    assert (manifest, ()) == live_values.with_live_values(manifest, live)


def test_what_differs_is_the_objects():
    """The path of each difference is named."""
    manifest = thing({"containers": [{"name": "a", "image": "a:1"}], "x": 1})
    live = thing({"containers": [{"name": "a", "image": "a:2", "tty": True}]})

    assert (
        thing({"containers": [{"name": "a", "image": "a:2"}]}),
        ("spec.containers[a].image", "spec.x"),
    ) == live_values.with_live_values(manifest, live)


def test_items_belong_together_by_their_names():
    """In whatever order; other names make it another list."""
    manifest = thing([{"name": "a", "v": 1}, {"name": "b", "v": 2}])
    live = thing([{"name": "b", "v": 2}, {"name": "a", "v": 3}])

    assert (
        thing([{"name": "a", "v": 3}, {"name": "b", "v": 2}]),
        ("spec[a].v",),
    ) == live_values.with_live_values(manifest, live)
    other = thing([{"name": "c", "v": 1}])
    assert (other, ("spec",)) == live_values.with_live_values(manifest, other)


def test_labels_of_an_instance_stay():
    """Others are those of the object."""
    manifest = thing({}, ours="one", app="web", new="x")
    live = thing({}, app="other")

    assert (
        thing({}, ours="one", app="other"),
        ("metadata.labels.app", "metadata.labels.new"),
    ) == live_values.with_live_values(manifest, live, ["ours"])


@given(VALUES, VALUES)
def test_nothing_differs_a_second_time(said: Any, has: Any) -> None:
    """What was taken from the object is what the object has."""
    live = thing(has)
    found, _ = live_values.with_live_values(thing(said), live)

    assert (found, ()) == live_values.with_live_values(found, live)
