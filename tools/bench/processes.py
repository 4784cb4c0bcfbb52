"""What a process of its own occupies: memory, sockets, threads; on Linux."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import os
import pathlib
import threading

_SELF = pathlib.Path("/proc/self")
_EVERY = 0.05
"""Seconds between two looks."""


def peak_memory() -> float:
    """MiB that this process occupied at most.

    ``getrusage`` may report the value of the parent process.
    """
    return _number("VmHWM") / 1024


@dataclasses.dataclass
class PeakUsage:
    """The highest numbers that were seen."""

    sockets: int = 0
    threads: int = 0

    def update(self) -> None:
        self.sockets = max(self.sockets, _sockets())
        self.threads = max(self.threads, _number("Threads"))


@contextlib.contextmanager
def measure_usage() -> Iterator[PeakUsage]:
    """Poll on an additional thread, which is not counted."""
    most = PeakUsage()
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_EVERY):
            most.update()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()
        most.threads -= 1


def _number(name: str) -> int:
    for line in (_SELF / "status").read_text().splitlines():
        key, _, rest = line.partition(":")
        if key == name:
            return int(rest.split()[0])
    raise LookupError(name)


def _sockets() -> int:
    found = 0
    for name in os.listdir(_SELF / "fd"):
        with contextlib.suppress(OSError):
            found += os.readlink(_SELF / "fd" / name).startswith("socket:")
    return found
