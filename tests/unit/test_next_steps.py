"""Each error that a user can meet names what to do next.

The error itself does, or each front end does: the command line, and the
driver for both of Tacker's APIs.
"""

from __future__ import annotations

import argparse
import inspect
import re

import pytest

from tacker_k8s_cr.cli import advice as command_advice
from tacker_k8s_cr.cli import exit_codes
from tacker_k8s_cr.driver import advice as driver_advice
from tacker_k8s_cr.driver import error_text
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import option_table
from tacker_k8s_cr.model.objects import ObjectRef
from tests.fakes.errors import ONE_OF_EACH
from tests.fakes.errors import ROOTS
from tests.fakes.errors import VARIANTS
from tests.fakes.errors import WEB

ALL = [*ONE_OF_EACH, *VARIANTS]
ARGUMENTS = argparse.Namespace(
    **{
        option.dest: None
        for command in ("instantiate", "change", "scale", "terminate")
        for option in option_table.command_options(command)
    }
)


def name(error: errors.Error) -> str:
    return type(error).__name__


def test_there_is_one_of_each_class() -> None:
    """A new class of errors needs an instance here, and a next step."""
    classes = {
        cls
        for cls in map(errors.__dict__.get, errors.__all__)
        if inspect.isclass(cls) and issubclass(cls, errors.Error)
    }

    assert classes - set(ROOTS) == set(map(type, ONE_OF_EACH))
    assert len(ONE_OF_EACH) == len(set(map(type, ONE_OF_EACH)))


@pytest.mark.parametrize("error", ALL, ids=name)
def test_the_command_line_names_a_next_step(error: errors.Error) -> None:
    """After what failed and what was written, as the last lines."""
    shown = exit_codes.of_error(
        error, advice=command_advice.advice(error, ARGUMENTS)
    ).message

    assert shown.startswith(error.outcome())
    assert_is_step(shown.removeprefix(error.outcome()))


@pytest.mark.parametrize("error", ALL, ids=name)
def test_the_driver_names_a_next_step(error: errors.Error) -> None:
    """Both of Tacker's APIs return this text."""
    shown = error_text.format_error(error)

    assert shown.startswith(error.outcome())
    assert_is_step(shown.removeprefix(error.outcome()))


@pytest.mark.parametrize("error", ALL, ids=name)
def test_the_error_names_no_option_of_a_front_end(
    error: errors.Error,
) -> None:
    """A library has neither options nor tacker.conf."""
    step = error.next_step()

    assert not re.search(r"--[a-z]|tacker\.conf|additionalParams", step)


@pytest.mark.parametrize("error", ALL, ids=name)
def test_a_next_step_is_not_repeated(error: errors.Error) -> None:
    """The front end adds to it; it does not replace it."""
    step = error.next_step()

    for advice in (
        command_advice.advice(error, ARGUMENTS),
        driver_advice.advice(error),
    ):
        lines = [*step.splitlines(), *advice.splitlines()]
        assert len(set(lines)) == len(lines)


def assert_is_step(text: str) -> None:
    lines = text.strip().splitlines()
    assert lines
    for line in lines:
        assert line[0].isupper()
        assert len(line.split()) > 3


@pytest.mark.parametrize("error", [errors.RequestInvalid("no")], ids=name)
@pytest.mark.parametrize(
    ("begun", "written", "undone", "line"),
    [
        (False, (), 0, "No object was written or deleted."),
        (True, (), 0, "Objects may have been changed or deleted"),
        (True, (WEB,), 0, "Written before that, and still there: 1 object"),
        (False, (), 2, "Created before that, and deleted again: 2 object(s)"),
    ],
)
def test_an_error_of_an_operation_states_what_was_written(
    error: errors.Error,
    begun: bool,
    written: tuple[ObjectRef, ...],
    undone: int,
    line: str,
) -> None:
    """Exactly one line: nothing, these objects, or what is uncertain."""
    error.in_operation = True
    error.has_written, error.written, error.undone = begun, written, undone

    first, second = error.outcome().splitlines()

    assert "no" == first
    assert second.startswith(line)


def test_an_error_outside_an_operation_states_nothing() -> None:
    """A status writes nothing, and need not state it."""
    assert "no" == errors.RequestInvalid("no").outcome()
