"""The requirements, each with its full sentence.

One file holds all of them. This module also defines which ids it has to hold,
so that a row which disappears is an error.
"""

from __future__ import annotations

import collections
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import functools
import itertools
import pathlib

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "doc" / "source" / "reference" / "requirements.yaml"

NUMBERS: dict[str, Iterable[int]] = {
    "A": range(1, 8),
    "B": range(1, 11),
    "C": range(1, 9),
    "D": range(1, 8),
    "E": range(1, 10),
    "F": range(1, 8),
    "G": range(1, 5),
    "H": range(1, 7),
    "I": range(1, 12),
    "J": range(1, 6),
    "K": range(1, 7),
    "L": range(1, 3),
    "M": (1, 3, 4, 5, 6, 7),
    "P": range(1, 26),
    "T": range(1, 15),
    "TK-": range(1, 26),
    "CR-": range(1, 26),
    "CL-": range(1, 19),
    "IN-": range(1, 29),
    "XO-": range(1, 24),
}
"""The ids: each prefix with its numbers."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One requirement.

    :param subject: the feature, the pain or the defect that it answers;
        empty where the requirement itself names the feature.
    :param open: the part of the requirement that no test asserts, where
        tests assert the rest.
    """

    id: str
    requirement: str
    subject: str = ""
    open: str = ""


@dataclasses.dataclass(frozen=True)
class Group:
    """Requirements of one source or topic."""

    title: str
    rows: tuple[Row, ...]


def read(file: pathlib.Path = FILE) -> tuple[Group, ...]:
    """Read all groups, in the order of the page."""
    return tuple(
        Group(group["title"], tuple(Row(**row) for row in group["rows"]))
        for group in yaml.safe_load(file.read_text(encoding="utf-8"))
    )


@functools.cache
def known() -> frozenset[str]:
    """Return the ids of the file."""
    return frozenset(row.id for group in read() for row in group.rows)


def problems(groups: Iterable[Group]) -> Iterator[str]:
    """Yield what is wrong with the file: a missing, double or empty row."""
    rows = list(itertools.chain.from_iterable(g.rows for g in groups))
    found = collections.Counter(row.id for row in rows)
    expected = {
        f"{prefix}{number}"
        for prefix, numbers in NUMBERS.items()
        for number in numbers
    }
    for missing in sorted(expected - set(found)):
        yield f"row {missing} is missing"
    for strange in sorted(set(found) - expected):
        yield f"row {strange} is not a known id"
    for double in sorted(id for id, number in found.items() if number > 1):
        yield f"row {double} occurs {found[double]} times"
    for row in rows:
        if not row.requirement.strip():
            yield f"row {row.id} has no requirement"


def without_proof(
    groups: Iterable[Group], claimed: Container[str]
) -> tuple[Row, ...]:
    """Return the open rows: those without a test, or with an open part."""
    return tuple(
        row
        for group in groups
        for row in group.rows
        if row.open or row.id not in claimed
    )
