"""The table of a run: as text, and as values for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import re
from typing import Any

from tools.upstream.columns import Column
from tools.upstream.verdicts import Verdict

NOT_RUN = "-"

_UUID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


@dataclasses.dataclass(frozen=True)
class Row:
    """One test, with its verdict for each column in which it ran."""

    suite: str
    test: str
    verdicts: Mapping[str, Verdict]

    @property
    def surprises(self) -> dict[str, str]:
        """By column, what is unexpected."""
        return {
            name: verdict.surprise
            for name, verdict in self.verdicts.items()
            if verdict.surprise
        }


def format_table(rows: Sequence[Row], columns: Sequence[Column]) -> str:
    """Lines for a terminal: a line for each test, its reasons below it."""
    titles = [column.title for column in columns]
    widths = [max(len(title), 8) for title in titles]
    names = [f"{row.suite}: {_short(row.test)}" for row in rows]
    width = max(map(len, [*names, "test"]), default=4)
    lines = [_line("test", titles, width, widths)]
    lines.append("-" * len(lines[0]))
    for row, name in zip(rows, names, strict=True):
        words = [_word(row, column) for column in columns]
        lines.append(_line(name, words, width, widths))
        lines += [f"    {said}" for said in _reasons(row)]
    lines += ["", *_totals(rows, columns)]
    return "\n".join(lines)


def _line(
    name: str, words: Sequence[str], width: int, widths: Sequence[int]
) -> str:
    cells = [w.ljust(n) for w, n in zip(words, widths, strict=True)]
    return "  ".join([name.ljust(width), *cells]).rstrip()


def _short(test: str) -> str:
    path, _, name = test.partition("::")
    return (
        f"{path.rpartition('/')[2].removesuffix('.py')} "
        + (name.rpartition("::")[2])
    )


def _word(row: Row, column: Column) -> str:
    if column.name not in row.verdicts:
        return NOT_RUN
    verdict = row.verdicts[column.name]
    word = (
        "other" if verdict.passed_for_other_reason else verdict.result.outcome
    )
    return f"{word} !" if verdict.surprise else word


def _reasons(row: Row) -> list[str]:
    """Lines below a test; once for columns with the same reason."""
    said: dict[str, list[str]] = {}
    for name, verdict in row.verdicts.items():
        for line in _describe(verdict):
            said.setdefault(_UUID.sub("<id>", line), []).append(name)
    return [f"{', '.join(names)}: {line}" for line, names in said.items()]


def _describe(verdict: Verdict) -> list[str]:
    lines = []
    if verdict.reason:
        other = (
            "passed for another reason: "
            if verdict.passed_for_other_reason
            else ""
        )
        lines.append(f"{other}{verdict.reason}{_options(verdict)}")
    if verdict.known and not verdict.surprise:
        lines.append(f"expected: {verdict.known}")
    if verdict.surprise:
        lines.append(f"UNEXPECTED: {verdict.surprise}")
    return lines


def _options(verdict: Verdict) -> str:
    """Whether the error names the option to set."""
    if verdict.options:
        return f" [names {', '.join(verdict.options)}]"
    if verdict.needed:
        return f" [does not name {verdict.needed}]"
    return ""


def _totals(rows: Sequence[Row], columns: Sequence[Column]) -> list[str]:
    lines = []
    for column in columns:
        counted: dict[str, int] = {}
        seconds = 0.0
        for row in rows:
            if verdict := row.verdicts.get(column.name):
                word = (
                    "other"
                    if verdict.passed_for_other_reason
                    else verdict.result.outcome
                )
                counted[word] = counted.get(word, 0) + 1
                seconds += verdict.result.seconds
        said = ", ".join(f"{n} {word}" for word, n in sorted(counted.items()))
        lines.append(f"{column.title}: {said or 'no test ran'}")
        if counted:
            lines[-1] += f"; {seconds:.0f} s"
    return lines


def as_values(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows, as the documentation describes them."""
    return [
        {
            "suite": row.suite,
            "test": row.test,
            "columns": {
                name: _values(verdict)
                for name, verdict in row.verdicts.items()
            },
        }
        for row in rows
    ]


def _values(verdict: Verdict) -> dict[str, Any]:
    result = verdict.result
    return {
        "outcome": "other"
        if verdict.passed_for_other_reason
        else result.outcome,
        "seconds": result.seconds,
        "reason": verdict.reason,
        "expected": not verdict.surprise,
        "surprise": verdict.surprise,
        "known": verdict.known,
        "options": list(verdict.options),
        "needed": verdict.needed,
        "operations": [dataclasses.asdict(o) for o in result.operations],
    }
