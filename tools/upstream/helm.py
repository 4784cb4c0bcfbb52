"""Helm 3, built from its published Go module: Tacker calls its program."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import pathlib

from tools.plane import binaries
from tools.plane import golang
from tools.plane import modules
from tools.upstream import source

SOURCE = pathlib.Path(__file__).resolve().parent / "helm_module"
MODULE = "helm.sh/helm/v3"
NAME = "helm"


def version() -> str:
    """The version that go.mod names."""
    return modules.required((SOURCE / "go.mod").read_text(), MODULE)


def build_program(
    environ: Mapping[str, str], print_line: Callable[[str], object]
) -> pathlib.Path:
    """The program, from the cache; built when the cache does not have it."""
    stamp = f"-s -w -X {MODULE}/internal/version.version={version()}"
    binary = binaries.Binary(NAME, NAME, f"{MODULE}/cmd/helm", 60, stamp)
    return golang.build_once(binary, SOURCE, source.cache(environ), print_line)
