"""Commands that must succeed, with their output in the error otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import subprocess

from tools.tacker.errors import TackerError

_SHOWN = 3000
"""Characters of the output in an error; the cause is at its end."""


def run(
    command: Sequence[str],
    what: str = "",
    environ: Mapping[str, str] | None = None,
) -> None:
    """Run a command. Raises TackerError.

    :param what: what failed, for the error [the command with its arguments];
        to be given when an argument is a secret.
    :param environ: its environment [that of this process].
    """
    done = subprocess.run(
        command,
        env=environ,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        raise TackerError(
            f"{what or ' '.join(command)} failed:\n{done.stdout[-_SHOWN:]}"
        )
