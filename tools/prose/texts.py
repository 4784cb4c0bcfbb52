"""Read the prose of a file: comments and strings of Python, or all of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import dataclasses
import io
import pathlib
import re
import tokenize

# What reStructuredText and docstrings quote is a name and not prose.
LITERAL = re.compile(r"``[^`]*``|`[^`]*`__?|<https?://[^>]*>")
TEXTS = frozenset({".rst", ".yaml", ".yml", ".cfg", ".toml", ".md"})


@dataclasses.dataclass(frozen=True)
class Text:
    """A piece of prose, and the number of its first line, from 1."""

    line: int
    text: str


def read_texts(path: pathlib.Path) -> Iterator[Text]:
    """Yield the prose of a file, piece by piece, in no particular order."""
    source = path.read_text("utf-8")
    if ".py" == path.suffix:
        yield from _comments(source)
        yield from _strings(ast.parse(source))
    elif path.suffix in TEXTS or "Makefile" == path.name:
        yield Text(1, source)


def blank_literals(text: str) -> str:
    """Return the text with quoted names blanked; lines stay as they are."""
    return LITERAL.sub(
        lambda found: re.sub(r"[^\n]", "·", found.group()), text
    )


def _comments(source: str) -> Iterator[Text]:
    """Yield each run of comment lines as one text."""
    lines: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        number = token.start[0]
        if lines and number != last + 1:
            yield Text(first, "\n".join(lines))
            lines = []
        if not lines:
            first = number
        lines.append(token.string.lstrip("# "))
        last = number
    if lines:
        yield Text(first, "\n".join(lines))


def _strings(tree: ast.AST) -> Iterator[Text]:
    """Yield strings, the fields of a formatted one as an ellipsis."""
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.JoinedStr):
                yield Text(child.lineno, _formatted(child))
            elif (
                isinstance(child, ast.Constant)
                and isinstance(child.value, str)
                and not isinstance(node, ast.JoinedStr)
            ):
                yield Text(child.lineno, child.value)


def _formatted(node: ast.JoinedStr) -> str:
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "…"
        for part in node.values
    )
