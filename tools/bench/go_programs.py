"""The Go programs of the bench, built once for each state of their source."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import pathlib

from tools.plane import binaries
from tools.plane import golang
from tools.plane import modules

FOLDER = pathlib.Path(__file__).resolve().parent
HELM = "helm.sh/helm/v4"


def build_program(
    name: str, environ: Mapping[str, str], print_line: Callable[[str], object]
) -> pathlib.Path:
    """A built program, which is in the user's cache."""
    binary = _binary(name)
    cache = binaries.cache(environ).parent / "bench"
    return golang.build_once(binary, FOLDER / binary.module, cache, print_line)


def helm_version() -> str:
    """The version of Helm that its go.mod names."""
    return modules.required((FOLDER / "helm" / "go.mod").read_text(), HELM)


def _binary(name: str) -> binaries.Binary:
    if name == "client":
        return binaries.Binary(name, name, ".", 40)
    stamp = f"-s -w -X {HELM}/internal/version.version={helm_version()}"
    return binaries.Binary(name, name, f"{HELM}/cmd/helm", 60, stamp)
