"""The results of suites, one line of JSON each."""

from __future__ import annotations

from collections.abc import Iterable
import contextlib
import dataclasses
import json
import pathlib


@dataclasses.dataclass(frozen=True)
class Result:
    """How a run of a suite ended.

    :param commit: the full hash of what ran.
    :param began: when, in ISO 8601, UTC.
    :param seconds: how long it took.
    :param code: the exit code; 0 if the suite passed.
    :param said: the last non-empty line of its output.
    """

    suite: str
    commit: str
    began: str
    seconds: int
    code: int
    said: str

    @property
    def passed(self) -> bool:
        return self.code == 0


def read(file: pathlib.Path) -> tuple[Result, ...]:
    """All results, oldest first; none if there is no file.

    A line that is cut off was being written when the machine stopped.
    """
    if not file.exists():
        return ()
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            found.append(Result(**json.loads(line)))
    return tuple(found)


def add(file: pathlib.Path, result: Result) -> None:
    """Append a result, on a line of its own."""
    line = json.dumps(dataclasses.asdict(result))
    with file.open("a", encoding="utf-8") as stream:
        stream.write(f"\n{line}\n")


def last(results: Iterable[Result]) -> dict[str, Result]:
    """Of each suite, its last result."""
    return {result.suite: result for result in results}
