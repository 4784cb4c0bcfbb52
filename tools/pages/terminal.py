"""A terminal in memory: runs a command, and keeps what its screen shows."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import errno
import fcntl
import os
import pathlib
import pty
import struct
import subprocess
import termios

import pyte

COLUMNS = 90
"""The width that programs lay their tables out for."""

WIDTH = 400
LINES = 400
"""The size of the screen: no line of output is broken or scrolls away."""


@dataclasses.dataclass(frozen=True)
class TerminalOutput:
    """What a command left on the screen, and its exit code."""

    screen: pyte.Screen
    code: int

    @property
    def lines(self) -> list[str]:
        """The text, without the empty lines at the end."""
        lines = [line.rstrip() for line in self.screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines


def run(
    command: str,
    environ: Mapping[str, str],
    folder: pathlib.Path,
) -> TerminalOutput:
    """Run a command of a shell until it ends."""
    screen = pyte.Screen(WIDTH, LINES)
    stream = pyte.ByteStream(screen)
    ours, theirs = pty.openpty()
    size = struct.pack("HHHH", LINES, WIDTH, 0, 0)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
    process = subprocess.Popen(
        ["bash", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={
            **environ,
            "TERM": "xterm-256color",
            "COLUMNS": str(COLUMNS),
        },
    )
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as output:
        while chunk := _read(output.fileno()):
            stream.feed(chunk)
    return TerminalOutput(screen, process.wait())


def _read(descriptor: int) -> bytes:
    """Return what came; nothing when the other end was closed."""
    try:
        return os.read(descriptor, 65536)
    except OSError as error:
        if error.errno == errno.EIO:
            return b""
        raise
