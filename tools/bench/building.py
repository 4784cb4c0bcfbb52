"""The Go programs of the bench, built once for each state of their source."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import pathlib

from tools.plane import binaries
from tools.plane import golang
from tools.plane import interrupts
from tools.plane import lock
from tools.plane import modules

FOLDER = pathlib.Path(__file__).resolve().parent
HELM = "helm.sh/helm/v4"

_SAID = "about a minute when nothing is cached"


def program(
    name: str, environ: Mapping[str, str], say: Callable[[str], object]
) -> pathlib.Path:
    """A built program, which is in the user's cache."""
    binary = _binary(name)
    source = FOLDER / binary.module
    files = [(path.name, path.read_bytes()) for path in _sources(source)]
    key = binaries.key(files, [binary])
    folder = binaries.cache(environ).parent / "bench" / key
    store = binaries.Store(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with interrupts.raised(), lock.held(folder / "lock", say):
        if store.missing([binary]):
            say(f"building {name}, {_SAID}")
            golang.build(
                source,
                store.path(name),
                say,
                stamp=binary.stamp,
                package=binary.package,
            )
    return store.path(name)


def helm_version() -> str:
    """The version of Helm that its go.mod names."""
    return modules.required((FOLDER / "helm" / "go.mod").read_text(), HELM)


def _binary(name: str) -> binaries.Binary:
    if name == "client":
        return binaries.Binary(name, name, ".", 40)
    stamp = f"-s -w -X {HELM}/internal/version.version={helm_version()}"
    return binaries.Binary(name, name, f"{HELM}/cmd/helm", 60, stamp)


def _sources(folder: pathlib.Path) -> list[pathlib.Path]:
    return [
        path
        for path in folder.iterdir()
        if path.suffix in (".go", ".mod", ".sum")
    ]
