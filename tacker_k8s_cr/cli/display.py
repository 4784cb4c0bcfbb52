"""How progress is shown: by who looks at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from tacker_k8s_cr.cli.plain_progress import NullProgress
from tacker_k8s_cr.cli.plain_progress import PlainProgress
from tacker_k8s_cr.model.deadline import Deadline


def on_terminal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether the stream can be drawn on, and not only written to."""
    return stream.isatty() and environ.get("TERM", "dumb") != "dumb"


def progress(
    heading: str,
    deadline: Deadline,
    stream: TextIO,
    environ: Mapping[str, str],
    verbosity: int = 1,
) -> NullProgress:
    """A listener for the progress of an operation.

    :param verbosity: 0 for none; from 2 on the log says it all, and would
        be drawn over.
    """
    if verbosity != 1:
        return NullProgress(deadline)
    if not on_terminal(stream, environ):
        return PlainProgress(deadline, stream)
    # It takes a while to import, and is used for people only.
    from tacker_k8s_cr.cli.rich_progress import RichProgress

    return RichProgress(deadline, stream, heading)
