"""Virtual environments with Tacker and the project, as an operator has.

What is published is installed once, into the cache. A host has an
environment of its own on top of it, with the wheel of the tree: hosts side
by side may hold different states of it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import hashlib
import pathlib
import shutil
import subprocess
import sys

from tools.plane import lock
from tools.tacker import wheel
from tools.tacker.errors import TackerError

TACKER = "16.0.0"
KUBERNETES = "36.0.3"
"""Tacker's own driver of v1 instantiates nothing with version 37."""

PINNED = (f"tacker=={TACKER}", f"kubernetes=={KUBERNETES}")
_BUILDING = ("pbr>=6.0.0", "setuptools>=77", "wheel")

Say = Callable[[str], object]


def published(cache: pathlib.Path, say: Say) -> pathlib.Path:
    """The environment with what is published; made when it is missing."""
    requirements = str(wheel.ROOT / "requirements.txt")
    wanted = (*PINNED, *_BUILDING)
    return holding(cache, wanted, say, ("-r", requirements))


def holding(
    cache: pathlib.Path,
    wanted: Sequence[str],
    say: Say,
    more: Sequence[str] = (),
) -> pathlib.Path:
    """An environment in the cache with these; made when it is missing.

    :param more: arguments of pip, which do not tell environments apart.
    """
    version = ".".join(str(part) for part in sys.version_info[:3])
    key = " ".join([version, sys.base_prefix, *wanted])
    name = hashlib.sha256(key.encode()).hexdigest()[:16]
    folder = cache / "environments" / name
    done = folder / "complete"
    if done.exists():
        return folder
    with lock.held(cache / "environments" / f"{name}.lock", say):
        if not done.exists():
            say(f"installing {wanted[0]} into {folder}")
            _run([sys.executable, "-m", "venv", "--clear", str(folder)])
            _run(
                [
                    *_pip(folder),
                    "install",
                    *("--quiet", "--disable-pip-version-check"),
                    *(*wanted, *more),
                ]
            )
            done.touch()
    return folder


def install(
    base: pathlib.Path,
    folder: pathlib.Path,
    project: pathlib.Path,
    plugins: Sequence[pathlib.Path] = (),
) -> bool:
    """Make an environment on top of another, with the project's wheel in it.

    Whether anything had to be done: an environment with that very wheel
    stays as it is.

    :param plugins: more to install: wheels, or folders with sources.
    """
    wanted = "\n".join(str(path) for path in (base, project, *plugins))
    stamp = folder / "made-of"
    if not plugins and stamp.exists() and stamp.read_text() == wanted:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    inner = _packages(folder)
    (inner / "published.pth").write_text(f"{_packages(base)}\n")
    _run(
        [
            *(*_pip(base), "--python", str(folder / "bin" / "python")),
            *("install", "--quiet", "--disable-pip-version-check"),
            *("--no-build-isolation", str(project), *map(str, plugins)),
        ]
    )
    stamp.write_text(wanted)
    return True


def _pip(folder: pathlib.Path) -> list[str]:
    return [str(folder / "bin" / "python"), "-m", "pip"]


def _packages(folder: pathlib.Path) -> pathlib.Path:
    return next((folder / "lib").glob("python3*/site-packages"))


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise TackerError(
            f"{' '.join(command)} failed:\n{done.stdout[-3000:]}"
        )
