"""Run pages, and bring the output and the pictures in them up to date."""

from __future__ import annotations

import argparse
import os
import pathlib
import tempfile

from tools import plane
from tools.pages import picture
from tools.pages import rewrite
from tools.pages import run
from tools.plane import target

SOURCE = run.ROOT / "doc" / "source"
PICTURES = SOURCE / "recordings"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.pages")
    parser.add_argument("page", nargs="*", type=pathlib.Path)
    pages = parser.parse_args().page or run.pages()
    chosen = target.choose(os.environ)
    started = chosen.can_start and plane.ensure()
    try:
        kubectl = target.kubectl(chosen)
        environ = run.environment(chosen.kubeconfig, kubectl.program)
        for page in pages:
            with run.namespaces(page, kubectl):
                _page(page, environ)
    finally:
        if started:
            plane.down()
    return 0


def _page(page: pathlib.Path, environ: run.Environ) -> None:
    with tempfile.TemporaryDirectory() as folder:
        done = list(run.run(page, environ, pathlib.Path(folder)))
    for each in done:
        command = each.command
        if each.wrong:
            print(f"{page.name}: exit code {each.shown.code}: {command.text}")
            print("\n".join(each.shown.lines))
        if command.picture:
            path = PICTURES / f"{command.picture}.svg"
            if path.exists() and not each.changed:
                continue
            made = picture.svg(
                command.text, each.shown.screen, command.picture
            )
            PICTURES.mkdir(exist_ok=True)
            path.write_text(made, "utf-8")
    changed = rewrite.rewrite(page, done)
    print(f"{page.name}: {len(done)} commands, output of {changed} replaced")


if __name__ == "__main__":
    raise SystemExit(main())
