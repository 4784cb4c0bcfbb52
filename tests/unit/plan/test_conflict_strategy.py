"""What becomes of fields that others own."""

from __future__ import annotations

import copy

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import conflict_strategy
from tests.fakes import field_ownership

REF = ObjectRef("", "ConfigMap", "ns", "a")


def at(path, **manifest):
    return conflict_strategy.drop_fields(manifest, [path])


@pytest.mark.requirement("P6")
def test_a_field_is_left_out_and_nothing_else():
    """By keys, where a name may hold dots, slashes and brackets."""
    data = {"a.b": "1", "a": {"b": "2"}, "a.b/c[0]": "3"}

    assert {"data": {"a": {"b": "2"}, "a.b/c[0]": "3"}} == at(
        "data.a.b", data=data
    )
    assert {"data": {"a.b": "1", "a": {"b": "2"}}} == at(
        "data.a.b/c[0]", data=data
    )
    assert {"spec": {}} == at("spec.replicas", spec={"replicas": 1})
    assert {"spec": {"replicas": 1}} == at("spec.other", spec={"replicas": 1})


def test_an_item_of_a_list_is_found_by_its_keys():
    """As the server writes them: one or several, of any type."""
    ports = [
        {"containerPort": 80, "protocol": "TCP", "name": "a"},
        {"containerPort": 80, "protocol": "UDP", "name": "b"},
        {"containerPort": 81, "name": "c"},
    ]

    def left(path):
        return [port.get("name") for port in at(path, ports=ports)["ports"]]

    assert ["a", None, "c"] == left(
        'ports[containerPort=80,protocol="UDP"].name'
    )
    # The server has filled in what the manifest leaves out.
    assert ["a", "b", None] == left(
        'ports[containerPort=81,protocol="TCP"].name'
    )
    assert ["a", "b"] == left('ports[containerPort=81,protocol="TCP"]')
    assert ["b", "c"] == left("ports[0]")
    assert ["a", "b", "c"] == left("ports[]")
    assert ["a", "b", "c"] == left("ports[name=wrong")


def test_a_value_of_a_set_is_left_out():
    """Such as a finalizer."""
    assert {"finalizers": ["b"]} == at(
        'finalizers[="a"]', finalizers=["a", "b"]
    )


plain = st.dictionaries(
    st.text("ab./[]=", min_size=1, max_size=4),
    st.recursive(
        st.integers(),
        lambda inner: (
            st.dictionaries(st.text("ab", min_size=1), inner)
            | st.lists(
                st.fixed_dictionaries({"name": st.text("xy", min_size=1)})
            )
        ),
        max_leaves=6,
    ),
    max_size=4,
)


@given(plain, st.text('ab.[]="0', max_size=10))
def test_any_path_leaves_a_manifest_that_has_nothing_new(manifest, path):
    """Whatever a server calls a field, and the manifest stays as it was."""
    before = copy.deepcopy(manifest)
    less = conflict_strategy.drop_fields(manifest, [path])

    assert before == manifest
    assert field_ownership.leaf_paths(less).keys() - {()} <= {
        path[:length]
        for path in field_ownership.leaf_paths(manifest)
        for length in range(len(path) + 1)
    }


def refusing(owned):
    """A server on which others own these fields."""
    sent = []

    def send(manifest, force):
        sent.append((manifest, force))
        there = {
            path: "editor"
            for path, keys in owned.items()
            if objects.field(manifest, keys) is not None
        }
        if there and not force:
            # It may name them one by one.
            path = min(there)
            raise errors.FieldConflict(REF, {path: there[path]})
        return manifest

    return send, sent


MANIFEST = {"data": {"a": "1", "b": "2", "c": "3"}}
OWNED = {"data.a": ("data", "a"), "data.b": ("data", "b")}


@pytest.mark.requirement("P6")
def test_ignore_sends_again_without_the_fields_of_other_managers():
    """As often as another field turns out to be theirs."""
    send, sent = refusing(OWNED)

    assert {"data": {"c": "3"}} == conflict_strategy.apply_with_strategy(
        send, MANIFEST, "ignore"
    )
    assert 3 == len(sent)
    assert not any(force for _, force in sent)


def test_take_and_fail():
    """Take is for the server to do; fail is the error as it came."""
    send, sent = refusing(OWNED)

    assert MANIFEST == conflict_strategy.apply_with_strategy(
        send, MANIFEST, "force"
    )
    with pytest.raises(
        errors.FieldConflict, match=r"data\.a is owned by editor"
    ):
        conflict_strategy.apply_with_strategy(send, MANIFEST, "fail")
    assert [True, False] == [force for _, force in sent]


def test_what_cannot_be_left_out_is_an_error_still():
    """A field that the manifest does not have would be sent for ever."""

    def send(manifest, force):
        raise errors.FieldConflict(REF, {"spec.nothing": "editor"})

    with pytest.raises(errors.FieldConflict):
        conflict_strategy.apply_with_strategy(send, MANIFEST, "ignore")


@pytest.mark.requirement("B7")
def test_an_annotation_wins_over_the_default():
    """By object; without one the option of the operation applies."""
    said = {
        "metadata": {
            "annotations": {objects.PREFIX + "field-conflicts": "force"}
        }
    }

    assert "force" == conflict_strategy.strategy_for(said, "fail")
    assert "ignore" == conflict_strategy.strategy_for(MANIFEST, "ignore")


def test_a_number_that_an_autoscaler_has_moved_is_left_to_it():
    """Between our look and our write, whatever is asked for."""
    owned = {"data.a": ("data", "a")}
    for way in conflict_strategy.STRATEGIES:
        send, sent = refusing(owned)

        found = conflict_strategy.apply_with_strategy(
            send, MANIFEST, way, "data.a"
        )

        assert {"data": {"b": "2", "c": "3"}} == found
        assert [False, way == "force"] == [force for _, force in sent]


def test_replicas_that_no_other_manager_changed_are_sent():
    """Other managers' fields beside it follow the option."""
    owned = {"data.b": ("data", "b")}
    send, _ = refusing(owned)

    assert MANIFEST == conflict_strategy.apply_with_strategy(
        send, MANIFEST, "force", "data.a"
    )
    assert {"data": {"a": "1", "c": "3"}} == (
        conflict_strategy.apply_with_strategy(
            send, MANIFEST, "ignore", "data.a"
        )
    )
    with pytest.raises(errors.FieldConflict):
        conflict_strategy.apply_with_strategy(send, MANIFEST, "fail", "data.a")
