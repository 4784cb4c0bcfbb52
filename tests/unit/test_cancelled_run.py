"""A run of the tests that the user ends."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys

import pytest

SUITE = """
import pathlib
import sys

import pytest


@pytest.fixture
def started():
    yield
    pathlib.Path("put-away").touch()


def test_waits(started):
    sys.__stdout__.write("waits\\n")
    sys.__stdout__.flush()
    sys.__stdin__.readline()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_run_stops_what_it_started(number, tmp_path):
    """A cancelled job leaves no cluster and no Tacker behind."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    here = pathlib.Path(__file__).parents[2]
    asked = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-s"]
    process = subprocess.Popen(
        [*asked, "-p", "no:cacheprovider", f"--rootdir={tmp_path}", "."],
        cwd=tmp_path,
        env={"PYTHONPATH": str(here)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert any("waits" in line for line in process.stdout)

    process.send_signal(number)
    process.communicate(timeout=60)

    assert pytest.ExitCode.INTERRUPTED == process.returncode
    assert (tmp_path / "put-away").exists()
