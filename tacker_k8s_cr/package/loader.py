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
    given = [
        _STDIN if stdin and os.fspath(path) == "-" else pathlib.Path(path)
        for path in paths
    ]
    if not given:
        raise RequestInvalid("no path of a package is named")
    if sum(path is _STDIN for path in given) > 1:
        raise RequestInvalid("standard input (-) can be read only once")
    packed = [p for p in given if p is not _STDIN and _is_csar(p)]
    if packed and len(given) > 1:
        raise RequestInvalid(
            f"{packed[0]} is a CSAR, a package of its own; it cannot be "
            "loaded with other paths"
        )
    if packed:
        return _csar(packed[0], def_files, flavour, fetch, lenient)
    if def_files is not None or flavour:
        raise RequestInvalid(
            f"{given[0]} is not a CSAR: it has neither definition files nor "
            "flavours to choose from"
        )
    return _plain(given, stdin, lenient)


# -- Files and folders --------------------------------------------------------


def _plain(
    paths: Sequence[pathlib.Path], stdin: BinaryIO | None, lenient: bool
) -> Package:
    contents = _Contents(lenient=lenient)
    for path in paths:
        if stdin and path is _STDIN:
            read = functools.partial(_files.stream, stdin, MAX_TEXT)
            contents.take(str(path), read)
            continue
        try:
            for file in sources.listed(path, contents.problems):
                contents.take(
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

    def take(self, name: str, read: Callable[[], str]) -> None:
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

    def package(
        self, path: pathlib.Path, described: Vnfd | None = None
    ) -> Package:
        """All of it, once nothing is wrong.

        :raises PackageInvalid: something is.
        """
        checked = manifests.distinct(self.documents)
        faults = [*self.problems, *checked.problems]
        if not self.documents and not faults:
            faults.append(Problem(str(path), "has no manifests"))
        if faults:
            raise PackageInvalid(faults)
        name = path.name if os.path.isdir(path) else path.stem
        warnings = tuple(map(str, [*self.warnings, *checked.warnings]))
        return Package(name, tuple(checked.documents), described, warnings)


# -- CSAR ---------------------------------------------------------------------


def _is_csar(path: pathlib.Path) -> bool:
    if os.path.isdir(path):
        return _is_packed(path) or _is_source(path)
    return path.suffix.lower() in _ARCHIVES or (
        os.path.isfile(path) and zipfile.is_zipfile(path)
    )


def _is_packed(path: pathlib.Path) -> bool:
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


def _csar(
    path: pathlib.Path,
    def_files: Sequence[str] | None,
    flavour: str,
    fetch: Fetch | None,
    lenient: bool,
) -> Package:
    contents = _Contents(lenient=lenient)
    if os.path.isdir(path):
        # A source may have .git; a CSAR has the files that it lists.
        folder = _files.DirectorySource(path, hidden=_is_packed(path))
        return _unpacked(path, folder, def_files, flavour, fetch, contents)
    if not os.path.exists(path):
        raise PackageInvalid([Problem(str(path), "does not exist")])
    with contextlib.closing(_files.ZipSource(path)) as archive:
        return _unpacked(path, archive, def_files, flavour, fetch, contents)


def _unpacked(
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
        meta = csar.source(files)
    else:
        raise PackageInvalid([Problem(str(path), sources.no_csar(files))])
    there = [name for name in meta.artifacts if name not in meta.absent]
    wanted = (
        csar.manifests(there)
        if def_files is None
        else csar.selected_artifacts(meta, def_files, remote=fetch is not None)
    )
    described = None
    try:
        described = _described(files, meta, flavour, contents.warnings)
    except PackageInvalid as error:
        contents.problems += error.problems
    if def_files is None:
        wanted = (*sources.plain(files, wanted, contents.problems),)
    for name in wanted:
        if fetch and name in meta.remote:
            read = functools.partial(_fetched, fetch, meta.remote[name])
            contents.take(name, read)
        elif name in meta.absent:
            contents.problems.append(Problem(name, csar.ABSENT))
        elif name not in meta.unfit:
            contents.take(name, functools.partial(_files.text, files, name))
    if not contents.documents:
        contents.problems += sources.packed(meta.artifacts)
    return contents.package(path, described)


def _fetched(fetch: Fetch, artifact: csar.Artifact) -> str:
    data = fetch(artifact.name, _files.MAX_FILE)
    csar.verify(artifact, [data])
    return _files.decoded(data)


def _described(
    files: Files, meta: csar.Csar, flavour: str, warnings: list[Problem]
) -> Vnfd | None:
    """The VNFD; None where TOSCA.meta does not lead to it."""
    if meta.is_source:
        return vnfd.read(tosca_definitions.of_source(files), flavour, warnings)
    if not meta.entry:
        return None
    found = tosca_definitions.of_csar(files, meta.entry)
    if flavour:
        found = tosca_definitions.with_flavour(files, found, flavour)
    return vnfd.read(found, flavour, warnings)
