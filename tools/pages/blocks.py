"""The blocks of a page that are run: files to write, and commands."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import pathlib
import re
import textwrap

SKIP = "not-run"
"""The class of a block that is not run: ``:class: not-run``."""

FAILS = "fails"
"""The class of a block whose commands end with an error."""

RECORD = re.compile(r"\brecord-(\S+)")
"""The class of a block of which there is a picture with that name."""

_BLOCK = re.compile(
    r"^\.\. code-block:: (?P<language>\S+)\n"
    r"(?P<options>(?:   +:.*\n)*)\n"
    r"(?P<body>(?:(?: +.*)?\n)+)",
    re.MULTILINE,
)
_PROMPT = "$ "
_MORE = "> "


@dataclasses.dataclass(frozen=True)
class File:
    """A block with a caption: a file that the reader writes."""

    path: str
    content: str


@dataclasses.dataclass(frozen=True)
class Command:
    """A command of a console block, and the output that the page shows.

    :param first: the index of its first line in the page.
    :param last: the index after the last line of its output.
    :param fails: whether it ends with an error.
    :param picture: the name of its recording; empty without one.
    """

    text: str
    output: tuple[str, ...]
    first: int
    last: int
    indent: str
    fails: bool = False
    picture: str = ""


Step = File | Command


def read(page: pathlib.Path) -> list[Step]:
    """Return what a reader of the page does, in order."""
    return list(_steps(page.read_text("utf-8")))


def _steps(text: str) -> Iterator[Step]:
    for match in _BLOCK.finditer(text):
        options = match["options"]
        if SKIP in options:
            continue
        if match["language"] == "console":
            line = text.count("\n", 0, match.start("body"))
            picture = RECORD.search(options)
            for command in _commands(match["body"], line):
                yield dataclasses.replace(
                    command,
                    fails=FAILS in options,
                    picture=picture[1] if picture else "",
                )
        elif caption := re.search(r":caption: (\S+)", options):
            body = textwrap.dedent(match["body"]).strip("\n")
            yield File(caption[1], body + "\n")


def _commands(body: str, line: int) -> Iterator[Command]:
    lines = body.rstrip("\n").split("\n")
    indent = " " * (len(lines[0]) - len(lines[0].lstrip()))
    lines = [each.removeprefix(indent) for each in lines]
    starts = [n for n, each in enumerate(lines) if each.startswith(_PROMPT)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        text = [lines[start].removeprefix(_PROMPT)]
        shown = start + 1
        while shown < end and lines[shown].startswith(_MORE):
            text.append(lines[shown].removeprefix(_MORE))
            shown += 1
        yield Command(
            "\n".join(text),
            tuple(lines[shown:end]),
            line + start,
            line + end,
            indent,
        )
