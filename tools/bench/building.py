"""The Go client, built once for each state of its source."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import pathlib

from tools.plane import binaries
from tools.plane import golang
from tools.plane import interrupts
from tools.plane import lock

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
    say("building the Go client, about a minute when nothing is cached")
    golang.build(
        SOURCE, path, say, stamp=_BINARY.stamp, package=_BINARY.package
    )
