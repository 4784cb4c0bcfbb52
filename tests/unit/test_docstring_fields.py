"""Docstrings describe parameters and attributes that exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import pathlib
import re

import pytest

import tacker_k8s_cr

PACKAGE = pathlib.Path(tacker_k8s_cr.__file__).parent

Function = ast.FunctionDef | ast.AsyncFunctionDef

CONSTRUCTORS = ("__init__", "__new__")


def described(node: Function | ast.ClassDef, field: str) -> list[str]:
    """Return the names that a docstring describes with this field."""
    docstring = ast.get_docstring(node, clean=False) or ""
    pattern = rf"^\s*:{field}(?: [^:\n]+)? ([\w.]+):"
    return re.findall(pattern, docstring, re.MULTILINE)


def parameters(function: Function) -> set[str]:
    args = function.args
    named = (*args.posonlyargs, *args.args, *args.kwonlyargs)
    return {arg.arg for arg in (*named, args.vararg, args.kwarg) if arg}


def functions(node: ast.ClassDef) -> Iterator[Function]:
    for part in node.body:
        if isinstance(part, Function):
            yield part


def fields(node: ast.ClassDef) -> set[str]:
    """Return the annotated names of a class, which a dataclass accepts."""
    return {
        part.target.id
        for part in node.body
        if isinstance(part, ast.AnnAssign)
        and isinstance(part.target, ast.Name)
    }


def attributes(node: ast.ClassDef) -> set[str]:
    """Return the names that a class or its methods assign, and its methods."""
    found = fields(node)
    for part in node.body:
        if isinstance(part, ast.Assign):
            found |= {t.id for t in part.targets if isinstance(t, ast.Name)}
    for function in functions(node):
        found.add(function.name)
        found |= {
            part.attr
            for part in ast.walk(function)
            if isinstance(part, ast.Attribute)
            and isinstance(part.ctx, ast.Store)
            and isinstance(part.value, ast.Name)
            and part.value.id == "self"
        }
    return found


def unknown_fields(source: str) -> list[str]:
    """Return fields of docstrings that describe nothing, with the line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        known: dict[str, set[str]] = {}
        if isinstance(node, Function):
            known = {"param": parameters(node), "ivar": set()}
        elif isinstance(node, ast.ClassDef):
            constructors = [
                function
                for function in functions(node)
                if function.name in CONSTRUCTORS
            ]
            accepted = set[str]().union(*map(parameters, constructors))
            known = {
                "param": accepted | fields(node),
                "ivar": attributes(node),
            }
        for field, names in known.items():
            found += [
                f"line {node.lineno}: {node.name}: :{field} {name}:"
                for name in described(node, field)
                if name not in names
            ]
    return found


@pytest.mark.parametrize(
    "path",
    sorted(PACKAGE.rglob("*.py")),
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_docstrings_describe_what_exists(path):
    """A renamed parameter or attribute is renamed in its docstring too."""
    assert [] == unknown_fields(path.read_text())


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('def f(a):\n    """F.\n\n    :param a: it.\n    """', []),
        (
            'def f(a):\n    """F.\n\n    :param b: it.\n    """',
            ["f: :param b:"],
        ),
        ('def f(*, a):\n    """F.\n\n    :param a: it.\n    """', []),
        ('def f(**a):\n    """F.\n\n    :param a: it.\n    """', []),
        (
            'class C:\n    """C.\n\n    :param a: it.\n    """\n    a: int',
            [],
        ),
        (
            'class C:\n    """C.\n\n    :param b: it.\n    """\n    a: int',
            ["C: :param b:"],
        ),
        (
            'class C:\n    """C.\n\n    :param a: it.\n    """\n'
            "    def __init__(self, a):\n        pass",
            [],
        ),
        (
            'class C:\n    """C.\n\n    :ivar a: it.\n    """\n'
            "    def __init__(self):\n        self.a = 1",
            [],
        ),
        (
            'class C:\n    """C.\n\n    :ivar a: it.\n    """\n'
            "    def __init__(self, a):\n        self.b = a",
            ["C: :ivar a:"],
        ),
    ],
)
def test_what_a_docstring_may_describe(source, found):
    """Parameters of a function or constructor, fields, and attributes."""
    lines = [text.partition(": ")[2] for text in unknown_fields(source)]

    assert found == lines
