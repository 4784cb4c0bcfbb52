"""Rows and markers: what the check accepts, and what it reports."""

from __future__ import annotations

import dataclasses

import pytest

from tools.requirements import markers
from tools.requirements import rows
from tools.requirements.rows import Group
from tools.requirements.rows import Row

pytest_plugins = ["pytester"]

SOURCE = '''\
import pytest


@pytest.mark.requirement({ids})
@pytest.mark.plane
def test_of_something():
    """The first
    sentence.

    And more.
    """
'''


@pytest.fixture
def project(tmp_path):
    """A project with one test, whose marker has the given arguments."""

    def _project(ids, source=SOURCE):
        file = tmp_path / "tests" / "e2e" / "test_it.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source.replace("{ids}", ids))
        return tmp_path

    return _project


def test_every_requirement_has_one_row():
    """246 rows, each with its sentence."""
    groups = rows.read()

    assert [] == list(rows.problems(groups))
    assert 246 == sum(len(group.rows) for group in groups)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda found: found[1:], "row TK-1 is missing"),
        (lambda found: (*found, found[0]), "row TK-1 occurs 2 times"),
        (
            lambda found: (*found, Row("TK-99", "More")),
            "row TK-99 is not a known id",
        ),
        (
            lambda found: (Row("TK-1", " "), *found[1:]),
            "row TK-1 has no requirement",
        ),
    ],
)
def test_an_incomplete_file_of_rows_is_an_error(change, problem):
    """A row is not removed, repeated, invented or emptied."""
    first, *others = rows.read()
    first = dataclasses.replace(first, rows=tuple(change(first.rows)))

    assert [problem] == list(rows.problems([first, *others]))


def test_a_row_with_an_open_part_is_open():
    """As is one that no test claims."""
    whole = Row("A1", "One")
    part = Row("A2", "Two", open="the half of it")
    group = Group("Some", (whole, part, Row("A3", "Three")))

    found = rows.without_proof([group], {"A1", "A2"})

    assert ["A2", "A3"] == [row.id for row in found]


def test_a_marker_claims_rows_for_its_test(project):
    """With its suite and the first sentence, read without running it."""
    (found,) = markers.find(project('"TK-1", "P2"'))

    assert ("TK-1", "P2") == found.rows
    assert ("e2e", "test_of_something") == (found.suite, found.test)
    assert "The first sentence." == found.fact


@pytest.mark.parametrize(
    ("ids", "problem"),
    [
        ('"TK-99"', "row TK-99 is not known"),
        ('"TK-1", "TK-1"', "test_of_something names a row twice"),
        ("ID", "ids are plain strings"),
        ('["TK-1"]', "ids are plain strings"),
        ("", "ids are plain strings"),
    ],
)
def test_a_wrong_marker_is_an_error(project, ids, problem):
    """The check names the test."""
    (found,) = markers.problems({"TK-1"}, project(ids))

    assert found.startswith("tests/e2e/test_it.py: ")
    assert found.endswith(problem)


@pytest.mark.parametrize(
    "source",
    [
        'import pytest\npytestmark = pytest.mark.requirement("TK-1")\n',
        SOURCE.replace("def test_of", "def helper_of"),
    ],
)
def test_a_marker_is_on_a_test(project, source):
    """One for a whole file would claim a row for tests that assert less."""
    (found,) = markers.problems({"TK-1"}, project('"TK-1"', source))

    assert "a marker that is not a test's" in found


def test_an_unknown_id_fails_the_collection(pytester):
    """No test is run, and the message names the test and the id."""
    pytester.makepyfile(SOURCE.replace("{ids}", '"TK-99"'))

    done = pytester.runpytest_subprocess(
        f"--config-file={rows.ROOT / 'pyproject.toml'}",
        f"--rootdir={rows.ROOT}",
        *("-p", "tests.conftest"),
        str(pytester.path),
    )

    assert pytest.ExitCode.USAGE_ERROR == done.ret
    done.stderr.fnmatch_lines(
        ["*test_of_something: no requirement has the id TK-99; see *"]
    )


def test_the_markers_of_all_suites_name_rows():
    """The ones of suites that need a cluster, a Tacker or root, too."""
    assert [] == list(markers.problems(rows.known()))
