"""Process groups: a service and whatever it forked."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
import pathlib
import signal
import time

from tools.plane.processes import Identity
from tools.plane.processes import parse_stat
from tools.tacker.errors import TackerError

PAUSE = 0.05


def members(leader: Identity) -> tuple[int, ...]:
    """The processes of the group that this one was started to lead.

    While a group has members the kernel gives its number to no other process;
    so a process with that number that is not the leader means that the whole
    group has ended.
    """
    found = Identity.of(leader.pid)
    if found is not None and found != leader:
        return ()
    return tuple(_of_group(leader.pid))


def _of_group(group: int) -> Iterator[int]:
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            stat = (path / "stat").read_text()
            state, _begun = parse_stat(stat)
            fields = stat[stat.rindex(")") + 1 :].split()
            if int(fields[2]) == group and state not in "ZX":
                yield int(path.name)


def send(leader: Identity, number: signal.Signals) -> bool:
    """Send a signal to all of a group; return whether it had members."""
    if not members(leader):
        return False
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader.pid, number)
    return True


def end(leader: Identity, patience: float) -> None:
    """Ask a group to end, unless patience is 0; then end it."""
    if (
        patience
        and send(leader, signal.SIGTERM)
        and _is_ended(leader, patience)
    ):
        return
    # A stopped process takes no other signal than this one.
    if send(leader, signal.SIGKILL) and not _is_ended(leader, 10.0):
        raise TackerError(f"process group {leader.pid} does not end")


def _is_ended(leader: Identity, seconds: float) -> bool:
    limit = time.monotonic() + seconds
    while True:
        _reap(leader.pid)
        if not members(leader):
            return True
        if time.monotonic() > limit:
            return False
        time.sleep(PAUSE)


def _reap(pid: int) -> None:
    """Reap the process, if it was a child of this process."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def memory(leader: Identity) -> int:
    """Bytes of memory that a group uses; what is shared counts once."""
    total = 0
    for pid in members(leader):
        with contextlib.suppress(OSError):
            text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            for line in text.splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    return total
