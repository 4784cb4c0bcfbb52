"""The samples, as sources and as the CSARs that are built of them."""

from __future__ import annotations

import json
import pathlib
import shutil
from typing import Any
import zipfile

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr import package
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.package import replica_counts
from tacker_k8s_cr.package import vdu_mapping
from tools import csar

SAMPLES = csar.whole_samples()
HOOKS = (
    "instantiate_start",
    "instantiate_end",
    "scale_end",
    "heal_end",
    "change_current_package_end",
    "change_current_package_rollback_end",
    "terminate_start",
    "instantiate_rollback_start",
)
WORKLOAD = csar.SAMPLES / "capi_workload_cluster"
MANAGEMENT = csar.SAMPLES / "capi_management_cluster"
VARIANTS = [
    (sample, variant)
    for sample in SAMPLES
    for variant in ("", *csar.read_recipe(sample).variants)
]


def _name(value: Any) -> str:
    return value.name if isinstance(value, pathlib.Path) else str(value)


def _scalable(manifest: Manifest) -> bool:
    return kinds.BUILT_IN[GroupKind.of(manifest)].replicas is not None


@pytest.mark.parametrize("sample", SAMPLES, ids=_name)
def test_source_and_csar_are_the_same_package(
    sample: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """What an author tries from the folder is what Tacker gets."""
    source = package.load(sample)
    built = package.load(csar.build(sample, tmp_path / f"{sample.name}.zip"))

    assert source == built


@pytest.mark.parametrize("sample", SAMPLES, ids=_name)
def test_every_vdu_has_its_object(sample: pathlib.Path) -> None:
    """An aspect of a sample scales something."""
    loaded = package.load(sample)
    assert loaded.vnfd is not None
    found = vdu_mapping.map_vdus(loaded, _scalable)

    assert loaded.vnfd.vdus.keys() == found.keys()
    assert loaded.vnfd.aspects


def test_same_source_gives_the_same_bytes(tmp_path: pathlib.Path) -> None:
    """A CSAR can be compared by its hash with one that was uploaded."""
    first = csar.build(WORKLOAD, tmp_path / "a.zip").read_bytes()

    assert first == csar.build(WORKLOAD, tmp_path / "b.zip").read_bytes()


def test_variant_has_other_texts(tmp_path: pathlib.Path) -> None:
    """The second package of an upgrade differs in version and id alone."""
    before = package.load(WORKLOAD)
    path = csar.build(WORKLOAD, tmp_path / "p.zip", variant="v1_36")
    after = package.load(path)
    assert before.vnfd is not None
    assert after.vnfd is not None

    assert before.vnfd.id != after.vnfd.id
    assert json.dumps(before.manifests).replace("v1.35.0", "v1.36.0") == (
        json.dumps(after.manifests)
    )
    assert before.manifests != after.manifests


def test_hooks_are_the_files_that_tacker_runs(tmp_path: pathlib.Path) -> None:
    """One path serves both APIs.

    v1 counts from the root, v2 from the definitions; for v1 the file is,
    byte for byte, the installed one.
    """
    path = csar.build(WORKLOAD, tmp_path / "p.zip")
    vnfd = package.load(path).vnfd
    assert vnfd is not None
    folder = csar.ROOT / "mgmt_drivers"

    assert dict.fromkeys(HOOKS, "kubeconfig-webhook") == vnfd.management
    file = vnfd.artifacts["kubeconfig-webhook"]
    with zipfile.ZipFile(path) as archive:
        v1, v2 = archive.read(file), archive.read(f"Definitions/{file}")
    assert (folder / "kubeconfig_webhook.py").read_bytes() == v1
    assert (folder / "kubeconfig_webhook_v2.py").read_bytes() == v2


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with files for hooks, and a variant."""
    folder = tmp_path / "source"
    (folder / "Definitions").mkdir(parents=True)
    (folder / "Definitions" / "a.yaml").write_text("file: Scripts/a.py\n")
    (folder / "csar.yaml").write_text(
        "entry: Definitions/a.yaml\n"
        "management:\n"
        "  - {file: Scripts/a.py, from: setup.py}\n"
        "  - {file: Definitions/Scripts/a.py, from: LICENSE}\n"
        "variants: {other: {no such text: other}}\n"
    )
    return folder


def test_files_for_hooks_come_from_the_checkout(
    source: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """The recipe has their source and their target."""
    path = csar.build(source, tmp_path / "p.zip")
    with zipfile.ZipFile(path) as archive:
        found = [
            archive.read(name)
            for name in ("Scripts/a.py", "Definitions/Scripts/a.py")
        ]

    wanted = ("setup.py", "LICENSE")
    assert [(csar.ROOT / name).read_bytes() for name in wanted] == found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--variant", "none"], "no variant none; there are: other"),
        (["--variant", "other"], "no such text is in no file"),
        (["--etsi-types", "/nowhere"], "/nowhere/etsi_nfv"),
    ],
)
def test_a_failed_build_is_reported(
    source: pathlib.Path,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    expected: str,
) -> None:
    """The command ends with one sentence, and writes nothing."""
    out = tmp_path / "p.zip"

    assert 1 == csar.main([str(source), "-o", str(out), *arguments])
    assert expected in capsys.readouterr().err
    assert not out.exists()


def test_an_incomplete_sample_is_not_built(
    tmp_path: pathlib.Path,
) -> None:
    """The missing file is named: half of a package is not uploaded."""
    with pytest.raises(csar.CsarError, match=r"core\.yaml, .* missing"):
        csar.build(MANAGEMENT, tmp_path / "p.zip")


def test_a_vnfd_without_aspects_has_its_objects(
    tmp_path: pathlib.Path,
) -> None:
    """Of a management cluster nothing is scaled; it has one VDU."""
    folder = tmp_path / "whole"
    shutil.copytree(MANAGEMENT, folder)
    for name in csar.read_recipe(MANAGEMENT).needs:
        file = folder / name
        file.write_text(json.dumps(_deployment(f"of-{file.stem}")))
    core = folder / csar.read_recipe(MANAGEMENT).needs[0]
    core.write_text(json.dumps(_deployment("capi-controller-manager")))

    loaded = package.load(csar.build(folder, tmp_path / "p.zip"))

    assert loaded.vnfd is not None
    assert {} == loaded.vnfd.aspects
    assert ({}, {"core": 1}) == replica_counts.at_instantiation_level(
        loaded.vnfd
    )
    assert {"core"} == vdu_mapping.map_vdus(loaded, _scalable).keys()


def _deployment(name: str) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
    }


@pytest.mark.parametrize("text", ["", "a", "[", "entry: {}\nvariants: a"])
def test_recipe_that_is_none_is_refused(
    source: pathlib.Path, tmp_path: pathlib.Path, text: str
) -> None:
    """As a folder without one."""
    (source / "csar.yaml").write_text(text)

    with pytest.raises(csar.CsarError, match=r"csar\.yaml"):
        csar.build(source, tmp_path / "p.zip")


@pytest.mark.requirement("TK-20")
def test_all_samples_are_built_with_one_command(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a folder each sample and each variant has its CSAR."""
    assert 0 == csar.main(["-o", str(tmp_path)])
    assert len(VARIANTS) == len(capsys.readouterr().out.splitlines())
    assert len(VARIANTS) == len(list(tmp_path.glob("*.zip")))
