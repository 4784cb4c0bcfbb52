"""Runs suites one after the other and records how each ended."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import datetime
import os
import pathlib
import subprocess
import time

from tools.suites import checkout
from tools.suites import published
from tools.suites import records
from tools.suites.records import Result
from tools.suites.table import Suite


@dataclasses.dataclass(frozen=True)
class SuiteFolders:
    """The project, and where its suites run and leave their results."""

    project: pathlib.Path

    @property
    def folder(self) -> pathlib.Path:
        return self.project / "build" / "suites"

    @property
    def record(self) -> pathlib.Path:
        return self.folder / "results.jsonl"

    @property
    def published(self) -> pathlib.Path:
        """The file of the documentation with the last runs."""
        return self.project / published.NAME

    def log_of(self, suite: str) -> pathlib.Path:
        """The output of the last run of a suite."""
        return self.folder / f"{suite}.log"


def find_due_suites(
    folders: SuiteFolders, suites: Iterable[Suite], commit: str
) -> dict[Suite, str]:
    """The suites that have no result that counts at a commit, and why."""
    last = records.last(records.read(folders.record))
    found = {}
    for suite in suites:
        result = last.get(suite.name)
        if result is None:
            found[suite] = "not run"
        elif not result.passed:
            found[suite] = "failed"
        elif not checkout.is_known(folders.project, result.commit):
            found[suite] = "its commit no longer exists"
        elif file := checkout.find_changed_file(
            folders.project, result.commit, commit, suite.covers
        ):
            found[suite] = f"passed before {file} changed"
    return found


def run(folders: SuiteFolders, suite: Suite, commit: str) -> Result:
    """Run a suite on a checkout of a commit, and record its result."""
    folder = folders.folder / "checkout"
    folder.parent.mkdir(parents=True, exist_ok=True)
    checkout.check_out(folders.project, commit, folder)
    # The environment is the checkout's own, as a stranger would have it.
    variables = {
        name: value
        for name, value in os.environ.items()
        if name not in ("BIN", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL")
    }
    began = datetime.datetime.now(datetime.timezone.utc)
    start = time.monotonic()
    with folders.log_of(suite.name).open("wb") as log:
        process = subprocess.Popen(
            suite.command,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            code = process.wait()
        except KeyboardInterrupt:
            # It was interrupted too, and ends what it started.
            process.wait()
            raise
    result = Result(
        suite.name,
        commit,
        began.isoformat(timespec="seconds"),
        round(time.monotonic() - start),
        code,
        _last_line(folders.log_of(suite.name)),
    )
    records.add(folders.record, result)
    published.record(folders.published, result)
    return result


def _last_line(log: pathlib.Path) -> str:
    """The last line that is not a rule, and not make's own."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    said = [line.strip(" =-\t") for line in lines]
    said = [line for line in said if line and not line.startswith("make")]
    return said[-1] if said else ""
