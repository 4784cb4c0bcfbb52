"""What a document must be to be a manifest."""

from __future__ import annotations

from typing import Any

import pytest

from tacker_k8s_cr.package import documents
from tacker_k8s_cr.package import manifests

NAMED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def _read(*values: Any) -> tuple[list[Any], list[str]]:
    found = [
        documents.ParsedDocument(v, n, 1) for n, v in enumerate(values, 1)
    ]
    read = manifests.read(found, "a.yaml")
    once = manifests.without_duplicates(read.documents)
    return once.documents, [str(p) for p in read.problems + once.problems]


def _warnings(*values: Any) -> list[str]:
    found = [
        documents.ParsedDocument(v, n, 1) for n, v in enumerate(values, 1)
    ]
    read = manifests.read(found, "a.yaml")
    once = manifests.without_duplicates(read.documents)
    assert [] == read.problems + once.problems
    return [str(warning) for warning in read.warnings + once.warnings]


def _with(**fields: Any) -> dict[str, Any]:
    metadata = {**NAMED["metadata"], **fields.pop("metadata", {})}  # type: ignore[dict-item]
    return {**NAMED, "metadata": metadata, **fields}


def test_manifest_has_its_place() -> None:
    """Where a file holds several documents, a place has its number."""
    (one,), _ = _read(NAMED)
    several, _ = _read(NAMED, _with(metadata={"name": "b"}))

    assert "a.yaml" == one.where
    assert ["a.yaml, document 1", "a.yaml, document 2"] == [
        document.where for document in several
    ]


def test_all_missing_keys_are_named_at_once() -> None:
    """The error has the faults of every document, with all missing keys."""
    _, problems = _read({"a": 1}, NAMED, {"kind": "A", "metadata": None}, [1])

    assert [
        "a.yaml, document 1: missing apiVersion, kind, metadata.name",
        "a.yaml, document 3: missing apiVersion, metadata.name",
        "a.yaml, document 4: is a sequence, wanted a mapping with kind and "
        "name",
    ] == problems


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            _with(metadata={"name": 123}),
            "name is a number, wanted a string; p",
        ),
        (_with(metadata={"name": True}), "name is a boolean, wanted a string"),
        (_with(metadata={"name": ["a"]}), "name is a sequence"),
        (_with(metadata={"name": "a/b"}), "no object can have this name"),
        (_with(metadata={"name": ".."}), "no object can have this name"),
        (_with(metadata={"namespace": 7}), "metadata.namespace is a number"),
        (_with(metadata={"namespace": "A b"}), "no namespace can have"),
        (_with(apiVersion="a/b/c"), "neither version nor group/version"),
        (_with(apiVersion=1), "apiVersion is a number"),
        (_with(kind="Pod/exec"), "'Pod/exec' is not a word"),
        ({**NAMED, "metadata": "a"}, "metadata is a string, wanted a mapping"),
        (
            _with(metadata={"labels": {"v": 1.0}}),
            "metadata.labels.v is a number",
        ),
        (_with(metadata={"labels": ["a"]}), "labels is a sequence"),
        (_with(metadata={"annotations": {"on": True}}), "on is a boolean"),
    ],
)
def test_manifest_that_cannot_be_meant_is_refused(
    value: Any, expected: str
) -> None:
    """A fault that a server would find late is found here, in our words."""
    taken, (problem,) = _read(value)

    assert [] == taken
    assert expected in problem


def test_prefix_may_stand_for_a_name() -> None:
    """The rest of the name is chosen when the manifest is used."""
    value = {**NAMED, "metadata": {"generateName": "a-"}}

    assert ([value], []) == (
        [document.manifest for document in _read(value, value)[0][:1]],
        _read(value, value)[1],
    )
    _, (problem,) = _read({**NAMED, "metadata": {"generateName": "a/"}})
    assert "metadata.generateName 'a/': no object can have" in problem


@pytest.mark.parametrize("metadata", [{}, {"metadata": {}}])
def test_only_a_server_decides_which_kinds_need_no_name(
    metadata: dict[str, Any],
) -> None:
    """Such as its reviews; of a built-in kind with a name we know."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": "a"},
    }
    (document,), _ = _read({**review, **metadata})
    _, problems = _read({"apiVersion": "v1", "kind": "Secret", **metadata})

    assert {**review, "metadata": {}} == document.manifest
    assert ["a.yaml: missing metadata.name"] == problems


def test_status_is_left_out() -> None:
    """A status is written by a server, never requested from it."""
    (document,), _ = _read(_with(status={"phase": "Running"}))

    assert NAMED == document.manifest


def test_null_of_a_code_generator_is_left_out() -> None:
    """``creationTimestamp: null`` stands in what kubebuilder writes."""
    (document,), _ = _read(_with(metadata={"creationTimestamp": None}))

    assert NAMED == document.manifest


def test_a_list_is_split() -> None:
    """A List holds objects, and each has the number of its item."""
    other = _with(metadata={"name": "b"})
    value = {"apiVersion": "v1", "kind": "List", "items": [NAMED, other]}
    taken, problems = _read(value)

    assert [] == problems
    assert [NAMED, other] == [document.manifest for document in taken]
    assert ["a.yaml, item 1", "a.yaml, item 2"] == [d.where for d in taken]


def test_typed_list_gives_its_items_their_kind() -> None:
    """What kubectl get writes for one kind may name it only once."""
    value = {
        "apiVersion": "apps/v1",
        "kind": "DeploymentList",
        "metadata": {"resourceVersion": ""},
        "items": [{"metadata": {"name": "a"}}],
    }
    (document,), _ = _read(value)

    assert {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
    } == document.manifest


def test_lists_in_lists_are_split() -> None:
    """However deep; a fault inside names the whole way to it."""
    inner = {"apiVersion": "v1", "kind": "List", "items": [{"kind": "A"}]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [inner]}
    _, (problem,) = _read(outer)

    assert problem.startswith("a.yaml, item 1, item 1: missing apiVersion")


def test_object_whose_kind_ends_with_list_is_an_object() -> None:
    """A custom kind such as AllowList has a name; a list has none."""
    value = _with(kind="AllowList", items=["a", "b"])
    (document,), _ = _read(value)

    assert value == document.manifest


@pytest.mark.requirement("IN-6")
def test_same_object_twice_is_refused_with_both_places() -> None:
    """Only one of the two would be applied, and which is undefined."""
    again = _with(apiVersion="v1", data={"a": "b"})
    _, (problem,) = _read(NAMED, again)

    assert (
        "a.yaml, document 2: ConfigMap/a is there twice; the first is in "
        "a.yaml, document 1, with different content; remove one of them"
    ) == problem


def test_same_manifest_twice_counts_once() -> None:
    """Two files often have the same Namespace; Tacker creates it once."""
    taken, problems = _read(NAMED, _with(status={"a": 1}))

    assert (1, []) == (len(taken), problems)
    assert [
        "a.yaml, document 2: ConfigMap/a is there twice; the first is in "
        "a.yaml, document 1, with the same content"
    ] == _warnings(NAMED, NAMED)


def test_what_a_server_sets_is_left_out_with_a_warning() -> None:
    """A manifest that was read from a cluster may be used as it is."""
    metadata = {
        "uid": "1",
        "resourceVersion": "2",
        "creationTimestamp": None,
        "managedFields": [{}],
    }
    (document,), _ = _read(_with(metadata=metadata))
    (warning,) = _warnings(_with(metadata=metadata))

    assert NAMED == document.manifest
    assert (
        "a.yaml: metadata.managedFields, metadata.resourceVersion, " in warning
    )
    assert "creationTimestamp" not in warning
    assert "ignored, since only a server sets it" in warning


def test_same_name_of_another_kind_group_or_namespace_is_another() -> None:
    """Objects are identified by group, kind, namespace and name."""
    taken, problems = _read(
        NAMED,
        _with(kind="Secret"),
        _with(apiVersion="a.example.org/v1"),
        _with(metadata={"namespace": "b"}),
    )

    assert (4, []) == (len(taken), problems)


def test_same_object_in_two_versions_is_a_duplicate() -> None:
    """A version is a way to show an object, no part of its name."""
    _, problems = _read(
        _with(apiVersion="apps/v1", kind="Deployment"),
        _with(apiVersion="apps/v1beta1", kind="Deployment"),
    )

    assert 1 == len(problems)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("{n: 1}", "metadata.labels.n is a number"),
        ("{yes: y}", "metadata.labels.yes is a boolean"),
        ("{1: 2}", "metadata.labels.1 is a number"),
        ("{1.10: 2}", "metadata.labels.1.10 is a number"),
        ('{"n": 1}', "metadata.labels.n is a number"),
        ("{<<: {n: 1}}", "metadata.labels.n is a number"),
        ('{<<: {n: x}, "false": 1}', "metadata.labels.false is a number"),
        ("{a/b: 2}", "metadata.labels.a/b is a number"),
    ],
)
def test_a_key_of_a_label_is_named_as_it_is_written(labels, expected):
    """Not as YAML reads it: a user cannot find "false" in a file with "n".

    So it is for annotations, in a list, and where an anchor is used again.
    """
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a"
    texts = (
        f"{head}, labels: {labels}}}\n",
        f"s: &l {labels}\n{head}, labels: *l}}\n",
        "kind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: A\n"
        f"  metadata: {{name: a, labels: {labels}}}\n",
    )

    for text in texts:
        parsed, faults = documents.read(text, "a.yaml")
        (problem,) = manifests.read(parsed, "a.yaml").problems

        assert [] == faults
        assert f": {expected}, expected a string; put" in str(problem)


def test_a_key_that_is_not_a_string_is_refused():
    """With the value in quotes alone, the label would have another name."""
    text = "apiVersion: v1\nkind: A\nmetadata: {name: a, labels: {n: 1}}\n"
    parsed, _ = documents.read(text, "a.yaml")

    (problem,) = manifests.read(parsed, "a.yaml").problems

    assert str(problem).endswith(
        "put it in quotes, and the key, which is read as 'false'"
    )
