"""All suites with a record, in a small project of their own."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess

import pytest

from tools.suites import background
from tools.suites import checkout
from tools.suites import published
from tools.suites import records
from tools.suites import suite_run
from tools.suites import table
from tools.suites.records import Result
from tools.suites.suite_run import SuiteFolders
from tools.suites.table import Suite

QUICK = Suite("quick", ("code",))
WHOLE = Suite("whole", (".", table.RUNS, ":(exclude)notes"))

MAKEFILE = """\
quick whole:
\t@cat code
\t@echo
\t@echo "=== 3 passed ==="
"""


class Project:
    """A repository with a Makefile that has two suites."""

    def __init__(self, folder):
        self.place = SuiteFolders(folder)
        self.git("init", "--quiet")
        (folder / ".gitignore").write_text("/build/\n")
        (folder / "Makefile").write_text(MAKEFILE)
        self.commit(code="one")

    def git(self, *words):
        return checkout.run_git(
            self.place.project,
            "-c",
            "user.name=n",
            "-c",
            "user.email=n@example.org",
            *words,
        )

    def commit(self, **files):
        for name, text in files.items():
            (self.place.project / name).write_text(text)
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "more")
        return checkout.head_commit(self.place.project)

    def owed(self, *suites):
        commit = checkout.head_commit(self.place.project)
        found = suite_run.find_due_suites(self.place, suites, commit)
        return {suite.name: why for suite, why in found.items()}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_a_result_counts_until_what_the_suite_covers_changes(project):
    """A change of something else leaves it as it is."""
    first = checkout.head_commit(project.place.project)
    assert {"quick": "not run", "whole": "not run"} == project.owed(
        QUICK, WHOLE
    )

    for suite in (QUICK, WHOLE):
        result = suite_run.run(project.place, suite, first)
        assert result.passed
        assert "3 passed" == result.said
    assert {} == project.owed(QUICK, WHOLE)

    project.commit(notes="more")
    assert {} == project.owed(QUICK, WHOLE)
    project.commit(other="more")
    assert {"whole": "passed before other changed"} == project.owed(
        QUICK, WHOLE
    )


def test_a_suite_that_failed_is_run_again(project):
    """What it said at its end is in the record, and all of it in its log."""
    commit = project.commit(Makefile="quick:\n\t@echo broken; false\n")

    result = suite_run.run(project.place, QUICK, commit)

    assert (2, "broken") == (result.code, result.said)
    assert {"quick": "failed"} == project.owed(QUICK)
    assert "Error 1" in project.place.log_of("quick").read_text()


def test_a_suite_runs_on_what_is_committed(project):
    """What is being edited meanwhile is not in the checkout."""
    commit = checkout.head_commit(project.place.project)
    (project.place.project / "code").write_text("half of a change")

    assert not checkout.is_clean(project.place.project)
    suite_run.run(project.place, QUICK, commit)

    assert "one" in project.place.log_of("quick").read_text()


def test_a_result_of_a_commit_that_was_deleted_does_not_count(project):
    """The changes since then are unknown."""
    gone = Result("quick", "f" * 40, "2026-01-01T00:00:00+00:00", 1, 0, "")
    project.place.folder.mkdir(parents=True)
    records.add(project.place.record, gone)

    assert {"quick": "its commit no longer exists"} == project.owed(QUICK)


def test_a_line_that_was_cut_off_is_not_a_result(project):
    """The machine stopped while it was written."""
    suite_run.run(
        project.place, QUICK, checkout.head_commit(project.place.project)
    )
    with project.place.record.open("a") as stream:
        stream.write('{"suite": "whole", "com')

    suite_run.run(
        project.place, QUICK, checkout.head_commit(project.place.project)
    )

    found = records.read(project.place.record)
    assert ["quick", "quick"] == [result.suite for result in found]


def test_suites_run_once_at_a_time(project):
    """A second process is refused, with the name of the holder."""
    with background.lock(project.place):
        with pytest.raises(background.SuitesRunning):
            background.lock(project.place)
        assert background.find_process(project.place)
    assert None is background.find_process(project.place)


def test_every_suite_is_a_target_of_the_makefile():
    """And covers files that exist."""
    project = pathlib.Path(__file__).parents[3]
    for suite in table.SUITES:
        found = checkout.run_git(project, "ls-files", "--", *suite.covers)
        assert found, suite.name
        subprocess.run(
            ["make", "--dry-run", "BIN=.", *suite.command[1:]],
            cwd=project,
            check=True,
            capture_output=True,
        )
    names = [suite.name for suite in table.SUITES]
    assert sorted(set(names)) == sorted(names)


def test_a_run_is_written_for_the_documentation(project):
    """With its commit and counts; a failure keeps the last that passed."""
    first = checkout.head_commit(project.place.project)
    suite_run.run(project.place, QUICK, first)
    second = project.commit(Makefile="quick:\n\t@echo 2 failed; false\n")
    suite_run.run(project.place, QUICK, second)

    runs = json.loads(project.place.published.read_text())
    last, passed = runs["quick"]["last"], runs["quick"]["passed"]

    assert (first, {"passed": 3}) == (passed["commit"], passed["counts"])
    assert (second, {"failed": 2}) == (last["commit"], last["counts"])
    assert not last["passed"]


def test_the_page_shows_each_suite_outside_ci(tmp_path):
    """A suite without a recorded run is shown as such."""
    file = tmp_path / "runs.json"
    began = "2026-01-02T03:04:05+00:00"
    passed = Result("e2e", "a" * 40, began, 60, 0, "7 passed in 60 s")
    published.record(file, passed)
    published.record(file, dataclasses.replace(passed, suite="test"))

    cells = {row[0]: row[1:] for row in published.cells(file)}

    day = "2026-01-02 03:04"
    assert (
        day,
        "``aaaaaaaaa``",
        "passed: 7 passed",
        f"{day}, ``aaaaaaaaa``",
    ) == cells["``e2e``"]
    assert ("no run recorded", "", "", "") == cells["``soak``"]
    assert "``test``" not in cells
