"""Why a test failed, in one line."""

from __future__ import annotations

import re

from tools.upstream.columns import COMPATIBILITY
from tools.upstream.results import FAILED
from tools.upstream.results import Operation
from tools.upstream.results import Result

_STATES = re.compile(r"\b(FAILED_TEMP|FAILED|ROLLED_BACK)\b")


def reason(result: Result) -> str:
    """The first line of the failed operation's error, or of the test's."""
    if result.outcome != FAILED:
        return first_line(result.error)
    failed = result.failed_operations
    if failed and _STATES.search(result.error):
        return said(failed[-1])
    where = f" ({result.line})" if result.line else ""
    return f"{first_line(result.error)}{where}"


def said(operation: Operation) -> str:
    """What an operation failed with."""
    return f"{operation.operation}: {first_line(operation.error)}"


def first_line(text: str) -> str:
    """The first line, and what follows a colon at its end."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].endswith(":"):
        return f"{lines[0]} {lines[1]}"
    return lines[0] if lines else ""


def named_options(result: Result) -> tuple[str, ...]:
    """The compatibility options that the errors of a test name."""
    texts = [result.error, *(one.error for one in result.operations)]
    names = [option.name.partition(".")[2] for option in COMPATIBILITY]
    return tuple(
        name
        for name in names
        if any(re.search(rf"\b{name}\b", text) for text in texts)
    )
