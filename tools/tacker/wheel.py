"""The tree as it is now, as the wheel that an operator would install."""

from __future__ import annotations

from collections.abc import Iterator
import hashlib
import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import tempfile

from tools.tacker import commands

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = (
    "LICENSE",
    "README.rst",
    "mgmt_drivers",
    "pyproject.toml",
    "requirements.txt",
    "setup.cfg",
    "setup.py",
    "tacker_k8s_cr",
)
KEPT = 20
"""Wheels in the cache; one is some 200 kB."""


def digest(root: pathlib.Path = ROOT) -> str:
    """Of everything that the wheel contains."""
    found = hashlib.sha256()
    for path in _files(root):
        found.update(path.relative_to(root).as_posix().encode() + b"\0")
        found.update(path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def _files(root: pathlib.Path) -> Iterator[pathlib.Path]:
    for name in SOURCES:
        top = root / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def ensure_built(
    cache: pathlib.Path, python: pathlib.Path, root: pathlib.Path = ROOT
) -> pathlib.Path:
    """The wheel of the tree; from the cache when the tree is as it was."""
    name = digest(root)
    folder = cache / "wheels" / name
    if not list(folder.glob("*.whl")):
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as draft:
            made = _build(root, pathlib.Path(draft), python)
            folder.mkdir(exist_ok=True)
            made.replace(folder / made.name)
        _forget(folder.parent)
    return next(folder.glob("*.whl"))


def _build(
    root: pathlib.Path, draft: pathlib.Path, python: pathlib.Path
) -> pathlib.Path:
    # Beside the tree: a build leaves files where it works, and takes what
    # an earlier one left.
    copy = draft / "tree"
    for path in _files(root):
        target = copy / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    # pbr packages the files that git tracks.
    for command in (["git", "init", "--quiet"], ["git", "add", "--all"]):
        subprocess.run(command, cwd=copy, check=True)
    out = draft / "out"
    command = [str(python), "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(out), str(copy)]
    environ = {
        **os.environ,
        "PBR_VERSION": _version(),
        "SKIP_GENERATE_AUTHORS": "1",
        "SKIP_WRITE_GIT_CHANGELOG": "1",
        "SKIP_GENERATE_RENO": "1",
    }
    commands.run(command, f"building a wheel of {root}", environ)
    return next(out.glob("*.whl"))


def _version() -> str:
    try:
        return importlib.metadata.version("tacker-k8s-cr")
    except importlib.metadata.PackageNotFoundError:
        return "0.0.0"


def _forget(folder: pathlib.Path) -> None:
    """Remove the oldest wheels."""
    by_age = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    for path in by_age[:-KEPT]:
        shutil.rmtree(path, ignore_errors=True)
