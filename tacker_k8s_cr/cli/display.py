"""Select how progress is shown: on a terminal, as lines, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from tacker_k8s_cr.cli.plain_progress import NullProgress
from tacker_k8s_cr.cli.plain_progress import PlainProgress
from tacker_k8s_cr.model.deadline import Deadline


def is_on_terminal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether the stream is a terminal that moves its cursor."""
    return stream.isatty() and environ.get("TERM", "dumb") != "dumb"


def progress(
    heading: str,
    deadline: Deadline,
    stream: TextIO,
    environ: Mapping[str, str],
    verbosity: int = 1,
) -> NullProgress:
    """Return a listener for the progress of an operation.

    :param verbosity: 0 for none; from 2 on the log contains the progress,
        and a drawing would overwrite it.
    """
    if verbosity != 1:
        return NullProgress(deadline)
    if not is_on_terminal(stream, environ):
        return PlainProgress(deadline, stream)
    # Imported here: the import is slow, and only a terminal needs it.
    from tacker_k8s_cr.cli.rich_progress import RichProgress

    return RichProgress(deadline, stream, heading)
