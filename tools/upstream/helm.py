"""Helm 3, built from its published Go module: Tacker calls its program."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import pathlib

from tools.plane import binaries
from tools.plane import golang
from tools.plane import interrupts
from tools.plane import lock
from tools.plane import modules

SOURCE = pathlib.Path(__file__).resolve().parent / "helm_module"
MODULE = "helm.sh/helm/v3"
NAME = "helm"


def version() -> str:
    """The version that go.mod names."""
    return modules.required((SOURCE / "go.mod").read_text(), MODULE)


def program(
    environ: Mapping[str, str], say: Callable[[str], object]
) -> pathlib.Path:
    """The program, from the cache; built when the cache does not have it."""
    stamp = f"-s -w -X {MODULE}/internal/version.version={version()}"
    package = f"{MODULE}/cmd/helm"
    binary = binaries.Binary(NAME, NAME, package, 60, stamp)
    files = [(p.name, p.read_bytes()) for p in sorted(SOURCE.glob("go.*"))]
    folder = binaries.cache(environ).parent / "upstream"
    folder /= binaries.key(files, [binary])
    store = binaries.Store(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with interrupts.raised(), lock.held(folder / "lock", say):
        if store.missing([binary]):
            say(f"building Helm {version()}, about a minute")
            golang.build(
                SOURCE,
                store.path(NAME),
                say,
                stamp=stamp,
                package=package,
            )
    return store.path(NAME)
