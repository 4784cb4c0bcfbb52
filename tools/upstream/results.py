"""What became of each test, kept in a file from run to run."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import json
import pathlib
from typing import Any

PASSED = "passed"
FAILED = "failed"
SKIPPED = "skipped"


@dataclasses.dataclass(frozen=True)
class Operation:
    """An operation of a test, as Tacker's record of it is afterwards."""

    api: str
    operation: str
    state: str
    error: str = ""


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of one test.

    :param test: its path below tacker/tests/functional, class and name.
    :param error: what it raised, as testtools shows it, or the reason why it
        was skipped.
    :param left: what could not be removed after it failed.
    """

    test: str
    outcome: str
    seconds: float = 0.0
    error: str = ""
    operations: tuple[Operation, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def failed_operations(self) -> tuple[Operation, ...]:
        return tuple(one for one in self.operations if one.error)


def parse_result(line: str) -> Result:
    """A result, from a line of a file."""
    content: Mapping[str, Any] = json.loads(line)
    operations = tuple(
        Operation(**{f.name: one[f.name] for f in _FIELDS})
        for one in content.get("operations", ())
    )
    return Result(
        content["test"],
        content["outcome"],
        content.get("seconds", 0.0),
        content.get("error", ""),
        operations,
        tuple(content.get("left", ())),
    )


_FIELDS = dataclasses.fields(Operation)


def latest(lines: Iterable[str]) -> dict[str, Result]:
    """By test, the last result of each."""
    found = {}
    for line in lines:
        result = parse_result(line)
        found[result.test] = result
    return found


@dataclasses.dataclass(frozen=True)
class Store:
    """The files of one column: a folder with one file for each suite.

    :param made_of: what the results depend on; with other contents of it
        they count no longer.
    """

    folder: pathlib.Path
    made_of: str

    @property
    def _stamp(self) -> pathlib.Path:
        return self.folder / "made-of"

    def open(self, *, fresh: bool = False) -> None:
        """Make the folder; forget results that do not count."""
        self.folder.mkdir(parents=True, exist_ok=True)
        known = self._stamp.read_text() if self._stamp.exists() else ""
        if fresh or known != self.made_of:
            for path in self.folder.iterdir():
                path.unlink()
            self._stamp.write_text(self.made_of)

    def path(self, suite: str) -> pathlib.Path:
        return self.folder / f"{suite}.jsonl"

    def log(self, suite: str) -> pathlib.Path:
        return self.folder / f"{suite}.log"

    def selection(self, suite: str) -> pathlib.Path:
        return self.folder / f"{suite}.selected"

    def selected(self, suite: str) -> list[str]:
        """The tests that the last run selected."""
        path = self.selection(suite)
        found: list[str] = (
            json.loads(path.read_text()) if path.exists() else []
        )
        return found

    def read(self, suite: str) -> dict[str, Result]:
        path = self.path(suite)
        return latest(path.read_text().splitlines()) if path.exists() else {}

    def since(self, suite: str, place: int) -> tuple[list[Result], int]:
        """Results behind a place in the file, and the place behind them."""
        path = self.path(suite)
        if not path.exists():
            return [], place
        with open(path, "rb") as file:
            file.seek(place)
            # The last line may not be complete yet.
            whole, end, _rest = file.read().rpartition(b"\n")
        lines = whole.decode().splitlines()
        return list(map(parse_result, lines)), place + len(whole) + len(end)
