"""Tacker reads the CSARs that we build, and reads them as we do."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any
import zipfile

import pytest

from tacker_k8s_cr import package
from tools import csar

READER = pathlib.Path(__file__).with_name("tacker_csar_reader.py")
NAMES = [
    f"{sample.name}_{variant}" if variant else sample.name
    for sample in csar.whole_samples()
    for variant in ("", *csar.read_recipe(sample).variants)
]


@pytest.fixture(scope="module")
def csar_folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The CSARs of all samples and variants."""
    folder = tmp_path_factory.mktemp("csars")
    csar.build_all(folder)
    return folder


@pytest.fixture(scope="module")
def theirs(csar_folder: pathlib.Path) -> dict[str, Any]:
    """By name of the file, what Tacker 16.0.0 found in it."""
    paths = [str(path) for path in csar_folder.glob("*.zip")]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(READER), *paths],
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout)
    return {pathlib.Path(path).stem: value for path, value in found.items()}


@pytest.mark.parametrize("name", NAMES)
def test_tacker_reads_a_csar_as_we_do(
    name: str, csar_folder: pathlib.Path, theirs: dict[str, Any]
) -> None:
    """Its v1 and v2 readers accept it, and find the same numbers."""
    path = csar_folder / f"{name}.zip"
    ours = package.load(path).vnfd
    assert ours is not None
    with zipfile.ZipFile(path) as archive:
        aside = ("Definitions/", "TOSCA-Metadata/")
        names = archive.namelist()
    artifacts = sorted(n for n in names if not n.startswith(aside))

    assert {
        "id": ours.id,
        "flavours": [ours.flavour],
        "artifacts": artifacts,
        "levels": ours.levels,
        "default": ours.default_level,
        "most": {a.id: a.max_level for a in ours.aspects.values()},
        "initial": ours.initial,
        "hooks": {
            hook: {"implementation": name}
            for hook, name in ours.management.items()
        },
        "files": ours.artifacts,
    } == theirs[name]["v1"]
    assert {
        "artifacts": artifacts,
        "default": ours.default_level,
        "numbers": ours.level_numbers[ours.default_level],
    } == theirs[name]["v2"]
