"""Container images made from static binaries, without any engine.

Nothing can be pulled where the plane runs, so images are written as the
archive that ``ctr images import`` reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import hashlib
import io
import json
import pathlib
import platform
import struct
import tarfile

from tools.plane.errors import PlaneError

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_INTERPRETER = 3


def archive(
    name: str,
    files: Mapping[str, bytes],
    entrypoint: Sequence[str],
    links: Mapping[str, str] | None = None,
) -> bytes:
    """An image of one layer: by path, files that can be executed.

    The same content gives the same bytes.

    :param links: by path, where a symbolic link leads.
    """
    layer = _tar(
        [(path.lstrip("/"), content) for path, content in files.items()],
        links or {},
    )
    digest = hashlib.sha256(layer).hexdigest()
    machine = platform.machine()
    config = json.dumps(
        {
            "architecture": _ARCHITECTURES.get(machine, machine),
            "os": "linux",
            "config": {"Entrypoint": list(entrypoint), "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        }
    ).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    layer_name = f"{digest}/layer.tar"
    manifest = json.dumps(
        [{"Config": config_name, "RepoTags": [name], "Layers": [layer_name]}]
    ).encode()
    return _tar(
        [
            (layer_name, layer),
            (config_name, config),
            ("manifest.json", manifest),
        ],
        {},
    )


def executable(path: pathlib.Path) -> bytes:
    """Return the content of a static binary."""
    content = path.read_bytes()
    if is_dynamically_linked(content):
        raise PlaneError(
            f"{path} is linked to shared libraries, which its image does not "
            "contain; a static binary is required"
        )
    return content


def is_dynamically_linked(content: bytes) -> bool:
    """Return whether an ELF binary names a dynamic linker."""
    if content[:4] != b"\x7fELF" or content[4] != 2:
        return False
    offset, size, count = (
        struct.unpack_from("<Q", content, 32)[0],
        struct.unpack_from("<H", content, 54)[0],
        struct.unpack_from("<H", content, 56)[0],
    )
    return any(
        struct.unpack_from("<I", content, offset + number * size)[0]
        == _INTERPRETER
        for number in range(count)
    )


def _tar(
    files: Iterable[tuple[str, bytes]], links: Mapping[str, str]
) -> bytes:
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as tar:
        for path, content in files:
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            entry.mode = 0o755
            tar.addfile(entry, io.BytesIO(content))
        for path, target in links.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.type = tarfile.SYMTYPE
            entry.linkname = target
            tar.addfile(entry)
    return output.getvalue()
