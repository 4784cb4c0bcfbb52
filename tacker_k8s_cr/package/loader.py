"""From paths to a package: what kind of thing each is, and what it holds."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import contextlib
import functools
import os
import pathlib
from typing import BinaryIO
import zipfile

from tacker_k8s_cr.model import field_validation as validation
from tacker_k8s_cr.model.errors import PackageInvalid
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.package import csar
from tacker_k8s_cr.package import documents
from tacker_k8s_cr.package import files as _files
from tacker_k8s_cr.package import manifests
from tacker_k8s_cr.package import sources
from tacker_k8s_cr.package import tosca_definitions
from tacker_k8s_cr.package import vnfd
from tacker_k8s_cr.package.files import Files
from tacker_k8s_cr.package.files import UnreadableFile

MAX_TEXT = 64 * 2**20
"""Characters of all manifests of a package."""

_STDIN = pathlib.Path("standard input")
"""Stands for the path ``-``; compared by identity."""

_ARCHIVES = (".csar", ".zip")

Fetch = Callable[[str, int], bytes]
"""The bytes at a URL, so many at most. Raises PackageInvalid."""


def load(
    *paths: str | os.PathLike[str],
    def_files: Sequence[str] | None = None,
    flavour: str = "",
    fetch: Fetch | None = None,
    stdin: BinaryIO | None = None,
    field_validation: str = validation.STRICT,
) -> Package:
    """A package from a CSAR, a folder, or any number of files and folders.

    A folder gives all its YAML and JSON files, those of its folders too,
    sorted by path; hidden ones are left out. A CSAR, as a zip file or
    unpacked, gives the manifests among its artifacts and its VNFD; so does
    the source of one, a folder with ``Definitions`` but no ``TOSCA-Metadata``.
    Helm charts, kustomizations and other archives are refused by name.

    :param def_files: the artifacts of a CSAR to take, in this order; all
        that hold manifests where it is None.
    :param flavour: of a CSAR with several flavours, the one to take.
    :param fetch: gives the bytes of a definition file that is somewhere
        else, by its URL; without it, none may be.
    :param stdin: what the path ``-`` means, read to its end as one file of
        manifests; without it, that is a file of this name.
    :param field_validation: whether a repeated key of a mapping is a fault
        (``strict``), or a warning, and the last one counts (``warn``).
    :raises PackageInvalid: all faults of the package at once.
    :raises RequestInvalid: no such definition file or flavour.
    """
    lenient = validation.is_lenient(field_validation)
    existing = [
        _STDIN if stdin and os.fspath(path) == "-" else pathlib.Path(path)
        for path in paths
    ]
    if not existing:
        raise RequestInvalid("no path of a package is named")
    if sum(path is _STDIN for path in existing) > 1:
        raise RequestInvalid("standard input (-) can be read only once")
    packed = [p for p in existing if p is not _STDIN and _is_csar(p)]
    if packed and len(existing) > 1:
        raise RequestInvalid(
            f"{packed[0]} is a CSAR, a package of its own; it cannot be "
            "loaded with other paths"
        )
    if packed:
        return _load_csar(packed[0], def_files, flavour, fetch, lenient)
    if def_files is not None or flavour:
        raise RequestInvalid(
            f"{existing[0]} is not a CSAR: it has neither definition files "
            "nor flavours to choose from"
        )
    return _load_manifests(existing, stdin, lenient)


# -- Files and folders --------------------------------------------------------


def _load_manifests(
    paths: Sequence[pathlib.Path], stdin: BinaryIO | None, lenient: bool
) -> Package:
    contents = _Contents(lenient=lenient)
    for path in paths:
        if stdin and path is _STDIN:
            read = functools.partial(_files.read_stream, stdin, MAX_TEXT)
            contents.add_file(str(path), read)
            continue
        try:
            for file in sources.list_manifest_files(path, contents.problems):
                contents.add_file(
                    str(file), functools.partial(_files.read_named_file, file)
                )
        except UnreadableFile as error:
            contents.problems.append(Problem(str(path), str(error)))
    return contents.package(paths[0])


class _Contents:
    """What the files of a package hold, and what is wrong with them."""

    def __init__(self, *, lenient: bool = False) -> None:
        self.documents: list[Document] = []
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self._left = MAX_TEXT
        self._lenient = lenient

    def add_file(self, name: str, read: Callable[[], str]) -> None:
        """Add what one file holds."""
        try:
            text = read()
            self._left -= len(text)
            if self._left < 0:
                limit = f"{MAX_TEXT // 2**20} MiB"
                raise UnreadableFile(
                    f"is more than a package may hold: {limit}"
                )
        except UnreadableFile as error:
            self.problems.append(Problem(name, str(error)))
            return
        except PackageInvalid as error:
            self.problems += error.problems
            return
        parsed, faults = documents.read(
            text, name, lenient=self._lenient, warnings=self.warnings
        )
        checked = manifests.read(parsed, name)
        self.documents += checked.documents
        self.problems += faults + checked.problems
        self.warnings += checked.warnings

    def package(self, path: pathlib.Path, vnfd: Vnfd | None = None) -> Package:
        """All of it, once nothing is wrong.

        :raises PackageInvalid: something is.
        """
        checked = manifests.without_duplicates(self.documents)
        faults = [*self.problems, *checked.problems]
        if not self.documents and not faults:
            faults.append(Problem(str(path), "has no manifests"))
        if faults:
            raise PackageInvalid(faults)
        name = path.name if os.path.isdir(path) else path.stem
        warnings = tuple(map(str, [*self.warnings, *checked.warnings]))
        return Package(name, tuple(checked.documents), vnfd, warnings)


# -- CSAR ---------------------------------------------------------------------


def _is_csar(path: pathlib.Path) -> bool:
    if os.path.isdir(path):
        return _is_built_csar(path) or _is_source(path)
    return path.suffix.lower() in _ARCHIVES or (
        os.path.isfile(path) and zipfile.is_zipfile(path)
    )


def _is_built_csar(path: pathlib.Path) -> bool:
    """Return whether a folder is a built CSAR, and not the source of one."""
    if os.path.isfile(path / csar.META):
        return True
    found = [file for file in path.glob("*.y*ml") if file.suffix in csar.YAML]
    # Not more than the files at the root: it may be any folder.
    return len(found) == 1 and _has_definitions(found)


def _has_definitions(files: Iterable[pathlib.Path]) -> bool:
    for file in files:
        with contextlib.suppress(UnreadableFile):
            if "tosca_definitions_version" in _files.read_named_file(file):
                return True
    return False


def _is_source(path: pathlib.Path) -> bool:
    """Return whether TOSCA definitions exist, for a CSAR yet to be built."""
    return _has_definitions((path / csar.DEFINITIONS).glob("*.y*ml"))


def _load_csar(
    path: pathlib.Path,
    def_files: Sequence[str] | None,
    flavour: str,
    fetch: Fetch | None,
    lenient: bool,
) -> Package:
    contents = _Contents(lenient=lenient)
    if os.path.isdir(path):
        # A source may have .git; a CSAR has the files that it lists.
        folder = _files.DirectorySource(path, hidden=_is_built_csar(path))
        return _load_unpacked(
            path, folder, def_files, flavour, fetch, contents
        )
    if not os.path.exists(path):
        raise PackageInvalid([Problem(str(path), "does not exist")])
    with contextlib.closing(_files.ZipSource(path)) as archive:
        return _load_unpacked(
            path, archive, def_files, flavour, fetch, contents
        )


def _load_unpacked(
    path: pathlib.Path,
    files: Files,
    def_files: Sequence[str] | None,
    flavour: str,
    fetch: Fetch | None,
    contents: _Contents,
) -> Package:
    if csar.META in files.names or csar.root_definitions(files):
        meta = csar.read(files, contents.problems)
    elif os.path.isdir(path):
        meta = csar.from_source(files)
    else:
        raise PackageInvalid(
            [Problem(str(path), sources.not_csar_reason(files))]
        )
    existing = [name for name in meta.artifacts if name not in meta.missing]
    selected = (
        csar.manifest_artifacts(existing)
        if def_files is None
        else csar.selected_artifacts(meta, def_files, remote=fetch is not None)
    )
    vnfd = None
    try:
        vnfd = _read_vnfd(files, meta, flavour, contents.warnings)
    except PackageInvalid as error:
        contents.problems += error.problems
    if def_files is None:
        selected = (
            *sources.without_sources(files, selected, contents.problems),
        )
    for name in selected:
        if fetch and name in meta.remote:
            read = functools.partial(_fetch, fetch, meta.remote[name])
            contents.add_file(name, read)
        elif name in meta.missing:
            contents.problems.append(Problem(name, csar.ARTIFACT_MISSING))
        elif name not in meta.unusable:
            contents.add_file(
                name, functools.partial(_files.read_text, files, name)
            )
    if not contents.documents:
        contents.problems += sources.archive_problems(meta.artifacts)
    return contents.package(path, vnfd)


def _fetch(fetch: Fetch, artifact: csar.Artifact) -> str:
    data = fetch(artifact.name, _files.MAX_FILE)
    csar.check_digest(artifact, [data])
    return _files.decode(data)


def _read_vnfd(
    files: Files, meta: csar.Csar, flavour: str, warnings: list[Problem]
) -> Vnfd | None:
    """The VNFD; None where TOSCA.meta does not lead to it."""
    if meta.is_source:
        return vnfd.read(
            tosca_definitions.from_source(files), flavour, warnings
        )
    if not meta.entry:
        return None
    found = tosca_definitions.from_csar(files, meta.entry)
    if flavour:
        found = tosca_definitions.with_flavour(files, found, flavour)
    return vnfd.read(found, flavour, warnings)
