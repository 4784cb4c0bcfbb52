"""The one process that runs suites in the background."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from typing import TextIO

from tools.suites.suite_run import Place


class Busy(Exception):
    """Another process runs suites."""


def lock(place: Place, seconds: float = 0) -> TextIO:
    """Hold this for as long as suites run.

    The kernel lets go of it when the process ends, however it ends.

    :param seconds: how long to wait for one who only looks.
    :raises Busy: another process holds it.
    """
    place.folder.mkdir(parents=True, exist_ok=True)
    stream = (place.folder / "lock").open("a+", encoding="ascii")
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                stream.close()
                raise Busy from None
            time.sleep(0.1)
        else:
            stream.truncate(0)
            stream.write(str(os.getpid()))
            stream.flush()
            return stream


def find_process(place: Place) -> int | None:
    """The id of the process that runs suites; None if none does."""
    try:
        lock(place).close()
    except Busy:
        return int((place.folder / "lock").read_text(encoding="ascii"))
    return None


def start(place: Place, names: list[str]) -> int:
    """Start a process that goes on when the terminal is closed; its id."""
    place.folder.mkdir(parents=True, exist_ok=True)
    with (place.folder / "suites.log").open("ab") as log:
        started = subprocess.Popen(
            [sys.executable, "-m", "tools.suites", "run", *names],
            cwd=place.project,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return started.pid


def stop(place: Place) -> bool:
    """End it and the suite that it runs; whether there was one.

    :raises Busy: it runs in the foreground, where Ctrl-C ends it.
    """
    found = find_process(place)
    if found and os.getpgid(found) != found:
        raise Busy
    if found:
        os.killpg(found, signal.SIGINT)
    return bool(found)
