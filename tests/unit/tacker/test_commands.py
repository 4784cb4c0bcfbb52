"""Commands that must succeed."""

from __future__ import annotations

import sys

import pytest

from tools.tacker import commands
from tools.tacker.errors import TackerError

FAILS = (
    "import os, sys;"
    "print('x' * 5000, os.environ.get('PLACE', 'nowhere'), flush=True);"
    "sys.exit('the cause')"
)


def test_the_error_has_the_command_and_the_end_of_its_output():
    """The cause is in the last lines; the first would hide it."""
    with pytest.raises(TackerError) as caught:
        commands.run([sys.executable, "-c", FAILS, "argument"])

    first, _, output = str(caught.value).partition(" failed:\n")
    assert f"{sys.executable} -c {FAILS} argument" == first
    assert output.endswith("the cause\n")
    assert 3000 == len(output)


def test_arguments_that_are_secret_are_not_in_the_error():
    """The error has the given words instead of the command."""
    command = [sys.executable, "-c", FAILS, "--password=planted"]

    with pytest.raises(TackerError, match=r"^the program failed:") as caught:
        commands.run(command, "the program", {"PLACE": "here"})

    assert "planted" not in str(caught.value)
    assert "here" in str(caught.value)


def test_a_command_that_succeeds_is_silent(capfd):
    """Its output is read, and shown in an error only."""
    commands.run([sys.executable, "-c", "print('done')"])

    assert ("", "") == capfd.readouterr()
