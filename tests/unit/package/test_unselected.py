"""Objects in files of a CSAR that a request does not select."""

from __future__ import annotations

import pathlib

from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package import unselected
from tests.unit.package import csars

PLACED = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: own}\n"


def test_objects_are_named_as_they_may_be_called(
    tmp_path: pathlib.Path,
) -> None:
    """In their own namespace, in that of the instance, or in none."""
    artifacts = {
        csars.ONE: csars.manifest("one"),
        csars.TWO: f"{csars.manifest('two')}---\n{PLACED}",
        "Files/kubernetes/broken.yaml": "kind: [",
    }
    path = csars.unpacked(tmp_path / "p", csars.files(artifacts=artifacts))

    found = unselected.objects(path, [csars.ONE], "edge")

    assert {
        ObjectRef("", "ConfigMap", "edge", "two"),
        ObjectRef("", "ConfigMap", "", "two"),
        ObjectRef("", "Secret", "own", "s"),
        ObjectRef("", "Secret", "edge", "s"),
        ObjectRef("", "Secret", "", "s"),
    } == found


def test_what_has_no_name_is_nothing_that_could_stay(
    tmp_path: pathlib.Path,
) -> None:
    """Its name is chosen for each instance."""
    text = csars.manifest("x").replace("{name:", "{generateName:")
    content = csars.files(artifacts={csars.TWO: text})

    path = csars.unpacked(tmp_path / "p", content)

    assert frozenset() == unselected.objects(path, [csars.ONE], "edge")


def test_a_folder_that_cannot_be_read_has_nothing(
    tmp_path: pathlib.Path,
) -> None:
    """The operation itself says what is wrong."""
    assert frozenset() == unselected.objects(tmp_path / "no", [], "edge")
