"""The blocks of the user's pages, and what a test does with each."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import pathlib
import re
import textwrap
from typing import Any

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.rst",
    *sorted((ROOT / "doc" / "source" / "user").glob("*.rst")),
)
LIST = pathlib.Path(__file__).parent / "page_blocks.yaml"

_DIRECTIVE = re.compile(r"^( *)\.\. (code-block|literalinclude):: *(\S+)$")
_LITERAL = re.compile(r"^( *)(?!\s*\.\. ).*::$")


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of a page.

    :param language: of a code-block; ``literal`` where none is named.
    """

    page: str
    language: str
    text: str

    @property
    def first(self) -> str:
        """The line that the list names it by."""
        return self.text.partition("\n")[0]

    @property
    def commands(self) -> list[str]:
        """Those of a console block, each with its continued lines."""
        found = re.findall(r"^[$#] ((?:.*\\\n)*.*)$", self.text, re.MULTILINE)
        return [str(command) for command in found]


def blocks(page: pathlib.Path) -> Iterator[Block]:
    """Return every block of a page, in order."""
    lines = page.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        directive = _DIRECTIVE.match(line)
        literal = _LITERAL.match(line)
        if directive and directive[2] == "literalinclude":
            yield Block(page.name, "literalinclude", directive[3])
        elif directive or literal:
            found = directive or literal
            assert found
            body = _indented(lines[number + 1 :], len(found[1]))
            language = directive[3] if directive else "literal"
            yield Block(page.name, language, body)


def _indented(lines: list[str], least: int) -> str:
    body = []
    for line in lines:
        if line.strip() and len(line) - len(line.lstrip()) <= least:
            break
        # Options of the directive, such as a caption.
        if body or not re.match(r" *:\S+:", line):
            body.append(line)
    return textwrap.dedent("\n".join(body)).strip("\n")


@dataclasses.dataclass(frozen=True)
class Entry:
    """The list's entry for a block.

    :param begins: its first line.
    :param run: how it is executed; empty if it cannot be.
    :param because: why it cannot.
    :param before: commands that make what the page takes for granted.
    :param replace: texts of the page that stand for others.
    :param setup: Python that runs before the block.
    :param codes: exit codes of its commands, where one is not 0.
    """

    begins: str
    run: str = ""
    because: str = ""
    before: str = ""
    replace: dict[str, str] = dataclasses.field(default_factory=dict)
    codes: list[int] = dataclasses.field(default_factory=list)
    setup: str = ""
    operation: str = ""
    skip: dict[str, str] = dataclasses.field(default_factory=dict)


def listed() -> dict[str, list[Entry]]:
    """Return the list, by page."""
    found: dict[str, Any] = yaml.safe_load(LIST.read_text("utf-8"))
    return {
        page: [Entry(**entry) for entry in entries or ()]
        for page, entries in found.items()
    }
