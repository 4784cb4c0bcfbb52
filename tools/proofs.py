"""Which test proves which row of what the product has to do.

The rows stand in the documentation's requirements.yaml, and a test's
docstring names those that it proves; nothing else is written down.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
import dataclasses
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROWS = ROOT / "doc" / "source" / "reference" / "requirements.yaml"
_ID = re.compile(r"\b(?:TK-|CR-|IN-|XO-|[ABDEFGHKMPT])\d+\b")


@dataclasses.dataclass(frozen=True)
class Row:
    """One thing that the product has to do.

    :param open: why there is no proof yet; empty where there is one.
    """

    id: str
    wanted: str
    open: str = ""


@dataclasses.dataclass(frozen=True)
class Proof:
    """A test, and the rows that its docstring names."""

    path: str
    test: str
    rows: tuple[str, ...]

    @property
    def room(self) -> str:
        return self.path.split("/")[1]


def rows() -> dict[str, tuple[Row, ...]]:
    """The rows by the title of their table."""
    found = yaml.safe_load(ROWS.read_text())
    return {
        table["title"]: tuple(Row(**row) for row in table["rows"])
        for table in found
    }


def proofs() -> tuple[Proof, ...]:
    """All tests whose docstring names a row, in the order of their files."""
    return tuple(
        proof
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for proof in _of(path)
    )


def _of(path: pathlib.Path) -> Iterator[Proof]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            named = _ID.findall(ast.get_docstring(node) or "")
            if named:
                where = path.relative_to(ROOT).as_posix()
                yield Proof(where, node.name, tuple(dict.fromkeys(named)))
