"""What may be told of an error: to Tacker's user, and to the log.

An error that is not ours is a fault of the program. Its text may hold
anything, a credential or a statement of the database with its values, and
so is told to nobody: its type and its place are.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import logging
import os
import traceback

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import advice

LONGEST = 4000
"""Characters of a text that Tacker gets: it becomes part of a record in the
database, which notifications and answers repeat."""


_REST = "\n... (the rest is in the conductor's log)"


def bounded(text: str) -> str:
    """The text, cut to what the database may get."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}{_REST}"


def told(error: errors.Error) -> str:
    """Return the error, shortened, and the advice about it."""
    said = bounded(str(error))
    if not said.endswith(_REST) and error.full() != str(error):
        said += _REST
    return "\n".join(filter(None, (said, advice.advice(error))))


def where(error: BaseException) -> str:
    """The type of an error, and the innermost place it came from."""
    places = traceback.extract_tb(error.__traceback__)
    if not places:
        return type(error).__name__
    last = places[-1]
    file = os.path.basename(last.filename)
    return (
        f"{type(error).__name__} in {last.name}, line {last.lineno} of {file}"
    )


def trace(error: BaseException) -> str:
    """All the places that an error came by, without its text."""
    return "".join(traceback.format_tb(error.__traceback__)).rstrip()


@contextlib.contextmanager
def translated(
    log: logging.Logger,
    operation: str,
    ours: Callable[[errors.Error], Exception],
    tackers: type[Exception],
    fault: Callable[[str], Exception],
) -> Iterator[None]:
    """Raise an error of Tacker's in the place of any other.

    :param ours: makes one of an error of ours, which the log has in full.
    :param tackers: those that Tacker's own code raised; they stay.
    :param fault: makes one of the type of any other.
    """
    try:
        yield
    except errors.Error as error:
        hint = advice.advice(error)
        said = error.full()
        log.error("%s failed: %s%s", operation, said, hint and f"\n{hint}")
        log.debug("%s failed", operation, exc_info=True)
        raise ours(error) from error
    except tackers:
        raise
    except Exception as error:  # noqa: BLE001  it may be anything
        log.error(
            "%s failed: fault of the program: %s\n%s",
            operation,
            where(error),
            trace(error),
        )
        # None: Tacker logs what it is raised from, text and all.
        raise fault(type(error).__name__) from None
