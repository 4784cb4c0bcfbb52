"""Charts, kustomizations, archives and standard input as a package."""

from __future__ import annotations

import gzip
import io
import pathlib
import tarfile
import zipfile

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr import package
from tacker_k8s_cr.model.errors import PackageInvalid
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.package import archives
from tacker_k8s_cr.package import unrendered_sources
from tacker_k8s_cr.package.unrendered_sources import Source
from tests.unit.package import csar_builder

CHART = "apiVersion: v2\nname: router\nversion: 1.0.0\n"
TEMPLATE = "metadata: {{ .Release.Name }}\n"
PATCH = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
KUSTOMIZATION = "resources: [a.yaml]\npatches: [{path: b.yaml}]\n"
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps}
"""


def written(folder: pathlib.Path, files: dict[str, str]) -> pathlib.Path:
    return csar_builder.write_folder(
        folder, {name: text.encode() for name, text in files.items()}
    )


def problems(*paths: pathlib.Path, **how: object) -> list[str]:
    with pytest.raises(PackageInvalid) as caught:
        package.load(*paths, **how)
    return [str(problem) for problem in caught.value.problems]


def names(loaded: package.Package) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in loaded.manifests]


def chart_at(path: pathlib.Path) -> str:
    return (
        f"{path}: is a Helm chart; render it first: helm template NAME {path} "
        "--include-crds | tacker-k8s-cr instantiate NAME -"
    )


def kustomization_at(path: pathlib.Path) -> str:
    return (
        f"{path}: is a kustomization; build it first: kubectl kustomize "
        f"{path} | tacker-k8s-cr instantiate NAME - (or name the files to "
        "apply without it)"
    )


# -- Folders ------------------------------------------------------------------


def test_a_chart_is_named_and_its_templates_are_not_read(tmp_path):
    """One sentence with the command, and no fault for each template."""
    chart = written(
        tmp_path / "router",
        {
            "Chart.yaml": CHART,
            "values.yaml": "replicas: 1\n",
            "templates/a.yaml": TEMPLATE,
            "charts/db/Chart.yaml": CHART,
            "charts/db/templates/b.yaml": TEMPLATE,
        },
    )

    assert [chart_at(chart)] == problems(chart)
    assert [chart_at(chart)] == problems(chart / "Chart.yaml")
    assert [chart_at(chart)] == problems(tmp_path)


@pytest.mark.parametrize(
    "name", ["kustomization.yaml", "kustomization.yml", "Kustomization"]
)
@pytest.mark.parametrize(
    "text",
    [
        KUSTOMIZATION,
        "",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n",
    ],
)
def test_a_folder_with_a_kustomization_is_refused(tmp_path, name, text):
    """Also beside plain manifests: without it they would mean another thing.

    Its patches are not faults.
    """
    folder = written(tmp_path, {name: text, "a.yaml": PATCH, "b.yaml": PATCH})

    assert [kustomization_at(folder)] == problems(folder)
    assert [kustomization_at(folder)] == problems(folder / name)


def test_the_files_beside_a_kustomization_may_be_named(tmp_path):
    """A user that names files gets these files."""
    folder = written(
        tmp_path, {"kustomization.yaml": KUSTOMIZATION, "a.yaml": PATCH}
    )

    assert ["one"] == names(package.load(folder / "a.yaml"))


def test_a_base_and_its_overlays_are_named(tmp_path):
    """Each has its sentence; other files keep their own faults."""
    root = written(
        tmp_path,
        {
            "base/kustomization.yaml": KUSTOMIZATION,
            "base/a.yaml": PATCH,
            "overlays/lab/kustomization.yaml": KUSTOMIZATION,
            "c.yaml": "kind: A",
        },
    )

    assert [
        kustomization_at(root / "base"),
        kustomization_at(root / "overlays/lab"),
        f"{root}/c.yaml: missing apiVersion, metadata.name",
    ] == problems(root)


def test_an_object_of_flux_in_such_a_file_is_a_manifest(tmp_path):
    """Its kind is Kustomization too, and a server has it."""
    folder = written(tmp_path, {"kustomization.yaml": FLUX})

    assert ["apps"] == names(package.load(folder))


def test_a_path_in_a_command_is_quoted(tmp_path):
    """The command can be pasted into a shell."""
    folder = written(tmp_path / "my chart", {"Chart.yaml": CHART})

    assert f"helm template NAME '{folder}' " in problems(folder)[0]


paths = st.lists(
    st.lists(st.sampled_from("abc"), max_size=3).map("/".join), max_size=6
)


@given(paths, paths)
def test_only_the_outermost_folders_are_named(charts, others):
    """Every file of a chart is in one named folder, and in only one."""
    files = [f"{path}/Chart.yaml".lstrip("/") for path in charts]
    files += [f"{path}/x.yaml".lstrip("/") for path in others]

    found = unrendered_sources.folders(
        files, lambda name: {"name": "a", "version": "1"}
    )

    for path in charts:
        assert 1 == sum(
            unrendered_sources.is_within(path, {folder: Source.CHART})
            for folder in found
        )


# -- Archives -----------------------------------------------------------------


def tar(path: pathlib.Path, mode: str, *files: str) -> pathlib.Path:
    with tarfile.open(path, mode) as archive:
        for name in files:
            data = b"x" * 600
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["router-1.0.0.tgz", "router"])
def test_a_packed_chart_is_named(tmp_path, name):
    """Helm reads it as it is, whatever its name."""
    path = tar(tmp_path / name, "w:gz", "router/Chart.yaml", "router/a.yaml")

    assert [chart_at(path)] == problems(path)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_an_archive_is_named(tmp_path, mode):
    """What it is and what to do, rather than that it is not text."""
    plain = tar(tmp_path / "a.tar.x", mode, "site/a.yaml")
    built = tar(tmp_path / "b.tar.x", mode, "site/kustomization.yaml")

    assert [
        f"{plain}: is an archive; unpack it and name its folder",
        f"{built}: is an archive; it holds a kustomization; unpack it, then "
        "use kubectl kustomize",
    ] == problems(plain, built)


def test_a_zip_archive_that_is_not_a_csar_is_named(tmp_path):
    """With its content, as far as that is known."""

    def packed(name: str, *files: str) -> str:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for file in files:
                archive.writestr(file, "x")
        (problem,) = problems(tmp_path / name)
        start = (
            f"{tmp_path / name}: is a zip archive, but not a CSAR: it does "
            "not have TOSCA-Metadata/TOSCA.meta; "
        )
        assert problem.startswith(start)
        return problem.removeprefix(start)

    assert "unpack it and name its folder" == packed("a.zip", "a.yaml")
    assert "it holds a Helm chart; unpack it, then use helm template" == (
        packed("b.zip", "router/Chart.yaml")
    )
    said = packed("c.zip", "kustomization.yml")
    assert said.startswith("it holds a kustomization; unpack it, then use ")


def test_a_compressed_file_is_named(tmp_path):
    """One manifest, compressed."""
    path = tmp_path / "a.yaml.gz"
    path.write_bytes(gzip.compress(PATCH.encode()))

    assert [f"{path}: is a compressed file; unpack it first"] == problems(path)


@given(st.sampled_from(["w", "w:gz", "w:bz2", "w:xz"]), st.integers(0, 2000))
def test_a_truncated_archive_is_not_an_internal_error(
    tmp_path_factory, mode, size
):
    """Any beginning of an archive gets a sentence, or is read as text."""
    path = tar(tmp_path_factory.mktemp("cut") / "a", mode, "a", "b/Chart.yaml")
    path.write_bytes(path.read_bytes()[:size])

    assert isinstance(archives.advice(path), str | None)


# -- CSAR ---------------------------------------------------------------------


def test_a_chart_in_a_csar_is_named_once(tmp_path):
    """Its templates are not read; other manifests are."""
    listed = {
        "Files/kubernetes/router/Chart.yaml": CHART,
        "Files/kubernetes/router/templates/a.yaml": TEMPLATE,
        "Files/kubernetes/site/kustomization.yaml": KUSTOMIZATION,
        csar_builder.ONE: csar_builder.manifest("one"),
    }
    path = csar_builder.write_archive(
        tmp_path / "p.zip", csar_builder.files(artifacts=listed)
    )

    assert [
        "Files/kubernetes/router: is a Helm chart; use the output of helm "
        "template instead",
        "Files/kubernetes/site: is a kustomization; use the output of kubectl "
        "kustomize instead",
    ] == problems(path)
    assert ["one"] == names(package.load(path, def_files=[csar_builder.ONE]))


def test_archives_in_a_csar_without_manifests_are_named(tmp_path):
    """A packed chart alone is not a package."""
    listed = {"Files/kubernetes/router-1.0.0.tgz": "x"}
    path = csar_builder.write_archive(
        tmp_path / "p.zip", csar_builder.files(artifacts=listed)
    )

    assert [
        "Files/kubernetes/router-1.0.0.tgz: is an archive; pack the manifests "
        "themselves"
    ] == problems(path)


# -- Standard input -----------------------------------------------------------


def test_standard_input_is_a_file_of_any_number_of_documents(tmp_path):
    """It may stand among other paths, and its faults have their document."""
    other = (
        written(tmp_path, {"a.yaml": csar_builder.manifest("a")}) / "a.yaml"
    )
    text = f"{csar_builder.manifest('b')}---\n{csar_builder.manifest('c')}"

    loaded = package.load(other, "-", stdin=io.BytesIO(text.encode()))
    found = problems("-", stdin=io.BytesIO(f"{text}---\nx: 1\n".encode()))

    assert ["a", "b", "c"] == names(loaded)
    assert [
        "standard input, document 3: missing apiVersion, kind, metadata.name"
    ] == found


def test_empty_standard_input_is_refused():
    """The program before it failed: an empty package is not a package."""
    assert ["standard input: has no manifests"] == (
        problems("-", stdin=io.BytesIO())
    )


def test_standard_input_is_read_once():
    """Twice it would be empty the second time."""
    with pytest.raises(RequestInvalid, match="only once"):
        package.load("-", "-", stdin=io.BytesIO())


def test_without_a_stream_a_dash_is_the_name_of_a_file(tmp_path, monkeypatch):
    """A library does not read standard input unless requested."""
    written(tmp_path, {"-": csar_builder.manifest("a")})
    monkeypatch.chdir(tmp_path)

    assert ["a"] == names(package.load("-"))
    assert ["a"] == names(package.load("./-", stdin=io.BytesIO()))


# -- Encodings ----------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("mark", ["", "\n", "\r\n"])
def test_a_byte_order_mark_names_the_encoding(tmp_path, encoding, mark):
    """UTF-16 is read as kubectl reads it, from a file or standard input."""
    text = f'{csar_builder.manifest("a")}data: {{k: "é"}}{mark}'
    if encoding == "utf-16-be":
        text = f"\ufeff{text}"
    data = text.encode(encoding)
    (tmp_path / "a.yaml").write_bytes(data)

    for loaded in (
        package.load(tmp_path),
        package.load("-", stdin=io.BytesIO(data)),
    ):
        assert {"k": "é"} == loaded.manifests[0]["data"]


def test_text_in_no_encoding_is_refused_with_its_line(tmp_path):
    """UTF-16 without a mark, half a character, and bytes that are not text."""
    for name, data in {
        "a": "\ufeffx: 1\n".encode("utf-16-le") + b"\x00\xd8",
        "b": b"x: 1\ny: \xff",
        "c": csar_builder.manifest("a").encode("utf-16-le"),
    }.items():
        (tmp_path / f"{name}.yaml").write_bytes(data)

    assert [
        f"{tmp_path}/a.yaml: is not UTF-16 text (line 2)",
        f"{tmp_path}/b.yaml: is not UTF-8 text (line 2)",
    ] == problems(tmp_path)[:2]
    assert 3 == len(problems(tmp_path))
