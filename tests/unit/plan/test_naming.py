"""Names that are made of prefixes."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.plan import naming


def document(name: str = "", prefix: str = "", **spec: Any) -> Document:
    metadata: dict[str, Any] = {}
    if name:
        metadata["name"] = name
    if prefix:
        metadata["generateName"] = prefix
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": spec,
    }
    return Document(manifest, "a.yaml")


@pytest.fixture
def new_suffix():
    numbers = itertools.count(1)
    return lambda: f"{next(numbers):05}"


def names(documents):
    return [found.manifest["metadata"]["name"] for found in documents]


@pytest.mark.requirement("CR-23")
def test_a_prefix_becomes_a_name(new_suffix):
    """Of any object without a name; what has both keeps its own."""
    given = [document(prefix="a-"), document("b"), document("c", "c-")]
    found, known = naming.with_names(given, {}, new_suffix)

    assert ["a-00001", "b", "c"] == names(found)
    assert "generateName" not in found[0].manifest["metadata"]
    assert ["a-00001"] == [*known.values()]


def test_the_same_manifest_has_the_same_name_again(new_suffix):
    """A manifest with other content is another object."""
    first, known = naming.with_names(
        [document(prefix="a-", x=1)], {}, new_suffix
    )
    same, again = naming.with_names(
        [document(prefix="a-", x=1)], known, new_suffix
    )
    other, _ = naming.with_names(
        [document(prefix="a-", x=2)], known, new_suffix
    )

    assert (names(first), known) == (names(same), again)
    assert names(first) != names(other)


def test_equal_manifests_are_several_objects(new_suffix):
    """Told apart by their order."""
    twins = [document(prefix="a-"), document(prefix="a-")]
    found, known = naming.with_names(twins, {}, new_suffix)

    assert ["a-00001", "a-00002"] == names(found)
    assert names(found) == names(
        naming.with_names(twins, known, new_suffix)[0]
    )


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2))))
def test_no_two_objects_share_a_name(given):
    """Whatever manifests come together, and however often."""
    numbers = itertools.count()
    documents = [document(prefix=f"{p}-", x=x) for p, x in given]
    found, known = naming.with_names(documents, {}, lambda: str(next(numbers)))

    assert len(set(names(found))) == len(documents) == len(known)


@pytest.mark.requirement("CR-23")
def test_a_name_is_no_longer_than_a_label(new_suffix):
    """As Kubernetes cuts a long prefix."""
    (found,), _ = naming.with_names(
        [document(prefix="x" * 80)], {}, new_suffix
    )

    assert 63 == len(names([found])[0])


def test_what_has_neither_is_nameless():
    """Only a server decides whether its kind needs a name."""
    bare = document()

    assert [bare] == naming.unnamed_documents(
        [bare, document("a"), document("", "b")]
    )
