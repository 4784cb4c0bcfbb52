"""Rows as lines of text that fit a width, without a broken word: pure.

A table that is too wide first wraps its texts between words, then puts them
below their rows, then shortens names in the middle, and at last writes each
row as a block. Words of a fixed set, such as kinds and states, are never
shortened; where they alone are too wide, the line is.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import enum
import textwrap

ELLIPSIS = "…"
GAP = "  "
INDENT = "  "
SHORTEST_NAME = 12
NARROWEST_TEXT = 24


class Shape(enum.Enum):
    """What may be done to the cells of a column."""

    WHOLE = "as it is"
    NAME = "shortened in the middle"
    TEXT = "wrapped between words"
    NUMBER = "as it is, to the right"


@dataclasses.dataclass(frozen=True)
class Column:
    """The title of a column, and what may be done to its cells."""

    title: str
    shape: Shape = Shape.TEXT


Rows = Sequence[Sequence[str]]


def format_table(
    columns: Sequence[Column], rows: Rows, width: int = 0
) -> list[str]:
    """Return the lines of a table with a header.

    :param width: columns of the screen; 0 for as many as it takes.
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    natural = [
        max(map(len, [column.title, *_lines(row[n] for row in rows)]))
        for n, column in enumerate(columns)
    ]
    whole = _total(natural)
    if not width or whole <= width:
        return _inline(columns, rows, natural)
    texts = [n for n, c in enumerate(columns) if c.shape is Shape.TEXT]
    wrapped = _wrapping(natural, rows, texts, width)
    if wrapped:
        return _inline(columns, rows, wrapped)
    narrow = _narrow(columns, natural, texts, width)
    if narrow:
        return _below(columns, rows, narrow, width)
    return _blocks(columns, rows, width)


def printable(text: str) -> str:
    """Return a text without characters that move a cursor."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else " "
        for letter in text.replace("\r\n", "\n")
    )


def shorten(name: str, width: int) -> str:
    """Return a name with its middle left out where it is too long."""
    if len(name) <= width:
        return name
    head = width // 2
    tail = width - head - 1
    return f"{name[:head]}{ELLIPSIS}{name[len(name) - tail :]}"


def wrap(text: str, width: int) -> list[str]:
    """Return a text as lines; a word that is too long is shortened."""
    return [
        line
        for part in text.split("\n")
        for line in textwrap.wrap(
            " ".join(shorten(word, width) for word in part.split()),
            width,
            break_long_words=False,
            break_on_hyphens=False,
        )
        or [""]
    ]


# -- Widths -------------------------------------------------------------------


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _wrapping(
    natural: Sequence[int], rows: Rows, texts: Sequence[int], width: int
) -> list[int] | None:
    """Return widths at which the texts wrap; None if a word does not fit."""
    if not texts:
        return None
    words = {
        n: max(len(word) for row in rows for word in [*row[n].split(), ""])
        for n in texts
    }
    least = {n: min(natural[n], max(words[n], NARROWEST_TEXT)) for n in texts}
    widths = [least.get(n, size) for n, size in enumerate(natural)]
    spare = width - _total(widths)
    if spare < 0:
        return None
    for n in texts:
        more = min(spare, natural[n] - widths[n])
        widths[n] += more
        spare -= more
    return widths


def _narrow(
    columns: Sequence[Column],
    natural: Sequence[int],
    texts: Sequence[int],
    width: int,
) -> list[int] | None:
    """Return widths without the texts, names shortened as far as needed."""
    widths = [0 if n in texts else size for n, size in enumerate(natural)]
    names = [n for n, c in enumerate(columns) if c.shape is Shape.NAME]
    shown = len(columns) - len(texts)
    excess = sum(widths) + len(GAP) * (shown - 1) - width
    while excess > 0:
        longest = max(names, key=lambda n: widths[n], default=None)
        if longest is None or widths[longest] <= SHORTEST_NAME:
            return None
        widths[longest] -= 1
        excess -= 1
    return widths


# -- Lines --------------------------------------------------------------------


def _inline(
    columns: Sequence[Column], rows: Rows, widths: Sequence[int]
) -> list[str]:
    lines = [_line(columns, [c.title for c in columns], widths)]
    for row in rows:
        cells = [
            wrap(cell, size) if column.shape is Shape.TEXT else [cell]
            for column, cell, size in zip(columns, row, widths, strict=True)
        ]
        for number in range(max(map(len, cells), default=0)):
            part = [
                cell[number] if number < len(cell) else "" for cell in cells
            ]
            lines.append(_line(columns, part, widths))
    return lines


def _below(
    columns: Sequence[Column], rows: Rows, widths: Sequence[int], width: int
) -> list[str]:
    shown = [n for n, c in enumerate(columns) if c.shape is not Shape.TEXT]
    kept = [columns[n] for n in shown]
    sizes = [widths[n] for n in shown]
    lines = [_line(kept, [column.title for column in kept], sizes)]
    for row in rows:
        lines.append(_line(kept, [row[n] for n in shown], sizes))
        texts = [row[n] for n in range(len(columns)) if n not in shown]
        lines += _indented(texts, width)
    return lines


def _indented(texts: Iterable[str], width: int) -> Iterator[str]:
    for text in filter(None, texts):
        for line in wrap(text, max(width - len(INDENT), 1)):
            yield f"{INDENT}{line}".rstrip()


def _blocks(columns: Sequence[Column], rows: Rows, width: int) -> list[str]:
    size = max(len(column.title) for column in columns)
    lines: list[str] = []
    for row in rows:
        if lines:
            lines.append("")
        for column, cell in zip(columns, row, strict=True):
            lines += _labelled(column, cell, size, width)
    return lines


def _labelled(
    column: Column, cell: str, size: int, width: int
) -> Iterator[str]:
    room = max(width - size - len(GAP), 1)
    parts = [cell]
    if column.shape is Shape.TEXT:
        parts = wrap(cell, room)
    elif column.shape is Shape.NAME:
        parts = [shorten(cell, room)]
    for title, part in zip(
        [column.title, *[""] * len(parts)], parts, strict=False
    ):
        yield f"{title:<{size}}{GAP}{part}".rstrip()


def _line(
    columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int]
) -> str:
    parts = [
        f"{cell:>{size}}"
        if column.shape is Shape.NUMBER
        else f"{_fitting(column, cell, size):<{size}}"
        for column, cell, size in zip(columns, cells, widths, strict=True)
    ]
    return GAP.join(parts).rstrip()


def _fitting(column: Column, cell: str, size: int) -> str:
    return shorten(cell, size) if column.shape is Shape.NAME else cell


def _lines(cells: Iterable[str]) -> Iterator[str]:
    for cell in cells:
        yield from cell.split("\n")
