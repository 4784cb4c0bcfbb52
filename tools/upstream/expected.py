"""What is expected of the tests: known outcomes, and causes of failures.

``expected.yaml`` lists the tests that do not pass, ``causes.yaml`` the
operations that tests let fail on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import functools
import pathlib
import re
from typing import Any

import yaml

from tools.upstream.columns import Column
from tools.upstream.results import FAILED

FOLDER = pathlib.Path(__file__).resolve().parent
EVERY = "all"


@dataclasses.dataclass(frozen=True)
class Expected:
    """Tests that do not pass, in which columns, and why.

    :param tests: the ends of their names.
    :param outcome: failed or skipped.
    :param match: a pattern that the reason of a failure contains.
    :param option: the compatibility option with which they pass.
    :param reason: for the reader of the table.
    """

    tests: tuple[str, ...]
    columns: tuple[str, ...]
    reason: str
    outcome: str = FAILED
    match: str = ""
    option: str = ""

    def covers(self, test: str, column: Column) -> bool:
        named = self.columns == (EVERY,) or column.name in self.columns
        return named and test.endswith(self.tests)


@dataclasses.dataclass(frozen=True)
class Cause:
    """An operation that a test lets fail on purpose.

    :param cause: what makes it fail, for the reader.
    :param theirs: a pattern of the error of Tacker's own driver.
    :param ours: a pattern of the error of our driver.
    """

    test: str
    operation: str
    cause: str
    theirs: str
    ours: str

    def explains(self, test: str, operation: str) -> bool:
        return test.endswith(self.test) and operation == self.operation

    def pattern(self, column: Column) -> str:
        return self.ours if column.is_project_driver else self.theirs


@dataclasses.dataclass(frozen=True)
class Expectations:
    """Both tables."""

    outcomes: tuple[Expected, ...] = ()
    causes: tuple[Cause, ...] = ()

    def outcome(self, test: str, column: Column) -> Expected | None:
        """The first entry for a test in a column."""
        found = (one for one in self.outcomes if one.covers(test, column))
        return next(found, None)

    def causes_of(self, test: str, operation: str) -> tuple[Cause, ...]:
        return tuple(c for c in self.causes if c.explains(test, operation))


def outcomes(entries: Iterable[Any]) -> tuple[Expected, ...]:
    """The entries of ``expected.yaml``."""
    return tuple(
        Expected(
            **{
                **one,
                "tests": tuple(one["tests"]),
                "columns": tuple(one["columns"]),
            }
        )
        for one in entries
    )


def causes(entries: Iterable[Any]) -> tuple[Cause, ...]:
    """The entries of ``causes.yaml``."""
    return tuple(Cause(**one) for one in entries)


@functools.cache
def load(folder: pathlib.Path = FOLDER) -> Expectations:
    """Both files."""
    return Expectations(
        outcomes(_entries(folder / "expected.yaml")),
        causes(_entries(folder / "causes.yaml")),
    )


def _entries(path: pathlib.Path) -> list[Any]:
    return yaml.safe_load(path.read_text()) or []


def contains(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.DOTALL) is not None
