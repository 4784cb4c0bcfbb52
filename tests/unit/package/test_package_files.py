"""Packages from files and folders."""

from __future__ import annotations

import os
import pathlib

import pytest

from tacker_k8s_cr import package
from tacker_k8s_cr.model.errors import PackageInvalid
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.package import files
from tacker_k8s_cr.package import loader


def _manifest(name: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"


def _write(folder: pathlib.Path, **texts: str) -> pathlib.Path:
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _names(loaded: package.Package) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in loaded.manifests]


def _problems(*paths: pathlib.Path) -> list[str]:
    with pytest.raises(PackageInvalid) as caught:
        package.load(*paths)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.requirement("CR-16")
def test_folder_gives_its_files_sorted_by_path(tmp_path: pathlib.Path) -> None:
    """YAML and JSON at any depth, without other and hidden files."""
    _write(
        tmp_path,
        b_yaml=_manifest("b"),
        a__z_yml=_manifest("az"),
        c_json='{"apiVersion": "v1", "kind": "A", "metadata": {"name": "c"}}',
        README_md="no manifest",
        a___hidden_yaml="no: manifest",
    )
    _write(tmp_path / ".git", x_yaml="no: manifest")
    loaded = package.load(tmp_path)

    assert ["az", "b", "c"] == _names(loaded)
    assert (tmp_path.name, None) == (loaded.name, loaded.vnfd)


def test_files_come_in_the_order_in_which_they_are_named(
    tmp_path: pathlib.Path,
) -> None:
    """Files and folders may be mixed; a file may have any ending."""
    _write(tmp_path, d__a_yaml=_manifest("a"), b_txt=_manifest("b"))

    assert ["b", "a"] == _names(
        package.load(tmp_path / "b.txt", str(tmp_path / "d"))
    )


def test_windows_line_ends_and_byte_order_mark_are_not_content(
    tmp_path: pathlib.Path,
) -> None:
    """An editor's habits do not change a manifest."""
    text = _manifest("a") + "data:\n  k: |\n    x\n    y\n"
    (tmp_path / "a.yaml").write_bytes(
        b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    )
    (manifest,) = package.load(tmp_path).manifests

    assert "x\ny\n" == manifest["data"]["k"]


def test_faults_of_all_files_are_reported_at_once(
    tmp_path: pathlib.Path,
) -> None:
    """One error names every fault, each with its file."""
    _write(
        tmp_path,
        a_yaml="kind: A",
        b_yaml="a: b: c",
        c_yaml=_manifest("c"),
        d__e_yaml=_manifest("c") + "data: {}\n",
    )
    (tmp_path / "f.yaml").write_bytes(b"a: \xff")

    assert [
        f"{tmp_path}/a.yaml: missing apiVersion, metadata.name",
        f"{tmp_path}/b.yaml, line 1, column 5: mapping values are not "
        "allowed in this context",
        f"{tmp_path}/f.yaml: is not UTF-8 text (line 1)",
        f"{tmp_path}/d/e.yaml: ConfigMap/c is there twice; the first is in "
        f"{tmp_path}/c.yaml, with different content; remove one of them",
    ] == _problems(tmp_path)


@pytest.mark.requirement("P19")
def test_empty_package_is_refused(tmp_path: pathlib.Path) -> None:
    """A folder without manifests is a mistake, not an instance of nothing."""
    _write(tmp_path, a_yaml="# nothing\n---\n")

    assert [f"{tmp_path}: has no manifests"] == _problems(tmp_path)


def test_absent_path_is_named(tmp_path: pathlib.Path) -> None:
    """Each path that does not exist is named, beside the other faults."""
    _write(tmp_path, a_yaml="kind: A")

    assert [
        f"{tmp_path}/x: does not exist",
        f"{tmp_path}/a.yaml: missing apiVersion, metadata.name",
    ] == _problems(tmp_path / "x", tmp_path / "a.yaml")


def test_pipe_is_not_a_file(tmp_path: pathlib.Path) -> None:
    """What cannot be read to its end is not read at all."""
    os.mkfifo(tmp_path / "a.yaml")

    assert [f"{tmp_path}/a.yaml: is not a file"] == _problems(tmp_path)


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_unreadable_file_is_named(tmp_path: pathlib.Path) -> None:
    """A file without permission is a fault of the package."""
    _write(tmp_path, a_yaml=_manifest("a"))
    (tmp_path / "a.yaml").chmod(0)

    (problem,) = _problems(tmp_path)
    assert f"{tmp_path}/a.yaml: cannot be read: Permission denied" == problem


def test_name_that_is_too_long_for_a_file_is_a_fault(
    tmp_path: pathlib.Path,
) -> None:
    """An error of the operating system becomes one of the package."""
    (problem,) = _problems(tmp_path / ("a" * 300))

    assert "a: " in problem


def test_large_file_is_refused(tmp_path: pathlib.Path) -> None:
    """A file has a limit, so that no package fills the memory."""
    with (tmp_path / "a.yaml").open("wb") as stream:
        stream.truncate(files.MAX_FILE + 1)

    assert [f"{tmp_path}/a.yaml: is larger than 16 MiB"] == _problems(tmp_path)


def test_all_files_together_have_a_limit(tmp_path: pathlib.Path) -> None:
    """So have the manifests of a package together."""
    for number in range(loader.MAX_TEXT // files.MAX_FILE + 1):
        text = b"#" * (files.MAX_FILE - 1)
        (tmp_path / f"{number}.yaml").write_bytes(text + b"\n")
    (tmp_path / "a.yaml").write_text(_manifest("a"))

    assert any(
        "is more than a package may hold: 64 MiB" in problem
        for problem in _problems(tmp_path)
    )


def test_no_path_is_not_a_package() -> None:
    """The user forgot to name one."""
    with pytest.raises(RequestInvalid, match="no path"):
        package.load()


def test_choices_of_a_csar_need_a_csar(tmp_path: pathlib.Path) -> None:
    """Files and folders have neither definition files nor flavours."""
    _write(tmp_path, a_yaml=_manifest("a"))

    with pytest.raises(RequestInvalid, match="is not a CSAR"):
        package.load(tmp_path, def_files=["a.yaml"])
    with pytest.raises(RequestInvalid, match="is not a CSAR"):
        package.load(tmp_path, flavour="simple")
