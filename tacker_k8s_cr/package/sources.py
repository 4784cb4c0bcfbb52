"""Which files of a path are manifests, and what to do with the others."""

from __future__ import annotations

from collections.abc import Sequence
import os
import pathlib

from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.package import archives
from tacker_k8s_cr.package import csar
from tacker_k8s_cr.package import documents
from tacker_k8s_cr.package import files as _files
from tacker_k8s_cr.package import unrendered_sources
from tacker_k8s_cr.package.files import Files
from tacker_k8s_cr.package.files import UnreadableFile

_ARCHIVES = (".tgz", ".tar", ".tar.gz", ".zip")


def list_manifest_files(
    path: pathlib.Path, problems: list[Problem]
) -> list[pathlib.Path]:
    """Return the files of manifests at a path, sorted.

    A file that is named itself may have any ending.

    :param problems: takes charts and kustomizations, whose files are left
        out: their templates and patches are not manifests.
    :raises Unreadable: there is nothing, or it is an archive.
    """
    if not os.path.exists(path):
        raise UnreadableFile("does not exist")
    if os.path.isdir(path):
        folder, found = path, sorted(_files.walk(path))
    elif why := archives.advice(path):
        raise UnreadableFile(why)
    else:
        folder, found = path.parent, [path]
    files = {file.relative_to(folder).as_posix(): file for file in found}
    sources = unrendered_sources.folders(
        files, lambda name: _first_document(files[name])
    )
    for name, source in sources.items():
        where = str(folder / name)
        problems.append(
            Problem(where, unrendered_sources.advice(source, where))
        )
    return [
        file
        for name, file in files.items()
        if not unrendered_sources.is_within(name, sources)
        and (file is path or name.lower().endswith(csar.SUFFIXES))
    ]


def without_sources(
    files: Files, selected: Sequence[str], problems: list[Problem]
) -> list[str]:
    """Return the wanted files of a CSAR, without charts and kustomizations.

    :param problems: takes each chart and kustomization that has one of them.
    """

    def value(name: str) -> object:
        try:
            return _parse_first(_files.read_text(files, name))
        except UnreadableFile:
            return None

    sources = unrendered_sources.folders(files.names, value)
    for folder, source in sources.items():
        if any(
            unrendered_sources.is_within(name, {folder: source})
            for name in selected
        ):
            problems.append(
                Problem(folder, unrendered_sources.packed_advice(source))
            )
    return [
        name
        for name in selected
        if not unrendered_sources.is_within(name, sources)
    ]


def archive_problems(artifacts: Sequence[str]) -> list[Problem]:
    """Return the archives of a CSAR, which hold no manifests to be read."""
    return [
        Problem(name, "is an archive; pack the manifests themselves")
        for name in artifacts
        if name.lower().endswith(_ARCHIVES)
    ]


def not_csar_reason(files: Files) -> str:
    """Return why a zip archive is not a CSAR, and what to do with it."""
    why = f"is a zip archive, but not a CSAR: it does not have {csar.META}"
    deeper = sorted(n for n in files.names if n.endswith(f"/{csar.META}"))
    if deeper:
        return f"{why}; {deeper[0]} must be at its root"
    return f"{why}; {archives.advice_for_names(files.names)}"


def _first_document(path: pathlib.Path) -> object:
    """The first document of a file; None where there is none."""
    try:
        return _parse_first(_files.read_named_file(path))
    except UnreadableFile:
        return None


def _parse_first(text: str) -> object:
    parsed, _ = documents.read(text, "")
    return parsed[0].value if parsed else None
