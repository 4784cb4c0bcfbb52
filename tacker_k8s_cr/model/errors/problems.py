"""One fault with its place, and sentences about many of them.

A package with 300 objects for a missing namespace has one fault at 300
places. A sentence begins with the reason and names the first places; the
error itself keeps all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from tacker_k8s_cr.model.objects import ObjectRef

MAX_PLACES = 3
"""Places that a sentence names for one reason."""

MAX_REASONS = 25
"""Lines of a sentence, each with another reason."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """One fault: where it is, what is wrong there, and with which object.

    :param where: the file and document; empty where that is unknown.
    """

    where: str
    what: str
    ref: ObjectRef | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" if self.place else self.what

    @property
    def place(self) -> str:
        """The document and the object, as far as they are known."""
        return ": ".join(filter(None, (self.where, str(self.ref or ""))))

    def as_dict(self) -> Mapping[str, Any]:
        """Return plain values for JSON."""
        return {
            "where": self.where,
            "object": self.ref._asdict() if self.ref else None,
            "what": self.what,
        }


def with_documents(
    problems: Iterable[Problem], documents: Mapping[ObjectRef, str]
) -> tuple[Problem, ...]:
    """Return the problems, those of known objects with their documents."""
    return tuple(
        dataclasses.replace(problem, where=documents.get(problem.ref, ""))
        if problem.ref and not problem.where
        else problem
        for problem in problems
    )


def sentence(problems: Sequence[Problem]) -> str:
    """Return the lines of `lines_by_reason`, as one text."""
    return "\n".join(lines_by_reason(problems))


def lines_by_reason(problems: Sequence[Problem]) -> list[str]:
    """Return a line for each reason, in the order of their first places."""
    reasons: dict[str, list[Problem]] = {}
    for problem in problems:
        reasons.setdefault(problem.what, []).append(problem)
    lines = [_line(same) for same in reasons.values()]
    return limit_lines(lines, "more lines like these")


def limit_lines(
    lines: Sequence[str], noun: str = "more", indent: str = ""
) -> list[str]:
    """Return the first `MAX_REASONS` lines, and one that counts the others."""
    if len(lines) <= MAX_REASONS + 1:
        return list(lines)
    count = len(lines) - MAX_REASONS
    return [*lines[:MAX_REASONS], f"{indent}and {count} {noun}"]


def join_first(
    items: Iterable[object], shown: int = MAX_PLACES, separator: str = ", "
) -> str:
    """Return the first items in a row, and how many follow."""
    texts = list(map(str, items))
    if len(texts) <= shown + 1:
        return separator.join(texts)
    first = separator.join(texts[:shown])
    return f"{first}{separator}and {len(texts) - shown} more"


def _line(same: Sequence[Problem]) -> str:
    """Return the sentence for one reason: the reason first if it is shared."""
    what = same[0].what
    found = dict.fromkeys(problem.place for problem in same if problem.place)
    places = list(found)
    if len(places) < 2:
        return ": ".join([*places, what])
    noun = "objects" if all(problem.ref for problem in same) else "places"
    shown = join_first(places, separator="; ")
    return f"{what} ({len(places)} {noun}: {shown})"
