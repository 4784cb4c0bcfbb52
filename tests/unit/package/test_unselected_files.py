"""Objects in files of a CSAR that a request does not select."""

from __future__ import annotations

import pathlib

from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.package import unselected_files
from tests.unit.package import csar_builder

PLACED = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: own}\n"


def test_objects_are_named_as_they_may_be_called(
    tmp_path: pathlib.Path,
) -> None:
    """In their own namespace, in that of the instance, or in none."""
    artifacts = {
        csar_builder.ONE: csar_builder.manifest("one"),
        csar_builder.TWO: f"{csar_builder.manifest('two')}---\n{PLACED}",
        "Files/kubernetes/broken.yaml": "kind: [",
    }
    path = csar_builder.write_folder(
        tmp_path / "p", csar_builder.files(artifacts=artifacts)
    )

    found = unselected_files.find_objects(path, [csar_builder.ONE], "edge")

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
    text = csar_builder.manifest("x").replace("{name:", "{generateName:")
    content = csar_builder.files(artifacts={csar_builder.TWO: text})

    path = csar_builder.write_folder(tmp_path / "p", content)

    assert frozenset() == unselected_files.find_objects(
        path, [csar_builder.ONE], "edge"
    )


def test_a_folder_that_cannot_be_read_has_nothing(
    tmp_path: pathlib.Path,
) -> None:
    """The operation itself reports what is wrong."""
    assert frozenset() == unselected_files.find_objects(
        tmp_path / "no", [], "edge"
    )
