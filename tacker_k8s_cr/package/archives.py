"""Archives that are not CSARs, recognised by their first bytes.

Nothing is unpacked to the disk, and no more than `PEEK_BYTES` bytes in memory:
it only matters what to say about them.
"""

from __future__ import annotations

import bz2
from collections.abc import Callable
from collections.abc import Iterable
import io
import lzma
import os
import pathlib
import posixpath
import tarfile
import zlib

from tacker_k8s_cr.package import unrendered_sources
from tacker_k8s_cr.package.unrendered_sources import Source

PEEK_BYTES = 2**20
"""Bytes that are read, and bytes that they may unpack to."""

_Unpack = Callable[[bytes], bytes]

_UNPACKED: dict[bytes, _Unpack] = {
    b"\x1f\x8b": lambda data: zlib.decompressobj(31).decompress(
        data, PEEK_BYTES
    ),
    b"BZh": lambda data: bz2.BZ2Decompressor().decompress(data, PEEK_BYTES),
    b"\xfd7zXZ\x00": lambda data: lzma.LZMADecompressor(
        memlimit=128 * PEEK_BYTES
    ).decompress(data, PEEK_BYTES),
}
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_TAR = b"ustar"
_TAR_OFFSET = 257
_UNREADABLE = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)


def advice(path: pathlib.Path) -> str | None:
    """Return what a file is and what to do, if it is an archive.

    None for other files, and for what cannot be read.
    """
    try:
        if not os.path.isfile(path):
            return None
        with path.open("rb") as stream:
            data = stream.read(PEEK_BYTES)
    except OSError:
        return None
    packed = data.startswith((*_UNPACKED, _ZSTANDARD))
    data = _unpack(data)
    if data[_TAR_OFFSET:].startswith(_TAR):
        advice_text = advice_for_names(_names(data), str(path))
        return (
            advice_text
            if advice_text.startswith("is ")
            else f"is an archive; {advice_text}"
        )
    return "is a compressed file; unpack it first" if packed else None


def advice_for_names(names: Iterable[str], path: str = "") -> str:
    """Return what to do with an archive, by the names of its files.

    :param path: of an archive that Helm itself can read; else empty.
    """
    found = {posixpath.basename(name) for name in names}
    if unrendered_sources.CHART in found:
        if path:
            return unrendered_sources.advice(Source.CHART, path)
        return "it holds a Helm chart; unpack it, then use helm template"
    if found.intersection(unrendered_sources.KUSTOMIZATIONS):
        return (
            "it holds a kustomization; unpack it, then use kubectl kustomize"
        )
    return "unpack it and name its folder"


def _unpack(data: bytes) -> bytes:
    for magic, unpack in _UNPACKED.items():
        if data.startswith(magic):
            try:
                return unpack(data)
            except _UNREADABLE:
                return b""
    return data


def _names(data: bytes) -> list[str]:
    names: list[str] = []
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            names += (member.name for member in archive)
    except (tarfile.TarError, *_UNREADABLE):
        pass  # It goes on behind what was read.
    return names
