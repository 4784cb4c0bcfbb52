"""Run a page: do what its reader does, in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import os
import pathlib
import re
import sys

from tools.pages import blocks
from tools.pages import compare
from tools.pages import terminal
from tools.pages.blocks import Command
from tools.pages.blocks import File
from tools.pages.terminal import TerminalOutput
from tools.plane.kubectl import Kubectl

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("tutorial", "howto")
"""Folders of the documentation whose pages are run, each with its blocks."""

Environ = Mapping[str, str]

_NAMESPACE = re.compile(r"kubectl create namespace (\S+)")


@dataclasses.dataclass(frozen=True)
class CommandRun:
    """A command of a page, and what it showed now."""

    command: Command
    shown: TerminalOutput

    @property
    def wrong(self) -> bool:
        """Whether its exit code is not the expected one."""
        return bool(self.shown.code) is not self.command.fails

    @property
    def changed(self) -> bool:
        """Whether the output is another one than the page shows."""
        return not compare.is_same_output(
            self.command.output, self.shown.lines
        )


def pages() -> list[pathlib.Path]:
    """Return the pages that have commands to run."""
    source = ROOT / "doc" / "source"
    found = [p for f in FOLDERS for p in sorted((source / f).glob("*.rst"))]
    return [page for page in found if blocks.read(page)]


def environment(kubeconfig: pathlib.Path, kubectl: pathlib.Path) -> Environ:
    """Return what a reader has: the cluster, kubectl and our program."""
    path = [str(pathlib.Path(sys.executable).parent), str(kubectl.parent)]
    return {
        **os.environ,
        "KUBECONFIG": str(kubeconfig),
        "PATH": os.pathsep.join([*path, os.environ.get("PATH", "")]),
        "LC_ALL": "C.UTF-8",
    }


def run(
    page: pathlib.Path, environ: Environ, folder: pathlib.Path
) -> Iterator[CommandRun]:
    """Do what a reader does; the samples are where a reader has them."""
    samples = folder / "samples"
    if not samples.exists():
        samples.symlink_to(ROOT / "samples")
    for step in blocks.read(page):
        if isinstance(step, File):
            path = folder / step.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.content)
        else:
            yield CommandRun(step, terminal.run(step.text, environ, folder))


@contextlib.contextmanager
def namespaces(page: pathlib.Path, kubectl: Kubectl) -> Iterator[None]:
    """Delete the namespaces that a page creates, before it and after it."""
    names = _NAMESPACE.findall(page.read_text("utf-8"))
    delete = ["delete", "namespace", *names, "--ignore-not-found"]
    if names:
        kubectl(*delete)
    try:
        yield
    finally:
        if names:
            kubectl(*delete, "--wait=false")
