"""Processes that outlive who started them: start, find again, end."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
import os
import pathlib
import select
import signal
import time

from tools.plane import signals
from tools.plane.errors import PlaneError
from tools.plane.folders import write_private

PATIENCE = 10.0
"""Seconds between asking a process to end and ending it."""


@dataclasses.dataclass(frozen=True)
class Identity:
    """A process, told apart from a later one with the same id.

    :param begun: when it started, in clock ticks since the machine did.
    :param boot: the machine's current run.
    """

    pid: int
    begun: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> Identity | None:
        """None when there is no such process, or only its exit status."""
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return None
        state, begun = parse_stat(stat)
        return None if state in "ZX" else cls(pid, begun, _boot())

    @property
    def is_alive(self) -> bool:
        return Identity.of(self.pid) == self

    @property
    def is_paused(self) -> bool:
        """Whether it was stopped by a signal and not continued since."""
        try:
            stat = pathlib.Path(f"/proc/{self.pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return self.is_alive and parse_stat(stat)[0] == "T"


def parse_stat(stat: str) -> tuple[str, int]:
    """State and start time in a /proc/<pid>/stat."""
    # The second field is the name in brackets; it may hold either bracket
    # and blanks, so what follows is counted from the last one.
    fields = stat[stat.rindex(")") + 1 :].split()
    return fields[0], int(fields[19])


def _boot() -> str:
    path = pathlib.Path("/proc/sys/kernel/random/boot_id")
    return path.read_text().strip()


@dataclasses.dataclass(frozen=True)
class Records:
    """Which processes run for the plane, as files in a folder."""

    folder: pathlib.Path

    def names(self) -> tuple[str, ...]:
        if not self.folder.is_dir():
            return ()
        return tuple(sorted(path.stem for path in self.folder.glob("*.json")))

    def __getitem__(self, name: str) -> Identity | None:
        """The process of that name; None when none was started."""
        try:
            return Identity(**json.loads(self._path(name).read_text()))
        except FileNotFoundError:
            return None

    def is_alive(self, name: str) -> bool:
        identity = self[name]
        return identity is not None and identity.is_alive

    def write(self, name: str, identity: Identity) -> None:
        content = json.dumps(dataclasses.asdict(identity))
        write_private(self._path(name), content.encode())

    def remove(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> pathlib.Path:
        return self.folder / f"{name}.json"


def start(
    records: Records,
    name: str,
    command: Sequence[str],
    environ: Mapping[str, str],
    log: pathlib.Path,
) -> Identity:
    """Start a process in a session of its own and record it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    output = os.open(log, flags, 0o600)
    try:
        # A ctrl-C between the start and the record would leave an unrecorded
        # process.
        with signals.defer():
            pid = os.posix_spawn(
                command[0],
                list(command),
                dict(environ),
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, output, 1),
                    (os.POSIX_SPAWN_DUP2, output, 2),
                ],
                setsid=True,
                # Python ignores these, and what is ignored stays so.
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
            )
            # Until it is reaped no other process has its id, so /proc
            # describes this process, even if it has ended by now.
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
            identity = Identity(pid, parse_stat(stat)[1], _boot())
            records.write(name, identity)
    finally:
        os.close(output)
    return identity


def stop(identity: Identity, patience: float = PATIENCE) -> None:
    """Ask a process to end, then end it; one with a recycled id is left."""
    # A process that is paused takes the request when it is resumed.
    if not _send(identity, (signal.SIGTERM, signal.SIGCONT), patience):
        kill(identity)


def kill(identity: Identity) -> None:
    """End a process at once; it has ended when this returns."""
    if not _send(identity, (signal.SIGKILL,), PATIENCE):
        raise PlaneError(f"process {identity.pid} does not end")


def pause(identity: Identity) -> None:
    """Stop a process where it is, until it is resumed."""
    _send(identity, (signal.SIGSTOP,), 0)


def resume(identity: Identity) -> None:
    """Continue a paused process."""
    _send(identity, (signal.SIGCONT,), 0)


def _send(identity: Identity, numbers: Sequence[int], patience: float) -> bool:
    """Send signals to a process; return whether it has ended in time."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return True
    try:
        # The descriptor stands for one process, whatever becomes of its id;
        # if the start time is right now, it is right for the descriptor.
        if not identity.is_alive:
            return True
        for number in numbers:
            signal.pidfd_send_signal(descriptor, number)
        return _wait_ended(descriptor, patience)
    except ProcessLookupError:
        return True
    finally:
        os.close(descriptor)
        _reap(identity.pid)


def _wait_ended(descriptor: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _reap(pid: int) -> None:
    """Reap the process, if it was a child of this process."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def wait_ready(
    name: str,
    identity: Identity,
    answers: Callable[[], bool],
    log: pathlib.Path,
    seconds: float,
) -> float:
    """Wait until a process answers; how long that took.

    Raises PlaneError with the last lines of the log when the process ends, or
    at the deadline.
    """
    begin = time.monotonic()
    while not answers():
        waited = time.monotonic() - begin
        if not identity.is_alive:
            _reap(identity.pid)
            raise PlaneError(f"{name} ended while starting\n{tail(log)}")
        if waited > seconds:
            raise PlaneError(
                f"{name} does not answer after {waited:.0f} s\n{tail(log)}"
            )
        time.sleep(0.05)
    return time.monotonic() - begin


def tail(log: pathlib.Path, lines: int = 20) -> str:
    """The end of a log, with its place, for an error text."""
    try:
        found = log.read_text(errors="replace").splitlines()[-lines:]
    except OSError:
        found = []
    shown = [f"  {line[:400]}" for line in found] or ["  (nothing)"]
    return "\n".join([f"the last lines of {log}:", *shown])
