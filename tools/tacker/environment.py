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
import sys

from tools.plane import lock
from tools.tacker import commands
from tools.tacker import wheel

TACKER = "16.0.0"
KUBERNETES = "36.0.3"
"""Tacker's own driver of v1 instantiates nothing with version 37."""

PINNED = (f"tacker=={TACKER}", f"kubernetes=={KUBERNETES}")
_BUILDING = ("pbr>=6.0.0", "setuptools>=77", "wheel")

_INSTALL = ("install", "--quiet", "--disable-pip-version-check")

PrintLine = Callable[[str], object]


def ensure_published(
    cache: pathlib.Path, print_line: PrintLine
) -> pathlib.Path:
    """The environment with what is published; made when it is missing."""
    requirements = str(wheel.ROOT / "requirements.txt")
    wanted = (*PINNED, *_BUILDING)
    return ensure_requirements(cache, wanted, print_line, ("-r", requirements))


def ensure_requirements(
    cache: pathlib.Path,
    wanted: Sequence[str],
    print_line: PrintLine,
    more: Sequence[str] = (),
) -> pathlib.Path:
    """An environment in the cache with these; made when it is missing.

    :param more: arguments of pip, which do not tell environments apart.
    """
    version = ".".join(str(part) for part in sys.version_info[:3])
    key = " ".join([version, sys.base_prefix, *wanted])

    def make(folder: pathlib.Path) -> None:
        print_line(f"installing {wanted[0]} into {folder}")
        commands.run([sys.executable, "-m", "venv", "--clear", str(folder)])
        commands.run([*_pip(folder), *_INSTALL, *wanted, *more])

    return make_once(cache, key, make, print_line)


def make_once(
    cache: pathlib.Path,
    key: str,
    make: Callable[[pathlib.Path], None],
    print_line: PrintLine,
) -> pathlib.Path:
    """Return the environment with this key in the cache.

    :param make: makes it, in a folder that may hold an interrupted attempt.
    """
    name = hashlib.sha256(key.encode()).hexdigest()[:16]
    folder = cache / "environments" / name
    done = folder / "complete"
    if done.exists():
        return folder
    with lock.hold(cache / "environments" / f"{name}.lock", print_line):
        if not done.exists():
            make(folder)
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
    paths = (str(project), *map(str, plugins))
    make_on_top(base, folder, ("--no-build-isolation", *paths))
    stamp.write_text(wanted)
    return True


def make_on_top(
    base: pathlib.Path, folder: pathlib.Path, arguments: Sequence[str]
) -> None:
    """Make an environment that also imports what another has installed.

    :param arguments: what to install into it, as arguments of ``pip install``.
    """
    shutil.rmtree(folder, ignore_errors=True)
    commands.run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    inner = _packages(folder)
    (inner / "published.pth").write_text(f"{_packages(base)}\n")
    python = str(folder / "bin" / "python")
    commands.run([*_pip(base), "--python", python, *_INSTALL, *arguments])


def _pip(folder: pathlib.Path) -> list[str]:
    return [str(folder / "bin" / "python"), "-m", "pip"]


def _packages(folder: pathlib.Path) -> pathlib.Path:
    return next((folder / "lib").glob("python3*/site-packages"))
