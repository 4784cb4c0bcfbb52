"""The environment of the tests: Tacker's, and what its tests import."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import hashlib
import pathlib
import subprocess
import sys

from tools.plane import lock
from tools.tacker import environment
from tools.upstream.errors import UpstreamError

PACKAGES = (
    "pytest>=8",
    "ddt",
    "python-cinderclient",
    "stestr",
    "tempest",
    "testtools",
)

Say = Callable[[str], object]


def tests(
    cache: pathlib.Path, published: pathlib.Path, say: Say
) -> pathlib.Path:
    """The environment; made on top of Tacker's when it does not exist."""
    key = " ".join([str(published), *PACKAGES])
    name = hashlib.sha256(key.encode()).hexdigest()[:16]
    folder = cache / "environments" / name
    done = folder / "complete"
    if done.exists():
        return folder
    with lock.held(cache / "environments" / f"{name}.lock", say):
        if not done.exists():
            say(f"installing what the tests import into {folder}")
            _make(published, folder)
            done.touch()
    return folder


def _make(published: pathlib.Path, folder: pathlib.Path) -> None:
    venv = [sys.executable, "-m", "venv", "--clear", "--without-pip"]
    _run([*venv, str(folder)])
    inner = _packages(folder)
    (inner / "published.pth").write_text(f"{_packages(published)}\n")
    _run(
        [
            *(str(published / "bin" / "python"), "-m", "pip"),
            *("--python", str(folder / "bin" / "python")),
            *("install", "--quiet", "--disable-pip-version-check"),
            *(*PACKAGES, *environment.PINNED),
        ]
    )


def _packages(folder: pathlib.Path) -> pathlib.Path:
    return next((folder / "lib").glob("python3*/site-packages"))


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise UpstreamError(
            f"{' '.join(command)} failed:\n{done.stdout[-3000:]}"
        )
