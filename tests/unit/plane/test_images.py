"""Container images without an engine."""

from __future__ import annotations

import io
import json
import pathlib
import sys
import tarfile

import pytest

from tools.plane import images
from tools.plane.errors import PlaneError


def test_the_same_content_gives_the_same_image():
    """An image has no time of its making in it."""
    one, two = (
        images.archive("a:1", {"/bin/a": b"content"}, ["/bin/a"])
        for _ in range(2)
    )

    assert one == two


def test_an_image_holds_its_files_as_executables():
    """The layer that the manifest names has them, and the links."""
    image = images.archive(
        "a:1", {"/bin/a": b"content"}, ["/bin/a"], {"/bin/b": "a"}
    )

    with tarfile.open(fileobj=io.BytesIO(image)) as outer:
        (manifest,) = json.load(outer.extractfile("manifest.json"))
        layer = outer.extractfile(manifest["Layers"][0]).read()
        config = json.load(outer.extractfile(manifest["Config"]))
    with tarfile.open(fileobj=io.BytesIO(layer)) as inner:
        modes = {member.name: member.mode for member in inner.getmembers()}
    assert ["a:1"] == manifest["RepoTags"]
    assert {"bin/a": 0o755, "bin/b": 0o644} == modes
    assert ["/bin/a"] == config["config"]["Entrypoint"]


def test_a_binary_that_needs_libraries_is_refused():
    """In an image of it alone it could not start."""
    with pytest.raises(PlaneError, match="shared libraries"):
        images.executable(pathlib.Path(sys.executable))


def test_a_script_needs_no_libraries():
    """A file without an ELF header is used as it is."""
    assert not images.is_dynamically_linked(b"#!/bin/sh\n")
