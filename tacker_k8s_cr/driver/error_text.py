"""Format errors for Tacker's user and for the log.

An error of another class is an internal error. Its text may contain a
credential, or a database statement with values, and is not shown: its type and
place are.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import functools
import logging
import os
import traceback
from typing import ParamSpec, TypeVar

from tacker_k8s_cr.driver import advice
from tacker_k8s_cr.model import errors

P = ParamSpec("P")
R = TypeVar("R")

LONGEST = 4000
"""Characters of a text that Tacker gets: it becomes part of a record in the
database, which notifications and responses repeat."""


_REST = "\n... (the rest is in the conductor's log)"


def mark_errors(operation: Callable[P, R]) -> Callable[P, R]:
    """Decorate an operation: its errors state what it has written."""

    @functools.wraps(operation)
    def marked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return operation(*args, **kwargs)
        except errors.Error as error:
            error.in_operation = True
            raise

    return marked


def truncate(text: str) -> str:
    """Return the text, cut to what the database may store."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}{_REST}"


def format_error(error: errors.Error) -> str:
    """Return the error, shortened, and what to do next in full."""
    text = truncate(error.outcome())
    if not text.endswith(_REST) and error.full() != str(error):
        text += _REST
    parts = (text, error.next_step(), advice.advice(error))
    return "\n".join(filter(None, parts))


def error_location(error: BaseException) -> str:
    """Return the type of an error, and the innermost place."""
    places = traceback.extract_tb(error.__traceback__)
    if not places:
        return type(error).__name__
    last = places[-1]
    file = os.path.basename(last.filename)
    return (
        f"{type(error).__name__} in {last.name}, line {last.lineno} of {file}"
    )


def trace(error: BaseException) -> str:
    """Return the traceback of an error, without its text."""
    return "".join(traceback.format_tb(error.__traceback__)).rstrip()


@contextlib.contextmanager
def translate_errors(
    log: logging.Logger,
    operation: str,
    convert: Callable[[errors.Error], Exception],
    tacker_errors: type[Exception],
    internal_error: Callable[[str], Exception],
) -> Iterator[None]:
    """Raise an error of Tacker instead of any other.

    :param convert: converts an error of this project, which is logged in full.
    :param tacker_errors: those that Tacker's own code raised; they stay.
    :param internal_error: makes one of the type of any other.
    """
    try:
        yield
    except errors.Error as error:
        hint = advice.advice(error)
        text = error.full()
        log.error("%s failed: %s%s", operation, text, hint and f"\n{hint}")
        log.debug("%s failed", operation, exc_info=True)
        raise convert(error) from error
    except tacker_errors:
        raise
    except Exception as error:  # noqa: BLE001  it may be anything
        log.error(
            "%s failed: fault of the program: %s\n%s",
            operation,
            error_location(error),
            trace(error),
        )
        # None: Tacker logs what it is raised from, text and all.
        raise internal_error(type(error).__name__) from None
