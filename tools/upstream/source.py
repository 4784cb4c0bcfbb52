"""Tacker's source distribution, with its functional tests."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import os
import pathlib
import shutil
import sys
import tarfile
import tempfile

from tools.plane import binaries
from tools.plane import lock
from tools.tacker import commands
from tools.tacker.environment import TACKER

NAME = f"tacker-{TACKER}"

PrintLine = Callable[[str], object]


def cache(environ: Mapping[str, str]) -> pathlib.Path:
    """The folder of what is downloaded and built once."""
    return binaries.cache(environ).parent / "upstream"


def archive(folder: pathlib.Path, print_line: PrintLine) -> pathlib.Path:
    """The source distribution; downloaded when the cache does not have it."""
    path = folder / f"{NAME}.tar.gz"
    if path.exists():
        return path
    with lock.hold(folder / "source.lock", print_line):
        if not path.exists():
            print_line(f"downloading the source distribution {NAME}")
            with tempfile.TemporaryDirectory(dir=folder) as draft:
                _download(pathlib.Path(draft))
                os.replace(pathlib.Path(draft, path.name), path)
    return path


def _download(folder: pathlib.Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet"]
    command += ["--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", "tacker", "--dest", str(folder)]
    command += [f"tacker=={TACKER}"]
    commands.run(command)


def unpack(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A new copy of the source: tests write into it and may leave files."""
    tree = folder / NAME
    shutil.rmtree(tree, ignore_errors=True)
    with tarfile.open(path) as file:
        file.extractall(folder, filter="data")
    return tree
