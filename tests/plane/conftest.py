"""What the tests of the plane itself need."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import ctypes
import os
import pathlib
import sys

import pytest

from tools.plane import host_cleanup
from tools.plane import processes
from tools.plane.components import ports as ports_of
from tools.plane.lifecycle import Plane
from tools.plane.ports import find_holders
from tools.plane.processes import Identity
from tools.plane.processes import Records

_CLONE_NEWNET = 0x40000000


@pytest.fixture
def records(tmp_path: pathlib.Path) -> Records:
    return Records(tmp_path)


@pytest.fixture
def start_program(
    records: Records, tmp_path: pathlib.Path
) -> Iterator[Callable[[str], Identity]]:
    """Starts a Python program in place of a component."""

    def started(program: str) -> Identity:
        command = [sys.executable, "-c", program]
        log = tmp_path / "stand-in.log"
        environ = {"PATH": os.environ["PATH"]}
        return processes.start(records, "stand-in", command, environ, log)

    yield started
    if identity := records["stand-in"]:
        processes.stop(identity, patience=0)


@pytest.fixture
def own_ports(
    skip_or_fail: Callable[[str, str], None], tmp_path: pathlib.Path
) -> Iterator[Plane]:
    """A plane in a folder of its own, whose ports are free.

    Root can have that beside a plane that runs: in a network namespace.
    """
    plane = Plane.from_environ(
        {**os.environ, "PLANE_RUN": str(tmp_path / "run")}
    )
    with _network():
        taken = find_holders(ports_of(plane.table.values()))
        if taken:
            skip_or_fail(
                "cycle", f"the plane's ports are not free: {taken[0]}"
            )
        yield plane
        if plane.folders.run.exists():
            plane.down()


class _network:  # noqa: N801  reads as what it is
    """A network namespace for this thread and what it starts."""

    def __enter__(self) -> None:
        self.before = -1
        if os.getuid() == 0:
            self.libc = ctypes.CDLL(None, use_errno=True)
            self.before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
            if self.libc.unshare(_CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "unshare")
            host_cleanup.run("ip", "link", "set", "lo", "up")

    def __exit__(self, *_error: object) -> None:
        if self.before >= 0:
            if self.libc.setns(self.before, 0):
                raise OSError(ctypes.get_errno(), "setns")
            os.close(self.before)
