"""Only the full name of a command or option runs anything."""

from __future__ import annotations

import argparse
import sys

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.cli import commands
from tacker_k8s_cr.cli import shell
from tacker_k8s_cr.model import errors
from tests.unit.cli.run_program import run


def unreachable(*args: object, **kwargs: object):
    raise errors.Unreachable("https://127.0.0.1:1", "refused")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("t", "terminate"),
        ("term", "terminate"),
        ("terminat", "terminate"),
        ("terminte", "terminate"),
        ("statsu", "status"),
        ("instanciate", "instantiate"),
        ("ch", "change or check"),
    ],
)
def test_an_abbreviated_or_misspelled_command_is_refused(word, meant):
    """Nothing runs, the nearest command is suggested, and the code is 2."""
    for argv in ([word, "a"], ["help", word], [word, "--help"]):
        assert (
            2,
            "",
            f"{word!r} is not a command; did you mean {meant}?\n",
        ) == run(*argv, connect=unreachable)


@pytest.mark.parametrize("argv", [["nonsense"], ["help", "nonsense"]])
def test_a_word_near_to_no_command_gets_the_list(argv):
    """An unknown help topic is the same usage error as such a command."""
    code, out, err = run(*argv)

    assert (2, "") == (code, out)
    assert "'nonsense' is not a command; the commands are adopt, " in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "argv",
    [
        ["status", "a", "--kubec", "file"],
        ["status", "a", "--time", "5m"],
        ["status", "a", "--colum", "Name"],
        ["terminate", "a", "--forc"],
        ["check", "--no-data"],
        ["status", "a", "--debu"],
        ["--verb", "status", "a"],
        ["--log", "file", "status", "a"],
    ],
)
def test_an_abbreviated_option_is_refused(argv, capsys):
    """Options of the program, of a command and of cliff alike."""
    code, out, err = run(*argv, connect=unreachable)
    err += capsys.readouterr().err  # where argparse writes

    assert (2, "") == (code, out)
    assert "unrecognized arguments" in err or "unknown option" in err


def test_an_abbreviated_option_of_a_plugin_is_refused():
    """Commands that other distributions bring are parsed in the same way."""

    class Other:
        def __init__(self, app, app_args):
            """As cliff makes one."""

        def get_parser(self, name):
            parser = argparse.ArgumentParser(name)
            parser.add_argument("--whole")
            return parser

        def run(self, parsed):
            return 0

    def code(*argv):
        program = shell.Shell(stdout=sys.stdout, stderr=sys.stderr)
        program.command_manager.add_command("other", Other)
        try:
            return program.run(["other", *argv])
        except SystemExit as ended:
            return ended.code

    assert [0, 2] == [code("--whole", "x"), code("--who", "x")]


@given(st.text(min_size=1))
def test_every_word_gets_a_sentence(word):
    """Whatever is written, the sentence names it and what to do."""
    said = commands.describe_unknown(word, ["heal", "status"])

    assert any(part in said for part in ("did you mean", "--help", "heal"))
