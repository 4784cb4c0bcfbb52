"""CSARs, packed and unpacked, and all that can be wrong with one."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import hashlib
import pathlib
import stat
from typing import Any
import zipfile

import pytest
import yaml

from tacker_k8s_cr import package
from tacker_k8s_cr.model.errors import PackageInvalid
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.package import files
from tests.unit.package import csar_builder

Write = Callable[[Mapping[str, bytes]], pathlib.Path]


@pytest.fixture(params=["zip", "folder"])
def write(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Write:
    """Makes a CSAR of files, in both forms in which one comes."""
    if request.param == "zip":
        return lambda content: csar_builder.write_archive(
            tmp_path / "p.zip", content
        )
    return lambda content: csar_builder.write_folder(tmp_path / "p", content)


def _problems(path: pathlib.Path) -> list[str]:
    with pytest.raises(PackageInvalid) as caught:
        package.load(path)
    return [str(problem) for problem in caught.value.problems]


def _names(loaded: package.Package) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in loaded.manifests]


def test_csar_gives_its_artifacts_and_its_vnfd(write: Write) -> None:
    """Manifests come in the order of TOSCA.meta, with numbers and hooks."""
    loaded = package.load(write(csar_builder.files()))

    assert ["two", "one"] == _names(loaded)
    assert loaded.vnfd is not None
    assert ("p", "by-node") == (loaded.name, loaded.vnfd.id)
    assert [csar_builder.TWO, csar_builder.ONE] == [
        d.where for d in loaded.documents
    ]


def test_definition_files_are_read_in_the_order_of_the_request(
    write: Write,
) -> None:
    """``lcm-kubernetes-def-files`` selects and orders."""
    path = write(csar_builder.files())

    assert ["one"] == _names(package.load(path, def_files=[csar_builder.ONE]))
    assert ["one", "two"] == _names(
        package.load(
            path,
            def_files=[csar_builder.ONE, csar_builder.TWO, csar_builder.ONE],
        )
    )


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (
            ["Files/kubernetes/x.yaml"],
            "x.yaml is not an artifact of the package",
        ),
        ([csar_builder.TOP], "top.yaml is not an artifact"),
        (["../../etc/passwd"], "passwd is not an artifact"),
        ([], "is empty"),
    ],
)
def test_definition_file_must_be_an_artifact(
    write: Write, wanted: list[str], expected: str
) -> None:
    """The error names those that are."""
    with pytest.raises(RequestInvalid, match=expected):
        package.load(write(csar_builder.files()), def_files=wanted)


def _with_url(digest: str) -> dict[str, bytes]:
    content = csar_builder.files()
    line = f"Algorithm: SHA-256\nHash: {digest}\n" if digest else ""
    content[csar_builder.META] += f"\nName: {URL}\n{line}".encode()
    return content


URL = "https://example.org/a.yaml"


@pytest.mark.requirement("A6")
def test_artifact_that_is_a_url_comes_from_the_caller(write: Write) -> None:
    """Its hash is held against what came, as of any other artifact."""
    text = csar_builder.manifest("far").encode()
    path = write(_with_url(hashlib.sha256(text).hexdigest()))
    asked = []

    def fetch(url: str, limit: int) -> bytes:
        asked.append((url, limit))
        return text

    loaded = package.load(path, def_files=[URL, csar_builder.ONE], fetch=fetch)

    assert ["far", "one"] == _names(loaded)
    assert [(URL, files.MAX_FILE)] == asked
    assert ["two", "one"] == _names(package.load(path, fetch=fetch))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: 1", "it is not the file that was packed"),
        (None, "does not exist"),
    ],
)
def test_what_came_has_to_be_what_was_packed(
    write: Write, content: bytes | None, said: str
) -> None:
    """Neither another content nor none is read."""

    def fetch(url: str, limit: int) -> bytes:
        if content is None:
            raise PackageInvalid([Problem(url, "does not exist")])
        return content

    path = write(_with_url("0" * 64))

    with pytest.raises(PackageInvalid, match=said) as caught:
        package.load(path, def_files=[URL], fetch=fetch)
    assert URL == caught.value.problems[0].where


def test_url_without_a_hash_is_refused(write: Write) -> None:
    """Without a hash a changed download would not be detected."""

    def fetch(url: str, limit: int) -> bytes:
        raise AssertionError(url)

    with pytest.raises(RequestInvalid, match="has no hash of it"):
        package.load(write(_with_url("")), def_files=[URL], fetch=fetch)


def test_artifact_that_is_a_url_is_not_fetched(write: Write) -> None:
    """Only what is inside the package is read; the rest may stay away."""
    url = "https://example.org/a.yaml"
    content = csar_builder.files()
    block = f"\nName: {url}\nAlgorithm: SHA-256\nHash: 00\n"
    content[csar_builder.META] += block.encode()
    path = write(content)

    assert ["two", "one"] == _names(package.load(path))
    with pytest.raises(RequestInvalid, match="is a URL"):
        package.load(path, def_files=[url])


def test_manifest_file_adds_artifacts(write: Write) -> None:
    """With ETSI-Entry-Manifest both lists count, the manifest's first."""
    content = csar_builder.files(ETSI_Entry_Manifest="p.mf")
    content["Files/kubernetes/three.yaml"] = csar_builder.manifest(
        "three"
    ).encode()
    content["p.mf"] = (
        b"metadata:\n  vnf_product_name: p\n\n"
        b"Source: Files/kubernetes/three.yaml\n"
    )

    assert ["three", "two", "one"] == _names(package.load(write(content)))


def test_manifests_may_lie_elsewhere(write: Write) -> None:
    """Where nothing is below Files/kubernetes, other YAML is taken."""
    artifacts = {
        "Artifacts/a.yaml": csar_builder.manifest("a"),
        "Scripts/values.yaml": "no: manifest",
        "a.txt": "no manifest",
    }

    assert ["a"] == _names(
        package.load(write(csar_builder.files(artifacts=artifacts)))
    )


def test_artifact_without_a_hash_is_accepted(write: Write) -> None:
    """Tacker takes a block of TOSCA.meta with a name and nothing else."""
    content = csar_builder.files()
    head, *_ = content[csar_builder.META].split(b"\n\n")
    content[csar_builder.META] = (
        head + f"\n\nName: {csar_builder.ONE}\n".encode()
    )

    assert ["one"] == _names(package.load(write(content)))


def test_a_comment_of_the_list_is_not_part_of_it(write: Write) -> None:
    """Tacker reads TOSCA.meta as YAML."""
    content = csar_builder.files()
    content[csar_builder.META] = content[csar_builder.META].replace(
        b"Algorithm: SHA-256", b"Algorithm: SHA-256  # of the file"
    )

    assert ["two", "one"] == _names(package.load(write(content)))


def test_an_artifact_without_a_hash_may_be_absent(write: Write) -> None:
    """Tacker looks only at artifacts with a hash, and at no image.

    The request must not name such a file.
    """
    content = csar_builder.files()
    content[csar_builder.META] += (
        b"\nName: Files/kubernetes/no.yaml\n"
        b"\nName: Files/images/a.img\nAlgorithm: SHA-256\nHash: 00\n"
    )
    path = write(content)

    assert ["two", "one"] == _names(package.load(path))
    with pytest.raises(PackageInvalid, match=r"no.yaml: is listed as"):
        package.load(path, def_files=["Files/kubernetes/no.yaml"])


def test_an_artifact_may_be_hidden(write: Write) -> None:
    """Its name begins with a dot; what Tacker unpacks has it."""
    name = "Files/kubernetes/.a.yaml"
    path = write(
        csar_builder.files(artifacts={name: csar_builder.manifest("a")})
    )

    assert ["a"] == _names(package.load(path))


def test_named_files_of_a_kustomization_are_read(write: Write) -> None:
    """Tacker ignores the files beside them too."""
    content = csar_builder.files()
    content["Files/kubernetes/kustomization.yaml"] = b"resources: []\n"
    path = write(content)

    assert ["one"] == _names(package.load(path, def_files=[csar_builder.ONE]))
    with pytest.raises(PackageInvalid, match="is a kustomization"):
        package.load(path)


def test_machine_image_is_not_read(write: Write) -> None:
    """Tacker does not check the hash of one either; it may be gigabytes."""
    content = csar_builder.files()
    content["Files/images/a.qcow2"] = b"0"
    content[csar_builder.META] += (
        b"\nName: Files/images/a.qcow2\nAlgorithm: SHA-256\nHash: 00\n"
    )

    assert ["two", "one"] == _names(package.load(write(content)))


def test_every_artifact_is_checked(write: Write) -> None:
    """Missing, changed, and of an unknown algorithm: all at once."""
    content = csar_builder.files()
    content[csar_builder.ONE] += b"# changed\n"
    del content[csar_builder.TWO]
    content["a.txt"] = b"a"
    content[csar_builder.META] += (
        b"\nName: a.txt\nAlgorithm: MD5\nHash: 00\n\nName: b.txt\nHash: 00\n"
    )
    meta, missing, changed, unknown, last = _problems(write(content))

    assert (
        f"{csar_builder.META}: b.txt: has only one of Algorithm and Hash"
        == meta
    )
    assert (
        f"{csar_builder.TWO}: is listed as an artifact and does not exist"
        == missing
    )
    assert "it is not the file that was packed" in changed
    assert unknown.startswith("a.txt: has the algorithm MD5, wanted one of")
    assert last.startswith("b.txt: is listed")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ({"Entry_Definitions": ""}, "missing Entry-Definitions"),
        ({"Entry_Definitions": "x.yaml"}, "the entry x.yaml, which is not"),
        ({"Entry_Definitions": "../x.yaml"}, "the entry ../x.yaml, which"),
        ({"ETSI_Entry_Manifest": "x.mf"}, "names the manifest x.mf"),
    ],
)
def test_entries_must_be_there(
    write: Write, head: dict[str, str], expected: str
) -> None:
    """TOSCA.meta names what is in the package."""
    (problem,) = _problems(write(csar_builder.files(**head)))

    assert expected in problem


def test_faults_of_a_manifest_have_their_place(write: Write) -> None:
    """The place is the path in the package, wherever that lies."""
    artifacts = {
        csar_builder.ONE: "kind: A\n---\n" + csar_builder.manifest("two"),
        csar_builder.TWO: csar_builder.manifest("two") + "data: {}\n",
    }

    assert [
        f"{csar_builder.ONE}, document 1: missing apiVersion, metadata.name",
        f"{csar_builder.TWO}: ConfigMap/two is there twice; the first is in "
        f"{csar_builder.ONE}, document 2, with different content; remove one "
        "of them",
    ] == _problems(write(csar_builder.files(artifacts=artifacts)))


def test_faults_of_all_parts_are_reported_at_once(write: Write) -> None:
    """Artifacts, definitions, the VNFD and manifests."""
    policies = [
        csar_builder.policy("VduInitialDelta", ["x"], initial_delta={})
    ]
    content = csar_builder.files(
        {csar_builder.FLAVOUR: csar_builder.flavour(policies=policies)},
        {
            csar_builder.ONE: "kind: A",
            csar_builder.TWO: csar_builder.manifest("two"),
        },
    )
    content[csar_builder.TWO] += b"# changed"

    assert [csar_builder.TWO, csar_builder.TOP, csar_builder.ONE] == [
        problem.split(": ")[0] for problem in _problems(write(content))
    ]


def test_csar_cannot_be_combined_with_other_paths(
    write: Write, tmp_path: pathlib.Path
) -> None:
    """It cannot be loaded with other paths: whose VNFD would count?"""
    (tmp_path / "a.yaml").write_text(csar_builder.manifest("a"))

    with pytest.raises(RequestInvalid, match="a package of its own"):
        package.load(tmp_path / "a.yaml", write(csar_builder.files()))


def test_source_of_a_csar_needs_no_types(tmp_path: pathlib.Path) -> None:
    """A folder with Definitions and without TOSCA-Metadata is a CSAR to be.

    The type files and the hashes come with the build.
    """
    content = csar_builder.files()
    del content[csar_builder.META], content[csar_builder.TYPES]
    loaded = package.load(csar_builder.write_folder(tmp_path / "p", content))

    assert ["one", "two"] == _names(loaded)
    assert loaded.vnfd is not None
    assert {"web": 1} == loaded.vnfd.level_numbers["small"]


def test_folder_named_definitions_is_not_a_source_by_that(
    tmp_path: pathlib.Path,
) -> None:
    """Only TOSCA definitions make it one; others put manifests there."""
    path = csar_builder.write_folder(
        tmp_path / "p",
        {"Definitions/a.yaml": csar_builder.manifest("a").encode()},
    )

    assert ["a"] == _names(package.load(path))


# -- Definitions --------------------------------------------------------------


def test_import_must_be_in_the_package(write: Write) -> None:
    """Nothing outside is read, whatever path an import has."""
    imports = ["types.yaml", "../../../etc/hostname", "/etc/hostname", "a.yml"]
    top = {**csar_builder.top_definitions("df.yaml"), "imports": imports}

    assert [
        f"{csar_builder.TOP}: imports {name}, which is not in the package"
        for name in ("../../../etc/hostname", "/etc/hostname", "a.yml")
    ] == _problems(write(csar_builder.files({csar_builder.TOP: top})))


def test_import_may_name_the_folder_again(write: Write) -> None:
    """tosca-parser takes Definitions/types.yaml beside it for types.yaml."""
    content = csar_builder.files()
    text = (
        content[csar_builder.TOP]
        .decode()
        .replace("- types", "- Definitions/types")
    )
    assert "- Definitions/types.yaml" in text
    content[csar_builder.TOP] = text.encode()

    vnfd = package.load(write(content)).vnfd

    assert vnfd
    assert "simple" == vnfd.flavour


def test_a_flavour_need_not_be_imported(write: Write) -> None:
    """Tacker finds it by its id among all definitions.

    It does not count where no flavour is named: it may be a leftover.
    """
    content = csar_builder.files()
    other = content[csar_builder.FLAVOUR].replace(b"simple", b"complex")
    content["Definitions/other.yaml"] = other
    content["Definitions/broken.yaml"] = b"["
    path = write(content)

    found = package.load(path, flavour="complex").vnfd
    usual = package.load(path).vnfd

    assert found
    assert "complex" == found.flavour
    assert usual
    assert "simple" == usual.flavour
    with pytest.raises(RequestInvalid, match="no flavour large"):
        package.load(path, flavour="large")


def test_import_by_url_is_the_file_beside_it(write: Write) -> None:
    """A package brings what it imports."""
    url = "https://forge.example.org/raw/types.yaml"
    top = {
        **csar_builder.top_definitions(),
        "imports": [{"types": url}, {"df": "df.yaml"}],
    }
    loaded = package.load(write(csar_builder.files({csar_builder.TOP: top})))

    assert loaded.vnfd is not None


def test_import_by_url_is_not_fetched(write: Write) -> None:
    """Without it the types are not checked; Tacker did so at upload."""
    url = "https://forge.invalid/x.yaml"
    top = {
        **csar_builder.top_definitions("df.yaml"),
        "imports": [url, "df.yaml", "types.yaml"],
    }
    loaded = package.load(write(csar_builder.files({csar_builder.TOP: top})))

    assert loaded.vnfd is not None


def test_import_by_a_repository_is_refused(write: Write) -> None:
    """It would be fetched from where the repository is."""
    item = {"a": {"file": "types.yaml", "repository": "r"}}
    top = {**csar_builder.top_definitions(), "imports": [item]}
    (problem,) = _problems(write(csar_builder.files({csar_builder.TOP: top})))

    assert "which is not in the package" in problem


def test_definitions_that_do_not_parse_have_line_and_column(
    write: Write,
) -> None:
    """As manifests have."""
    content = csar_builder.files()
    content[csar_builder.FLAVOUR] = b"a: b: c"
    (problem,) = _problems(write(content))

    assert (
        f"{csar_builder.FLAVOUR}: line 1, column 5: mapping values" in problem
    )


@pytest.mark.parametrize(
    "text", [b"[", b"- a", b"a: !!python/none x", b"[" * 999]
)
def test_definitions_that_are_none_are_refused(
    write: Write, text: bytes
) -> None:
    """Whatever is in their place, it is a fault and no exception."""
    content = csar_builder.files()
    content[csar_builder.FLAVOUR] = text
    (problem,) = _problems(write(content))

    assert problem.startswith(csar_builder.FLAVOUR)


def test_tosca_parser_checks_the_definitions(write: Write) -> None:
    """A property that its type does not have is found, and named."""
    vnf = {"properties": {"colour": "red"}}
    content = csar_builder.files(
        {csar_builder.FLAVOUR: csar_builder.flavour(vnf=vnf)}
    )
    problems = _problems(write(content))

    assert any(
        p.startswith(f"{csar_builder.TOP}: tosca-parser reports: ")
        and "colour" in p
        for p in problems
    )


def test_definitions_are_validated_on_every_read(write: Write) -> None:
    """The same faults every time they are read, and none once fixed."""
    vnf = {"properties": {"colour": "red"}}
    faulty = csar_builder.files(
        {csar_builder.FLAVOUR: csar_builder.flavour(vnf=vnf)}
    )
    first = _problems(write(faulty))

    assert first == _problems(write(faulty))
    assert package.load(write(csar_builder.files())).vnfd
    assert first == _problems(write(faulty))


@pytest.mark.parametrize("wrong", [{"type": True}, True, [1], "text"])
def test_an_error_of_tosca_parser_is_reported_in_words(
    write: Write, wrong: Any
) -> None:
    """Not in Python's, of which an author would make nothing."""
    content = csar_builder.files(
        {csar_builder.FLAVOUR: csar_builder.flavour(vdus={"web": wrong})}
    )
    problems = "\n".join(_problems(write(content)))

    assert "tosca-parser" in problems
    assert "object has no" not in problems
    assert "subscriptable" not in problems


def test_unknown_type_is_a_fault(write: Write) -> None:
    """As is a node of a type without a definition."""
    vdus = {"web": {"type": "example.Unknown"}}
    content = csar_builder.files(
        {csar_builder.FLAVOUR: csar_builder.flavour(vdus=vdus)}
    )

    assert any("example.Unknown" in p for p in _problems(write(content)))


# -- Archives -----------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../a.yaml", "/a.yaml", "a/../../b", "a\\b", "C:/a", "a/.."]
)
def test_entry_that_leads_out_is_refused(
    tmp_path: pathlib.Path, name: str
) -> None:
    """Nothing is unpacked, and such an archive is not read at all."""
    path = tmp_path / "p.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for known, data in csar_builder.files().items():
            archive.writestr(known, data)
        entry = zipfile.ZipInfo("x")
        entry.filename = name
        archive.writestr(entry, b"a")

    assert [f"{path}: {name}: leads out of the package"] == _problems(path)


def test_link_in_an_archive_is_refused(tmp_path: pathlib.Path) -> None:
    """A link could name any file of the user that unpacks it."""
    path = csar_builder.write_archive(tmp_path / "p.zip", csar_builder.files())
    with zipfile.ZipFile(path, "a") as archive:
        entry = zipfile.ZipInfo("link.yaml")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, b"/etc/passwd")

    assert [f"{path}: link.yaml: is a symbolic link"] == _problems(path)


def test_link_out_of_a_folder_is_refused(tmp_path: pathlib.Path) -> None:
    """The same for a package that is unpacked already."""
    path = csar_builder.write_folder(tmp_path / "p", csar_builder.files())
    (tmp_path / "out.yaml").write_bytes((path / csar_builder.ONE).read_bytes())
    (path / csar_builder.ONE).unlink()
    (path / csar_builder.ONE).symlink_to(tmp_path / "out.yaml")

    assert [
        f"{csar_builder.ONE}: is a link to something outside the package"
    ] == _problems(path)


def test_encrypted_archive_is_refused(tmp_path: pathlib.Path) -> None:
    """There is no password; the entry that needs one is named.

    The flag is set in the bytes of the archive's directory, since the
    standard library cannot encrypt.
    """
    path = csar_builder.write_archive(
        tmp_path / "p.zip", {"a.yaml": b"a"}, method=0
    )
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)

    assert [f"{path}: a.yaml: is encrypted"] == _problems(path)


def test_damaged_archive_is_refused(tmp_path: pathlib.Path) -> None:
    """An entry whose bytes are not those that were packed is named."""
    path = csar_builder.write_archive(
        tmp_path / "p.zip", csar_builder.files(), method=0
    )
    data = path.read_bytes()
    path.write_bytes(data.replace(b"name: one", b"name: 0ne", 1))

    assert any(
        p.startswith(f"{csar_builder.ONE}: cannot be unpacked")
        for p in _problems(path)
    )


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no archive"])
def test_a_file_that_is_not_an_archive_is_refused(
    tmp_path: pathlib.Path, content: bytes
) -> None:
    """Only its name has the suffix of one."""
    path = tmp_path / "p.csar"
    path.write_bytes(content)
    (problem,) = _problems(path)

    assert problem.startswith(f"{path}: is not a zip archive that can be read")


def test_absent_archive_is_named(tmp_path: pathlib.Path) -> None:
    """As any path."""
    assert [f"{tmp_path}/p.zip: does not exist"] == _problems(
        tmp_path / "p.zip"
    )


def test_a_key_twice_is_a_warning_where_asked_for(write: Write) -> None:
    """Tacker reads such a manifest without a warning."""
    twice = csar_builder.manifest("a") + "data: {b: c}\ndata: {b: d}\n"
    path = write(csar_builder.files(artifacts={csar_builder.ONE: twice}))
    assert [
        f"{csar_builder.ONE}, line 5, column 1: the key 'data' is there twice "
        "in one mapping"
    ] == _problems(path)

    found = package.load(path, field_validation="warn")

    assert {"b": "d"} == found.manifests[0]["data"]
    (warning,) = found.warnings
    assert warning.endswith("twice in one mapping; the last one counts")


def rooted(**more: bytes) -> dict[str, bytes]:
    """A CSAR without TOSCA.meta: one file at the root, and its manifest."""
    content = csar_builder.files()
    flavour = yaml.safe_load(content[csar_builder.FLAVOUR])
    types = {**csar_builder.types(), **flavour}
    types.pop("imports")
    listed = content[csar_builder.META].partition(b"\n\n")[2]
    return {
        "VNF.yaml": yaml.safe_dump(types).encode(),
        "VNF.mf": listed.replace(b"Name:", b"Source:"),
        csar_builder.ONE: content[csar_builder.ONE],
        csar_builder.TWO: content[csar_builder.TWO],
        **more,
    }


def test_a_csar_may_have_its_definitions_at_the_root(write: Write) -> None:
    """Tacker takes one without the folder TOSCA-Metadata (SOL 004)."""
    path = write(rooted())

    found = package.load(path, def_files=[csar_builder.ONE])

    assert ["one"] == _names(found)
    assert ["two", "one"] == _names(package.load(path))
    assert found.vnfd
    assert ("simple", ["web"]) == (found.vnfd.flavour, [*found.vnfd.vdus])


def test_artifacts_of_a_csar_without_metadata_are_checked(
    write: Write,
) -> None:
    """The manifest file has their hashes."""
    content = rooted()
    content[csar_builder.ONE] += b"# changed\n"

    (problem,) = _problems(write(content))

    assert problem.startswith(f"{csar_builder.ONE}: has the sha-256")


def test_two_files_at_the_root_are_not_definitions(
    tmp_path: pathlib.Path,
) -> None:
    """Tacker refuses such an archive; a folder is one of manifests."""
    content = rooted(**{"a.yaml": csar_builder.manifest("a").encode()})

    (problem,) = _problems(
        csar_builder.write_archive(tmp_path / "p.zip", content)
    )

    assert "is a zip archive, but not a CSAR" in problem


def test_archive_without_metadata_is_not_a_csar(
    tmp_path: pathlib.Path,
) -> None:
    """The usual cause: the folder was packed, and not what is in it."""
    inside = {f"p/{name}": data for name, data in csar_builder.files().items()}
    path = csar_builder.write_archive(tmp_path / "p.zip", inside)

    assert [
        f"{path}: is a zip archive, but not a CSAR: it does not have "
        f"{csar_builder.META}; p/{csar_builder.META} must be at its root"
    ] == _problems(path)


def test_entry_that_grows_is_refused(tmp_path: pathlib.Path) -> None:
    """A small archive of a large manifest does not fill the memory."""
    artifacts = {csar_builder.ONE: " " * (files.MAX_FILE + 1)}
    path = csar_builder.write_archive(
        tmp_path / "p.zip", csar_builder.files(artifacts=artifacts)
    )

    assert path.stat().st_size < 100_000
    assert [f"{csar_builder.ONE}: is larger than 16 MiB"] == _problems(path)


def test_name_twice_in_an_archive_is_refused(tmp_path: pathlib.Path) -> None:
    """Two programs could read two contents under one name."""
    path = csar_builder.write_archive(
        tmp_path / "p.zip", {"a.yaml": b"", "b.yaml": b""}
    )
    path.write_bytes(path.read_bytes().replace(b"b.yaml", b"a.yaml"))

    assert [f"{path}: a.yaml: is there twice"] == _problems(path)
