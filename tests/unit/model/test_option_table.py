"""One table of options, and the four places that are generated from it."""

from __future__ import annotations

import argparse
import collections
from collections.abc import Iterator
import json
import pathlib
from typing import Any

import pytest

from tacker_k8s_cr.cli import arguments
from tacker_k8s_cr.cli import shell
from tacker_k8s_cr.driver import options
from tacker_k8s_cr.driver import schema
from tacker_k8s_cr.model import option_table
from tacker_k8s_cr.model.option_table import option
from tools import schemas

PAGE = pathlib.Path(__file__).parents[3] / "doc/source/reference/options.rst"


def keys(properties: dict[str, Any], above: str = "") -> Iterator[str]:
    """The names of all parameters below a mapping."""
    for name, found in properties.items():
        yield f"{above}{name}"
        below = found.get("properties")
        if below and found["title"] == "a mapping":
            yield from keys(below, f"{above}{name}.")


def flags(command: str) -> dict[str, argparse.Action]:
    """The options of a command, from the table."""
    parser = argparse.ArgumentParser(add_help=False)
    arguments.add_options(parser, command)
    return {a.option_strings[-1]: a for a in parser._actions}


def test_the_configuration_has_the_rows_that_name_it_and_no_other():
    """By their names, values and defaults."""
    rows = {row.conf_name: row for row in option_table.conf_options()}

    assert [*rows] == [opt.name for opt in options.OPTIONS]
    for opt in options.OPTIONS:
        row = rows[opt.name]
        assert row.default == opt.default, opt.name
        assert opt.help.lower().startswith(row.help.lower())
        if row.type is option.Type.CHOICE:
            assert [*row.values] == [*opt.type.choices]


def test_a_request_has_the_rows_that_name_it_and_no_other():
    """By their names, values and operations."""
    found = schema.load()["properties"]
    ours = found["tacker_k8s_cr"]
    roots = [name for name in found if name != "tacker_k8s_cr"]
    rows = option_table.request_options()

    assert sorted(roots) == sorted(row.name for row in rows if row.root)
    assert sorted(keys(ours["properties"])) == sorted(
        row.name for row in rows if not row.root
    )
    for row in rows:
        about = found[row.name] if row.root else _at(ours, row.name)
        assert [*row.request] == about["x-operations"]
        if row.type is option.Type.CHOICE:
            assert [*row.values] == about["enum"]


def _at(about: dict[str, Any], name: str) -> dict[str, Any]:
    for step in name.split("."):
        about = about["properties"][step]
    return about


def test_the_schema_of_requests_agrees_with_the_table():
    """``make schemas`` writes it."""
    expected = schemas.written(schemas.request_schema.schema())

    assert expected == schemas.REQUEST.read_text("utf-8")
    assert json.loads(expected) == schema.load()


@pytest.mark.parametrize("command", option.COMMANDS)
def test_a_command_has_the_rows_that_name_it(command):
    """The name is that of the table, with hyphens."""
    rows = option_table.command_options(command)

    assert {row.command_flag: row.dest for row in rows} == {
        flag: action.dest for flag, action in flags(command).items()
    }
    for row in rows:
        if row.type is option.Type.CHOICE:
            found = flags(command)[row.command_flag]
            assert [*row.values] == [*found.choices]
        if not row.flag:
            assert row.key.replace("_", "-") in row.command_flag


@pytest.mark.parametrize("command", option.COMMANDS)
def test_a_command_has_no_other_options(command):
    """Except for help and what formats the output."""
    program = shell.Shell()
    found, _, _ = program.command_manager.find_command([command])
    parser = found(program, None, command).get_parser(command)
    formats = {
        flag
        for group in parser._action_groups
        if "formatter" in (group.title or "").lower()
        for action in group._group_actions
        for flag in action.option_strings
    }
    own = {
        flag
        for action in parser._actions
        for flag in action.option_strings
        if flag.startswith("--") and flag not in formats
    }

    assert {"--help", *flags(command)} == own


def test_nothing_is_in_a_place_twice():
    """A name stands for one option, wherever it is set."""
    for names in (
        [row.conf_name for row in option_table.conf_options()],
        [row.name for row in option_table.request_options()],
        *(
            [row.command_flag for row in option_table.command_options(command)]
            for command in option.COMMANDS
        ),
    ):
        assert [] == [
            n for n, k in collections.Counter(names).items() if k > 1
        ]


def test_every_row_has_a_place():
    """Otherwise it could not be set."""
    assert [] == [
        row.name
        for row in option_table.ROWS
        if not (row.conf or row.request or row.commands)
    ]


def test_the_page_is_generated_from_the_table():
    """A directive writes the rows, so that the page cannot differ."""
    assert ".. option-table::" in PAGE.read_text("utf-8")
