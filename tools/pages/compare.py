"""Whether the output of a command is what its page shows.

What differs from one run to the next is made equal first: durations, numbers
of requests, random parts of names, addresses, nodes that the scheduler
counts, line breaks and the width of columns.
"""

from __future__ import annotations

from collections.abc import Sequence
import re

ANY = "..."
"""A word that stands for any text."""

_VARIABLE = (
    (re.compile(r"\b\d+\.\d+ s\b|\b\d+ s\b|\b\d+ min\b"), "TIME"),
    (re.compile(r"\bin \d+(\.\d+)?s\b"), "in TIME"),
    (re.compile(r"\b(\d+m)?\d+s\b"), "TIME"),
    (re.compile(r"\b\d+ requests\b"), "N requests"),
    (re.compile(r"\b\d+\.\d+\.\d+\.\d+\b"), "ADDRESS"),
    (
        re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
        "UID",
    ),
    (
        re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{8,10}-\w{5}\b"),
        "-HASH-RANDOM",
    ),
    (re.compile(r"-(?=\w*\d)[a-z0-9]{5}\b"), "-RANDOM"),
    (re.compile(r"[-─]{4,}"), "----"),
    (re.compile(r"\s+"), " "),
    # The nodes of other tests count as well, with reasons of their own.
    (
        re.compile(
            r"\b0/\d+ nodes are available: .*?not helpful for scheduling\."
        ),
        "NODES",
    ),
)


def is_same_output(shown: Sequence[str], found: Sequence[str]) -> bool:
    """Return whether two outputs differ only where every two runs do."""
    parts = _normal("\n".join(shown)).split(f" {ANY} ")
    pattern = " (?:.* )?".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, _normal("\n".join(found))) is not None


def _normal(text: str) -> str:
    """Return the text on one line: where it is broken does not count."""
    for pattern, name in _VARIABLE:
        text = pattern.sub(name, text)
    return text.strip()
