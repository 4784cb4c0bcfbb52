"""The Go client, built once for each state of its source."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import os
import pathlib
import subprocess

from tools.plane import binaries
from tools.plane import golang
from tools.plane import interrupts
from tools.plane import lock
from tools.plane import modules
from tools.plane.errors import PlaneError

SOURCE = pathlib.Path(__file__).resolve().parent / "client"

_BINARY = binaries.Binary("client", "client", ".", 40)


def client(
    environ: Mapping[str, str], say: Callable[[str], object]
) -> pathlib.Path:
    """The built client, which is in the user's cache."""
    files = [(path.name, path.read_bytes()) for path in _sources()]
    key = binaries.key(files, [_BINARY])
    folder = binaries.cache(environ).parent / "bench" / key
    store = binaries.Store(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with interrupts.raised(), lock.held(folder / "lock", say):
        if store.missing([_BINARY]):
            _build(store.path(_BINARY.name), say)
    return store.path(_BINARY.name)


def _sources() -> list[pathlib.Path]:
    return [
        path
        for path in SOURCE.iterdir()
        if path.suffix in (".go", ".mod", ".sum")
    ]


def _build(path: pathlib.Path, say: Callable[[str], object]) -> None:
    go = golang.find(modules.go_line((SOURCE / "go.mod").read_text()), say)
    say(
        f"building the Go client with {go}, about a minute when nothing is "
        "cached"
    )
    draft = path.with_name(f".{path.name}")
    command = [str(go), "build", "-ldflags", _BINARY.stamp]
    command += ["-o", str(draft), _BINARY.package]
    done = subprocess.run(
        command,
        cwd=SOURCE,
        env={**os.environ, **binaries.ENVIRON},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise PlaneError(f"the Go client: {done.stderr.strip()}")
    draft.replace(path)
