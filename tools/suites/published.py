"""The last runs of the suites outside CI, as the documentation shows them.

The file is part of the repository. The tool writes it after each run, so it
is committed together with what was measured.
"""

from __future__ import annotations

from collections.abc import Iterator
import json
import pathlib
import re
from typing import Any

from tools.suites.records import Result
from tools.suites.table import SUITES

NAME = "doc/source/reference/suite_runs.json"
FILE = pathlib.Path(__file__).resolve().parents[2] / NAME

HEAD = ("Suite", "Last run (UTC)", "Commit", "Result", "Last passed")

IN_CI = ("check", "test")
"""Suites that run completely for every change."""

_COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed)\b")


def record(file: pathlib.Path, result: Result) -> None:
    """Write a run of a suite as its last one; CI's suites are left out."""
    if result.suite in IN_CI:
        return
    runs = _read(file)
    entry = _entry(result)
    passed = runs.get(result.suite, {}).get("passed")
    if result.passed:
        passed = entry
    runs[result.suite] = {"last": entry, "passed": passed}
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(runs, indent=2, sort_keys=True)
    file.write_text(text + "\n", encoding="utf-8")


def cells(file: pathlib.Path = FILE) -> Iterator[tuple[str, ...]]:
    """Yield a row of the page's table for each suite outside CI."""
    runs = _read(file)
    for suite in SUITES:
        if suite.name in IN_CI:
            continue
        run = runs.get(suite.name)
        if run is None:
            yield f"``{suite.name}``", "no run recorded", "", "", ""
            continue
        last, passed = run["last"], run["passed"]
        result = "passed" if last["passed"] else "failed"
        if counts := last["counts"]:
            numbers = ", ".join(f"{n} {word}" for word, n in counts.items())
            result = f"{result}: {numbers}"
        yield (
            f"``{suite.name}``",
            _date(last["began"]),
            f"``{last['commit'][:9]}``",
            result,
            f"{_date(passed['began'])}, ``{passed['commit'][:9]}``"
            if passed
            else "never",
        )


def _read(file: pathlib.Path) -> dict[str, dict[str, Any]]:
    if not file.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return found


def _entry(result: Result) -> dict[str, Any]:
    return {
        "began": result.began,
        "commit": result.commit,
        "counts": {
            word: int(number) for number, word in _COUNT.findall(result.said)
        },
        "minutes": round(result.seconds / 60, 1),
        "passed": result.passed,
    }


def _date(began: str) -> str:
    return began[:16].replace("T", " ")
