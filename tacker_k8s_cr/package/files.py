"""The bytes of a package: a folder or an archive, with limits on both.

A package is untrusted input: nothing outside it is read, nothing is
unpacked, and no file is read further than its limit.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
import os
import pathlib
import stat
import typing
import zipfile
import zlib

from tacker_k8s_cr.model.errors import PackageInvalid
from tacker_k8s_cr.model.errors import Problem

MAX_FILE = 16 * 2**20
"""Bytes of one file of manifests or definitions."""

MAX_TOTAL = 4 * 2**30
"""Bytes that are read from one package, its artifacts' hashes included."""

MAX_FILES = 10_000
"""Files of one package."""

_BLOCK = 2**20
_TOO_MUCH = f"was not read: the package exceeds {MAX_TOTAL // 2**30} GiB"


class UnreadableFile(Exception):
    """A file that cannot be read; the text is the reason, without the path."""


class Files(typing.Protocol):
    """The files of a package by their paths, always with slashes."""

    @property
    def names(self) -> frozenset[str]: ...

    def blocks(self, name: str) -> Iterator[bytes]:
        """The content, piece by piece, up to the limit of the package.

        :raises UnreadableFile: it cannot be read.
        """


def read_content(files: Files, name: str) -> bytes:
    """A whole file of at most `MAX_FILE` bytes.

    :raises UnreadableFile: it cannot be read.
    """
    held, size = [], 0
    for block in files.blocks(name):
        size += len(block)
        if size > MAX_FILE:
            raise UnreadableFile(f"is larger than {MAX_FILE // 2**20} MiB")
        held.append(block)
    return b"".join(held)


def read_text(files: Files, name: str) -> str:
    """A whole file as text.

    :raises UnreadableFile: it cannot be read.
    """
    return decode(read_content(files, name))


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks and what they mean, as for kubectl."""


def decode(data: bytes) -> str:
    """Text in the encoding that a byte order mark names, else in UTF-8.

    :raises Unreadable: it is not text in that encoding.
    """
    mark, encoding = next(
        (pair for pair in _MARKS if data.startswith(pair[0])), (b"", "utf-8")
    )
    data = data[len(mark) :]
    try:
        return data.decode(encoding).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding)
        line = before.count("\n") + 1
        name = encoding.upper()[:6].rstrip("-")
        raise UnreadableFile(f"is not {name} text (line {line})") from None


def read_named_file(path: pathlib.Path) -> str:
    """The text of a file that a person named.

    :raises UnreadableFile: it cannot be read.
    """
    return decode(b"".join(_limited(path, MAX_FILE)))


def read_stream(source: typing.BinaryIO, limit: int) -> str:
    """The text of an open stream, such as standard input, up to its end.

    :raises UnreadableFile: it cannot be read.
    """
    try:
        return decode(b"".join(_blocks(source, limit)))
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}") from error


def _limited(path: pathlib.Path, limit: int) -> Iterator[bytes]:
    try:
        if not os.path.isfile(path):
            raise UnreadableFile("is not a file")
        with path.open("rb") as source:
            yield from _blocks(source, limit)
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}") from error


def _blocks(source: typing.BinaryIO, limit: int) -> Iterator[bytes]:
    size = 0
    while block := source.read(_BLOCK):
        size += len(block)
        if size > limit:
            raise UnreadableFile(f"is larger than {limit // 2**20} MiB")
        yield block


class DirectorySource:
    """An unpacked package, such as Tacker keeps.

    :param hidden: with the files and folders that begin with a dot.
    """

    def __init__(self, root: pathlib.Path, *, hidden: bool = False):
        self._root = root
        self._left = MAX_TOTAL
        try:
            found = [path.relative_to(root) for path in walk(root, hidden)]
        except UnreadableFile as error:
            raise PackageInvalid([Problem(str(root), str(error))]) from None
        self.names = frozenset(path.as_posix() for path in found)
        if len(self.names) > MAX_FILES:
            what = f"has more than {MAX_FILES} files"
            raise PackageInvalid([Problem(str(root), what)])

    def blocks(self, name: str) -> Iterator[bytes]:
        path = self._root / name
        if not path.resolve().is_relative_to(self._root.resolve()):
            raise UnreadableFile("is a link to something outside the package")
        for block in _limited(path, MAX_TOTAL):
            self._left -= len(block)
            if self._left < 0:
                raise UnreadableFile(_TOO_MUCH)
            yield block


class ZipSource:
    """A zip file, read where it lies.

    :raises PackageInvalid: naming every entry that makes it unfit.
    """

    def __init__(self, path: pathlib.Path):
        self._left = MAX_TOTAL
        try:
            self._zip = zipfile.ZipFile(path)
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            what = f"is not a zip archive that can be read: {error}"
            raise PackageInvalid([Problem(str(path), what)]) from None
        self._entries: dict[str, zipfile.ZipInfo] = {}
        if problems := list(self._entry_problems(path)):
            self._zip.close()
            raise PackageInvalid(problems)
        self.names = frozenset(self._entries)

    def _entry_problems(self, path: pathlib.Path) -> Iterator[Problem]:
        entries = [one for one in self._zip.infolist() if not one.is_dir()]
        if len(entries) > MAX_FILES:
            yield Problem(str(path), f"has more than {MAX_FILES} files")
            return
        for entry in entries:
            name = entry.filename
            if fault := _entry_fault(entry):
                yield Problem(f"{path}: {name}", fault)
            elif name in self._entries:
                yield Problem(f"{path}: {name}", "is there twice")
            self._entries[name] = entry

    def close(self) -> None:
        self._zip.close()

    def blocks(self, name: str) -> Iterator[bytes]:
        entry = self._entries[name]
        try:
            with self._zip.open(entry) as stream:
                while block := stream.read(_BLOCK):
                    self._left -= len(block)
                    if self._left < 0:
                        raise UnreadableFile(_TOO_MUCH)
                    yield block
        except (
            EOFError,
            NotImplementedError,
            OSError,
            RuntimeError,
            zipfile.BadZipFile,
            zlib.error,
        ) as error:
            raise UnreadableFile(f"cannot be unpacked: {error}") from error


def _entry_fault(entry: zipfile.ZipInfo) -> str | None:
    name = entry.filename
    if (
        name.startswith("/")
        or "\\" in name
        or name[1:2] == ":"
        or ".." in name.split("/")
    ):
        return "leads out of the package"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "is a symbolic link"
    if entry.flag_bits & 0x1:
        return "is encrypted"
    return None


def walk(root: pathlib.Path, hidden: bool = False) -> Iterator[pathlib.Path]:
    """All files below a folder, usually without hidden files and folders.

    :raises Unreadable: a folder cannot be listed.
    """

    def fail(error: OSError) -> None:
        what = f"{error.filename} cannot be read: {error.strerror}"
        raise UnreadableFile(what) from error

    for folder, folders, names in os.walk(root, onerror=fail):
        folders[:] = [n for n in folders if hidden or not n.startswith(".")]
        for name in names:
            if hidden or not name.startswith("."):
                yield pathlib.Path(folder, name)
