"""How progress is shown: by who looks at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from tacker_k8s_cr.cli.lines import Lines
from tacker_k8s_cr.cli.lines import Silent
from tacker_k8s_cr.deadline import Deadline


def on_terminal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether the stream can be drawn on, and not only written to."""
    return stream.isatty() and environ.get("TERM", "dumb") != "dumb"


def progress(
    heading: str,
    deadline: Deadline,
    stream: TextIO,
    environ: Mapping[str, str],
    verbosity: int = 1,
) -> Silent:
    """A listener for the progress of an operation.

    :param verbosity: 0 for none; from 2 on the log says it all, and would
        be drawn over.
    """
    if verbosity != 1:
        return Silent(deadline)
    if not on_terminal(stream, environ):
        return Lines(deadline, stream)
    # It takes a while to import, and is used for people only.
    from tacker_k8s_cr.cli.live import Live

    return Live(deadline, stream, heading)
