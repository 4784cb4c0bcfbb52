"""The YAML that the Go modules bring, copied beside the binaries.

The plane starts from the copies, so that it needs Go for building only.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import os
import pathlib
import shutil
import subprocess

from tools.plane import modules
from tools.plane.binaries import ENVIRON
from tools.plane.errors import PlaneError


@dataclasses.dataclass(frozen=True)
class Source:
    """Files of a folder of a module that we want."""

    name: str
    module: str
    path: str
    folder: str
    patterns: tuple[str, ...]


_CAPI = "sigs.k8s.io/cluster-api"
_CONFIG = ("crd/bases/*.yaml", "webhook/manifests.yaml")

SOURCES = (
    Source("capi-core", "capi", _CAPI, "core/config", _CONFIG),
    Source(
        "capi-bootstrap", "capi", _CAPI, "bootstrap/kubeadm/config", _CONFIG
    ),
    Source(
        "capi-control-plane",
        "capi",
        _CAPI,
        "controlplane/kubeadm/config",
        _CONFIG,
    ),
    Source(
        "capi-dev",
        "capi",
        f"{_CAPI}/test",
        "infrastructure/docker/config",
        _CONFIG,
    ),
    Source(
        "kwok",
        "kwok",
        "sigs.k8s.io/kwok",
        "kustomize",
        (
            "crd/bases/kwok.x-k8s.io_stages.yaml",
            "stage/node/fast/node-initialize.yaml",
            "stage/pod/fast/pod-*.yaml",
        ),
    ),
)


def missing(folder: pathlib.Path) -> frozenset[str]:
    """The modules of which something was not copied yet."""
    return frozenset(
        source.module
        for source in SOURCES
        if not (folder / source.name).is_dir()
    )


def copy(
    go: pathlib.Path,
    folder: pathlib.Path,
    print_line: Callable[[str], object],
) -> None:
    """Copy what is missing; go downloads a module that does not exist yet."""
    for source in SOURCES:
        if (folder / source.name).is_dir():
            continue
        base = (
            locate(go, source.module, source.path, print_line) / source.folder
        )
        draft = folder / f".{source.name}"
        shutil.rmtree(draft, ignore_errors=True)
        for pattern in source.patterns:
            found = sorted(base.glob(pattern))
            if not found:
                raise PlaneError(f"{base} has no {pattern}")
            for path in found:
                target = draft / path.relative_to(base)
                target.parent.mkdir(parents=True, exist_ok=True)
                # Files of the module cache are read-only; copies are not.
                target.write_bytes(path.read_bytes())
        draft.rename(folder / source.name)


def locate(
    go: pathlib.Path,
    module: str,
    path: str,
    print_line: Callable[[str], object],
) -> pathlib.Path:
    """Fetch a Go module that our go.mod requires; return its folder."""
    for command in (
        ["list", "-m", "-f", "{{.Dir}}", path],
        ["mod", "download", path],
        ["list", "-m", "-f", "{{.Dir}}", path],
    ):
        if command[1] == "download":
            print_line(f"  fetching the module {path}")
        done = subprocess.run(
            [str(go), *command],
            cwd=modules.FOLDER / module,
            env={**os.environ, **ENVIRON},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise PlaneError(
                f"{path} cannot be fetched: {done.stderr.strip()}"
            )
        if found := done.stdout.strip():
            return pathlib.Path(found)
    raise PlaneError(f"{path} was fetched but does not exist")
