"""Bring the output that a page shows up to date."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import pathlib
import textwrap

from tools.pages import terminal
from tools.pages.run import CommandRun


def rewrite(page: pathlib.Path, done: Sequence[CommandRun]) -> int:
    """Replace output that differs; return how many commands it was of.

    From the last to the first, so that the others stay where they are.
    """
    lines = page.read_text("utf-8").split("\n")
    changed = 0
    for each in reversed(done):
        command = each.command
        if not each.changed:
            continue
        changed += 1
        begin = command.first + len(command.text.split("\n"))
        lines[begin : command.last] = [
            (command.indent + line).rstrip()
            for line in _broken(each.shown.lines)
        ]
    if changed:
        page.write_text("\n".join(lines), "utf-8")
    return changed


def _broken(lines: Iterable[str]) -> Iterator[str]:
    """Break long lines at words, as deep as they are and two more."""
    for line in lines:
        depth = " " * (len(line) - len(line.lstrip()) + 2)
        yield from textwrap.wrap(
            line,
            terminal.COLUMNS,
            subsequent_indent=depth,
            drop_whitespace=True,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
