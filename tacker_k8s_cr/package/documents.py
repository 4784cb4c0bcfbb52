"""From the text of a file to its documents, as Kubernetes reads them."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
from typing import Any

from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.package import json_text
from tacker_k8s_cr.package import yaml_text
from tacker_k8s_cr.package.yaml_loader import YamlError


@dataclasses.dataclass(frozen=True)
class ParsedDocument:
    """A document, and where it is in its file (counted from one).

    :param written: how keys were written that are not strings.
    """

    value: Any
    number: int
    line: int
    written: yaml_text.Written = dataclasses.field(default_factory=dict)


def read(
    text: str,
    file: str,
    *,
    lenient: bool = False,
    warnings: list[Problem] | None = None,
) -> tuple[list[ParsedDocument], list[Problem]]:
    """The documents of a file, without the empty ones, and its faults.

    A fault in one document does not hide those in the next.

    :param lenient: of a repeated key, the last one counts.
    :param warnings: receives places that may not have the intended meaning.
    """
    found: list[ParsedDocument] = []
    problems: list[Problem] = []
    number = 0
    for chunk in _split(text):
        if chunk.leading and _is_blank(chunk.text):
            continue
        number += 1
        doubts: list[YamlError] = []
        try:
            chunk.check()
            values = _values(chunk.text, lenient, doubts)
        except YamlError as fault:
            problems.append(_with_place(fault, file, chunk.line))
            continue
        if warnings is not None:
            warnings += [
                _with_place(doubt, file, chunk.line) for doubt in doubts
            ]
        found += [
            ParsedDocument(
                value, number + index, chunk.line + line + 1, written
            )
            for index, (value, line, written) in enumerate(values)
            if value is not None
        ]
        number += max(len(values) - 1, 0)
    return found, problems


def _with_place(fault: YamlError, file: str, line: int) -> Problem:
    line, column = fault.line + line + 1, fault.column + 1
    return Problem(f"{file}, line {line}, column {column}", fault.what)


# -- Splitting ----------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Chunk:
    """Lines between two separators; ``line`` is the first one's index.

    :param separator: the line before it; empty for the first.
    """

    text: str
    line: int
    separator: str

    @property
    def leading(self) -> bool:
        return not self.separator

    def check(self) -> None:
        """Refuse a line that begins like a separator and is not one."""
        if self.separator[3:4].strip():
            what = "--- is a separator only if a space or nothing follows"
            raise YamlError(what, -1, 3)


def _split(text: str) -> Iterator[_Chunk]:
    lines: list[str] = []
    start, separator = 0, ""
    for index, line in enumerate(text.split("\n")):
        if not line.startswith("---"):
            lines.append(line)
            continue
        yield _Chunk("\n".join(lines), start, separator)
        lines, start, separator = [], index + 1, line
        if line[3:4].isspace() and not _is_blank(line[3:]):
            # kubectl refuses content on this line; YAML and Tacker allow it.
            lines, start = [f"   {line[3:]}"], index
    yield _Chunk("\n".join(lines), start, separator)


def _is_blank(text: str) -> bool:
    """Return whether there are only comments and the version of YAML."""
    return all(
        not line.strip() or line.lstrip().startswith(("#", "%YAML"))
        for line in text.split("\n")
    )


def _values(
    text: str, lenient: bool, doubts: list[YamlError]
) -> list[tuple[Any, int, yaml_text.Written]]:
    """A chunk's values with their lines: several only in a JSON stream."""
    if text.lstrip().startswith("{"):
        repeated: list[str] | None = [] if lenient else None
        with contextlib.suppress(json_text.JsonSyntaxError):
            found = list(json_text.read(text, repeated))
            doubts += [YamlError(what, 0, 0) for what in repeated or ()]
            return [(value, line, {}) for value, line in found]
    return [yaml_text.read(text, lenient=lenient, doubts=doubts)]
