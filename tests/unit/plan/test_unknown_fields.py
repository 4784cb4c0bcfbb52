"""Manifests without the fields that a server does not accept.

The paths are those of a kube-apiserver v1.36.3.
"""

import copy

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.plan import unknown_fields

CONTAINER = {
    "name": "c",
    "foo": [{"a": 1}],
    "env": [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "2"},
        {"name": "A", "value": "3"},
    ],
    "ports": [
        {"containerPort": 80, "foo": 1},
        {"containerPort": 80, "protocol": "UDP", "foo": 2},
        {"containerPort": 80, "protocol": "TCP"},
    ],
}
MANIFEST = {
    "kind": "Deployment",
    "metadata": {"name": "web", "annotations": {"a.b/c": "d"}},
    "spec": {
        "replicsa": 1,
        "template": {
            "spec": {"containers": [CONTAINER, {"name": "d", "foo": 1}]}
        },
    },
}
C = '.spec.template.spec.containers[name="c"]'


def without(*fields):
    before = copy.deepcopy(MANIFEST)
    found, said = unknown_fields.without_fields(MANIFEST, fields)
    assert before == MANIFEST
    return found, said


def unknown(path):
    return path, unknown_fields.UNDECLARED


def container(manifest, index=0):
    return manifest["spec"]["template"]["spec"]["containers"][index]


def test_an_unknown_field_is_left_out():
    """Only at its path: another container keeps a field of that name."""
    found, said = without(unknown(".spec.replicsa"), unknown(f"{C}.foo"))

    assert "replicsa" not in found["spec"]
    assert "foo" not in container(found)
    assert "foo" in container(found, 1)
    assert (
        "unknown field spec.replicsa, which is left out",
        f"unknown field {C[1:]}.foo, which is left out",
    ) == said


def test_an_entry_is_found_by_several_keys_and_by_its_number():
    """A key that a manifest does not name has a default."""
    path = f'{C}.ports[containerPort=80,protocol="TCP"].foo'
    found, _ = without(unknown(path))
    assert [False, True, False] == [
        "foo" in port for port in container(found)["ports"]
    ]

    found, _ = without(unknown(".spec.template.spec.containers[1].foo"))
    assert "foo" in container(found)
    assert "foo" not in container(found, 1)


def test_a_name_with_dots_is_one_name():
    """So it may be a key of a map."""
    found, said = without(unknown(".metadata.annotations.a.b/c"))

    assert {} == found["metadata"]["annotations"]
    assert 1 == len(said)


def test_the_last_one_of_two_equal_variables_counts():
    """So does a kubelet; the order of the others stays."""
    why = 'duplicate entries for key [name="A"]'
    found, (said,) = without((f"{C}.env", why))

    assert [("B", "2"), ("A", "3")] == [
        (entry["name"], entry["value"]) for entry in container(found)["env"]
    ]
    assert said.endswith('[name="A"], of which the last one counts')


@pytest.mark.parametrize(
    "field",
    [
        (f"{C}.ports", "duplicate entries for key [containerPort=80]"),
        (f"{C}.foo", "expected string, got list"),
        unknown(f"{C}.bar"),
        unknown(".spec.template.spec.containers[7].foo"),
        unknown('.spec.template.spec.containers[name="x"].foo'),
        unknown(".kind.foo"),
        unknown("spec"),
        unknown(""),
        unknown("."),
    ],
)
def test_a_problem_with_another_reason_or_no_place_stays(field):
    """Another object may use the name of a port; the server has the rest."""
    assert (MANIFEST, ()) == without(field)


def test_what_may_be_left_out_is_known_by_its_reason():
    """An error names the option only where it helps."""
    twice = 'duplicate entries for key [name="A"]'

    assert unknown_fields.is_removable(unknown(".a"))
    assert unknown_fields.is_removable((".spec.env", twice))
    assert not unknown_fields.is_removable((".spec.ports", twice))
    assert not unknown_fields.is_removable((".a", "expected string"))


@given(st.text(alphabet='.[]="\\,aspec0'), st.sampled_from([0, 1]))
def test_every_path_of_a_server_is_accepted(path, index):
    """Whatever a server returns, nothing is raised and nothing is changed."""
    reasons = (unknown_fields.UNDECLARED, f"duplicate entries for key {path}")

    unknown_fields.without_fields(MANIFEST, [(path, reasons[index])])
