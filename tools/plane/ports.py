"""Who listens on a port, read from /proc."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import os
import pathlib
import pwd
import re

from tools.plane.errors import PlaneError

_LISTEN = "0A"


@dataclasses.dataclass(frozen=True)
class Listener:
    """A socket that waits for connections, as /proc/net/tcp has it."""

    port: int
    uid: int
    inode: int


@dataclasses.dataclass(frozen=True)
class Holder:
    """A port that is taken, and by whom.

    :param process: name and id; empty when this user may not see it.
    """

    port: int
    process: str
    user: str

    def __str__(self) -> str:
        who = self.process or "a process that this user cannot see"
        return f"port {self.port} is held by {who}, of user {self.user}"


def check_free(wanted: Mapping[int, str]) -> None:
    """Refuse to start when ports are taken: all of them, and by whom."""
    holders = find_holders(frozenset(wanted))
    if holders:
        lines = [f"  {wanted[one.port]}: {one}" for one in holders]
        raise PlaneError(
            "the plane's ports are not free:\n" + "\n".join(lines)
        )


def find_holders(wanted: Collection[int]) -> tuple[Holder, ...]:
    """Those of the ports on which a process listens, whatever the address.

    The webhook servers bind all addresses, so any address is in their way.
    """
    found: dict[int, Listener] = {}
    for table in ("tcp", "tcp6"):
        path = pathlib.Path("/proc/net") / table
        if path.exists():
            for listener in read_listeners(path.read_text()):
                if listener.port in wanted:
                    found.setdefault(listener.port, listener)
    if not found:
        return ()
    names = _processes({listener.inode for listener in found.values()})
    return tuple(
        Holder(port, names.get(one.inode, ""), _user(one.uid))
        for port, one in sorted(found.items())
    )


def read_listeners(table: str) -> Iterator[Listener]:
    """The listening sockets of a /proc/net/tcp or /proc/net/tcp6."""
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _LISTEN:
            port = int(fields[1].rpartition(":")[2], 16)
            yield Listener(port, int(fields[7]), int(fields[9]))


def _processes(inodes: Collection[int]) -> dict[int, str]:
    """By inode of a socket, the process that has it open."""
    found: dict[int, str] = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        for inode in _sockets(path) & set(inodes):
            found[inode] = f"{_name(path)} (process {path.name})"
    return found


def _sockets(process: pathlib.Path) -> set[int]:
    """The inodes of a process's open sockets; none if we may not look."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in os.listdir(process / "fd"):
            # It may be closed by now, and others are still of interest.
            with contextlib.suppress(OSError):
                target = os.readlink(process / "fd" / entry)
                if match := re.fullmatch(r"socket:\[(\d+)\]", target):
                    found.add(int(match[1]))
    return found


def _name(process: pathlib.Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return "ended"


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
