"""All suites with a record, in a small project of their own."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

from tools.suites import background
from tools.suites import checkout
from tools.suites import records
from tools.suites import running
from tools.suites import table
from tools.suites.records import Result
from tools.suites.running import Place
from tools.suites.table import Suite

QUICK = Suite("quick", ("code",))
WHOLE = Suite("whole", (".", ":(exclude)notes"))

MAKEFILE = """\
quick whole:
\t@cat code
\t@echo
\t@echo "=== 3 passed ==="
"""


class Project:
    """A repository with a Makefile that has two suites."""

    def __init__(self, folder):
        self.place = Place(folder)
        self.git("init", "--quiet")
        (folder / ".gitignore").write_text("/build/\n")
        (folder / "Makefile").write_text(MAKEFILE)
        self.commit(code="one")

    def git(self, *words):
        return checkout.git(
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
        return checkout.head(self.place.project)

    def owed(self, *suites):
        commit = checkout.head(self.place.project)
        found = running.find_owed(self.place, suites, commit)
        return {suite.name: why for suite, why in found.items()}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_a_result_counts_until_what_the_suite_covers_changes(project):
    """A change of something else leaves it as it is."""
    first = checkout.head(project.place.project)
    assert {"quick": "not run", "whole": "not run"} == project.owed(
        QUICK, WHOLE
    )

    for suite in (QUICK, WHOLE):
        result = running.run(project.place, suite, first)
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

    result = running.run(project.place, QUICK, commit)

    assert (2, "broken") == (result.code, result.said)
    assert {"quick": "failed"} == project.owed(QUICK)
    assert "Error 1" in project.place.log_of("quick").read_text()


def test_a_suite_runs_on_what_is_committed(project):
    """What is being edited meanwhile is not in the checkout."""
    commit = checkout.head(project.place.project)
    (project.place.project / "code").write_text("half of a change")

    assert not checkout.is_clean(project.place.project)
    running.run(project.place, QUICK, commit)

    assert "one" in project.place.log_of("quick").read_text()


def test_a_result_of_a_commit_that_is_gone_does_not_count(project):
    """Nobody can say what changed since then."""
    gone = Result("quick", "f" * 40, "2026-01-01T00:00:00+00:00", 1, 0, "")
    project.place.folder.mkdir(parents=True)
    records.add(project.place.record, gone)

    assert {"quick": "its commit is gone"} == project.owed(QUICK)


def test_a_line_that_was_cut_off_is_not_a_result(project):
    """The machine stopped while it was written."""
    running.run(project.place, QUICK, checkout.head(project.place.project))
    with project.place.record.open("a") as stream:
        stream.write('{"suite": "whole", "com')

    running.run(project.place, QUICK, checkout.head(project.place.project))

    found = records.read(project.place.record)
    assert ["quick", "quick"] == [result.suite for result in found]


def test_suites_run_once_at_a_time(project):
    """A second process is told, and who holds it is known."""
    with background.lock(project.place):
        with pytest.raises(background.Busy):
            background.lock(project.place)
        assert background.find_process(project.place)
    assert None is background.find_process(project.place)


def test_every_suite_is_a_target_of_the_makefile():
    """And covers files that exist."""
    project = pathlib.Path(__file__).parents[3]
    for suite in table.SUITES:
        found = checkout.git(project, "ls-files", "--", *suite.covers)
        assert found, suite.name
        subprocess.run(
            ["make", "--dry-run", "BIN=.", *suite.command[1:]],
            cwd=project,
            check=True,
            capture_output=True,
        )
    names = [suite.name for suite in table.SUITES]
    assert sorted(set(names)) == sorted(names)
