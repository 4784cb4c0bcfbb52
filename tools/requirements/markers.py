"""The markers on tests: ``@pytest.mark.requirement("TK-24")``.

They are read from the source, so that suites which need a cluster, a Tacker
or root are on the page although they do not run when it is built.
"""

from __future__ import annotations

import ast
from collections.abc import Container
from collections.abc import Iterator
import dataclasses
import pathlib
from typing import TypeGuard

from tools.requirements import rows

FOLDERS = ("tests", "samples")
MARKER = "requirement"


@dataclasses.dataclass(frozen=True)
class Proof:
    """A test that claims requirements.

    :param path: its file, relative to the project.
    :param line: where the function begins.
    :param fact: the first line of its docstring.
    :param rows: the ids of its marker.
    """

    path: str
    test: str
    line: int
    fact: str
    rows: tuple[str, ...]

    @property
    def suite(self) -> str:
        """The folder of tests that it belongs to."""
        first, second, *_ = self.path.split("/")
        return second if first == "tests" else first


def find(root: pathlib.Path = rows.ROOT) -> Iterator[Proof]:
    """Yield all tests with a marker, in the order of their files."""
    for path in _files(root):
        where = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            found = [_ids(one) for one in node.decorator_list if _is(one)]
            if found:
                doc = ast.get_docstring(node) or ""
                fact, _, _ = doc.partition("\n\n")
                ids = tuple(id for ids in found for id in ids)
                fact = " ".join(fact.split())
                yield Proof(where, node.name, node.lineno, fact, ids)


def problems(
    known: Container[str], root: pathlib.Path = rows.ROOT
) -> Iterator[str]:
    """Yield what is wrong with markers.

    A marker is a decorator of a test, once, with ids as plain strings: then
    reading the source finds what pytest finds.
    """
    for path in _files(root):
        where = path.relative_to(root).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        right = set()
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            if not node.name.startswith("test_"):
                continue
            found = [one for one in node.decorator_list if _is(one)]
            right |= set(found)
            if len(found) > 1:
                yield f"{where}: {node.name} has several markers"
            for one in found:
                ids = _ids(one)
                if not ids or len(ids) != len(one.args) or one.keywords:
                    yield f"{where}: {node.name}: ids are plain strings"
                if len(set(ids)) != len(ids):
                    yield f"{where}: {node.name} names a row twice"
                for id in ids:
                    if id not in known:
                        yield f"{where}: {node.name}: row {id} is not known"
        for node in ast.walk(tree):
            if _is(node) and node not in right:
                yield f"{where}:{node.lineno}: a marker that is not a test's"


def _files(root: pathlib.Path) -> Iterator[pathlib.Path]:
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            if f".{MARKER}(" in path.read_text(encoding="utf-8"):
                yield path


def _is(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == f"pytest.mark.{MARKER}"
    )


def _ids(node: ast.Call) -> tuple[str, ...]:
    return tuple(
        one.value
        for one in node.args
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    )
