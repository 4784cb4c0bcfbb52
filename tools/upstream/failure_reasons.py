"""Why a test failed, in one line."""

from __future__ import annotations

import re

from tools.upstream.columns import COMPATIBILITY
from tools.upstream.results import FAILED
from tools.upstream.results import Operation
from tools.upstream.results import Result

_TRACEBACK = "Traceback (most recent call last):"
_STATES = re.compile(r"\b(FAILED_TEMP|FAILED|ROLLED_BACK)\b|did not end")
"""What a test reports that waits for an operation; the harness ends others."""

_BEFORE = r"(?:\boptions? [`'\"]*|\[tacker_k8s_cr\] |\btacker_k8s_cr\.)"
_FRAME = re.compile(r'  File "([^"]+)", line (\d+), in \S+\n    (.*)')


def reason(result: Result) -> str:
    """The first line of the failed operation's error, or of the test's."""
    if result.outcome != FAILED:
        return first_line(result.error)
    raised = message(result.error)
    failed = result.failed_operations
    if failed and _STATES.search(raised):
        return describe(failed[-1])
    where = line(result.error, result.test)
    return f"{first_line(raised)} ({where})" if where else first_line(raised)


def describe(operation: Operation) -> str:
    """What an operation failed with."""
    return f"{operation.operation}: {first_line(operation.error)}"


def first_line(text: str) -> str:
    """The first line, and what follows a colon at its end."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].endswith(":"):
        return f"{lines[0]} {lines[1]}"
    return lines[0] if lines else ""


def message(error: str) -> str:
    """What was raised, without the traceback that testtools puts before it."""
    _, found, trace = error.rpartition(_TRACEBACK)
    if not found:
        return error
    lines = trace.splitlines()
    # Frames are indented; the exception begins at the margin.
    for number, text in enumerate(lines):
        if text and not text.startswith(" "):
            return "\n".join(lines[number:])
    return error


def line(error: str, test: str) -> str:
    """The last line of the test itself in a traceback, with its place."""
    path = test.partition("::")[0]
    own = [one for one in _FRAME.findall(error) if one[0].endswith(path)]
    if not own:
        return ""
    file, number, text = own[-1]
    return f"{file.rpartition('/')[2]}:{number}: {text.strip()}"


def named_options(result: Result) -> tuple[str, ...]:
    """The compatibility options that the errors of a test name.

    As an option: some are words of any sentence.
    """
    texts = [result.error, *(one.error for one in result.operations)]
    names = [option.name.partition(".")[2] for option in COMPATIBILITY]
    return tuple(
        name
        for name in names
        if any(
            re.search(rf"{_BEFORE}{name}\b|\b{name} ?=", text)
            for text in texts
        )
    )
