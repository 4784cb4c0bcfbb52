"""The one process that runs suites in the background."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from typing import TextIO

from tools.suites.suite_run import SuiteFolders


class SuitesRunning(Exception):
    """Another process runs suites."""


def lock(folders: SuiteFolders, seconds: float = 0) -> TextIO:
    """Hold this for as long as suites run.

    The kernel lets go of it when the process ends, however it ends.

    :param seconds: how long to wait for one who only looks.
    :raises Busy: another process holds it.
    """
    folders.folder.mkdir(parents=True, exist_ok=True)
    stream = (folders.folder / "lock").open("a+", encoding="ascii")
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                stream.close()
                raise SuitesRunning from None
            time.sleep(0.1)
        else:
            stream.truncate(0)
            stream.write(str(os.getpid()))
            stream.flush()
            return stream


def find_process(folders: SuiteFolders) -> int | None:
    """The id of the process that runs suites; None if none does."""
    try:
        lock(folders).close()
    except SuitesRunning:
        return int((folders.folder / "lock").read_text(encoding="ascii"))
    return None


def start(folders: SuiteFolders, names: list[str]) -> int:
    """Start a process that goes on when the terminal is closed; its id."""
    folders.folder.mkdir(parents=True, exist_ok=True)
    with (folders.folder / "suites.log").open("ab") as log:
        started = subprocess.Popen(
            [sys.executable, "-m", "tools.suites", "run", *names],
            cwd=folders.project,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return started.pid


def stop(folders: SuiteFolders) -> bool:
    """End it and the suite that it runs; whether there was one.

    :raises Busy: it runs in the foreground, where Ctrl-C ends it.
    """
    found = find_process(folders)
    if found and os.getpgid(found) != found:
        raise SuitesRunning
    if found:
        os.killpg(found, signal.SIGINT)
    return bool(found)
