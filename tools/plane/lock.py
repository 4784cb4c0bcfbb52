"""One command at a time works on a folder."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import fcntl
import os
import pathlib


@contextlib.contextmanager
def hold(
    path: pathlib.Path, print_line: Callable[[str], object]
) -> Iterator[None]:
    """Lock a file; wait, and report that, while another process holds it."""
    descriptor = _acquire(path, print_line)
    try:
        yield
    finally:
        os.close(descriptor)


def _acquire(path: pathlib.Path, print_line: Callable[[str], object]) -> int:
    while True:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        try:
            _wait(descriptor, path, print_line)
            # The previous holder may have removed the folder when done; a lock
            # on a file without a name excludes no other process.
            if _is_still(descriptor, path):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, str(os.getpid()).encode(), 0)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _wait(
    descriptor: int, path: pathlib.Path, print_line: Callable[[str], object]
) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 32, 0).decode() or "unknown"
        print_line(
            f"waiting for process {holder}, which works in {path.parent}"
        )
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _is_still(descriptor: int, path: pathlib.Path) -> bool:
    ours = os.fstat(descriptor)
    try:
        named = os.stat(path)
    except FileNotFoundError:
        return False
    return (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)
