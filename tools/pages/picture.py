"""A screen as a picture: SVG without fonts or scripts of other sites."""

from __future__ import annotations

from collections.abc import Iterator
import io
import itertools
import re

import pyte
from pyte.screens import Char
from rich.console import Console
from rich.style import Style
from rich.text import Text

from tools.pages import terminal

_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_COLORS = {"brown": "yellow"}
"""Names of pyte that rich calls otherwise."""


def svg(command: str, screen: pyte.Screen, name: str) -> str:
    """Return the picture of a command and of what it left on its screen."""
    console = Console(
        record=True,
        width=terminal.COLUMNS,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
    )
    prompt = Text("$ ", style="bold green")
    console.print(prompt.append(command, style="bold white"))
    for line in _lines(screen):
        console.print(line)
    made = console.export_svg(title=name, unique_id=name, clear=False)
    made = _FONTS.sub("", made).replace("Fira Code", "DejaVu Sans Mono")
    return "\n".join(line.rstrip() for line in made.splitlines()) + "\n"


def _lines(screen: pyte.Screen) -> Iterator[Text]:
    last = max(
        (n for n, line in enumerate(screen.display) if line.strip()),
        default=-1,
    )
    for row in range(last + 1):
        text = Text()
        cells = [screen.buffer[row][n] for n in range(screen.columns)]
        for style, run in itertools.groupby(cells, _style):
            text.append("".join(cell.data for cell in run), style)
        text.rstrip()
        yield text


def _style(cell: Char) -> Style:
    color = _COLORS.get(cell.fg, cell.fg)
    return Style(
        color=None if color == "default" else color,
        bold=cell.bold,
        italic=cell.italics,
    )
