"""Brings a Tacker on this machine up and down, whole or by service."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import time

from tools.plane import lock
from tools.plane import processes
from tools.plane import signals
from tools.plane.processes import Records
from tools.tacker import configuration
from tools.tacker import databases
from tools.tacker import environment
from tools.tacker import folders as places
from tools.tacker import packages
from tools.tacker import process_groups
from tools.tacker import services
from tools.tacker import state as states
from tools.tacker import wheel
from tools.tacker.errors import TackerError
from tools.tacker.folders import Folders
from tools.tacker.services import Service
from tools.tacker.state import Options
from tools.tacker.state import State

PrintLine = Callable[[str], object]

CONDUCTOR = "tacker-conductor"
SERVER = "tacker-server"
SECONDS = 240.0
"""For one service to answer, on a machine that does much else."""

_NOT_LOADED = re.compile(r"Could not load '?([\w-]+)'?")


@dataclasses.dataclass(frozen=True)
class Host:
    """One Tacker: its folder, with what runs in it."""

    folders: Folders
    cache: pathlib.Path
    print_line: PrintLine = print

    @classmethod
    def from_folder(
        cls, folder: str | pathlib.Path = "", print_line: PrintLine = print
    ) -> Host:
        """The host in a folder: the named, TACKER_RUN's, or the user's."""
        run = places.choose(os.environ, str(folder))
        return cls(Folders(run), places.cache(os.environ), print_line)

    @property
    def state(self) -> State:
        return states.read(self.folders.state)

    @property
    def url(self) -> str:
        """Where Tacker's REST API is."""
        return self.state.url

    @property
    def records(self) -> Records:
        return Records(self.folders.processes)

    @property
    def table(self) -> dict[str, Service]:
        return services.table(self.folders, self.state)

    # -- What runs ----------------------------------------------------------

    def is_alive(self, name: str) -> bool:
        return self.records.is_alive(name)

    def running(self) -> bool:
        """Whether every service that was started is there."""
        return self.folders.state.exists() and all(
            map(self.is_alive, self.table)
        )

    def log(self, name: str = CONDUCTOR, since: int = 0) -> str:
        """What a service wrote, from a place in its log on."""
        return services.is_logged(self.folders, name, since)

    def logged(self, name: str = CONDUCTOR) -> int:
        """How long the log of a service is now."""
        path = self.folders.log(name)
        return path.stat().st_size if path.exists() else 0

    def memory(self, name: str = CONDUCTOR) -> int:
        """Bytes of memory that a service and its children use."""
        leader = self.records[name]
        return process_groups.memory(leader) if leader else 0

    # -- The whole ----------------------------------------------------------

    def up(self, options: Options | None = None) -> bool:
        """Start what does not run; whether there was anything to start."""
        if self.running():
            return False
        chosen = options or Options()
        needed = {} if chosen.database else dict(packages.DATABASE)
        needed |= {} if chosen.transport else packages.QUEUE
        packages.ensure(needed.items(), self.print_line)
        published = environment.ensure_published(self.cache, self.print_line)
        self.folders.make()
        with self._locked():
            self.folders.make()
            if self.running():
                return False
            begin = time.monotonic()
            self._end(self.records.names(), 0)
            ports = states.free_ports()
            if self.folders.state.exists():
                ports = self.state.ports
            State(chosen, ports, str(published)).write(self.folders.state)
            with self._undone(self.table):
                self._up()
            self.print_line(
                f"Tacker is up after {time.monotonic() - begin:.0f} s "
                f"at {self.url}"
            )
        return True

    def reload(self, options: Options | None = None) -> None:
        """Tacker's services again, with the tree and options as they are."""
        with self._locked():
            if options is not None:
                dataclasses.replace(self.state, options=options).write(
                    self.folders.state
                )
            self._end([SERVER, CONDUCTOR])
            self._install()
            configuration.write(self.folders, self.state)
            self._begin([CONDUCTOR, SERVER])

    def down(self, *, keep: bool = False) -> bool:
        """End all of it; remove the folder unless it is to be kept."""
        if not self.folders.run.exists():
            return False
        with self._locked():
            names = self.records.names()
            self._end(names, 10 if keep else 0)
            if not keep:
                shutil.rmtree(self.folders.run)
        return bool(names)

    # -- One by one ---------------------------------------------------------

    def start(self, *names: str) -> None:
        """Start services, and wait until they answer."""
        with self._locked():
            self._begin(
                [n for n in self._known(names) if not self.is_alive(n)]
            )

    def stop(self, *names: str) -> None:
        """Ask services to end; what does not is ended."""
        with self._locked():
            self._end(self._known(names))

    def restart(self, *names: str) -> None:
        self.stop(*names)
        self.start(*names)

    def kill(self, *names: str) -> None:
        """End services without asking them, with all their children."""
        with self._locked():
            self._end(self._known(names), 0)

    def pause(self, *names: str) -> None:
        """Stop services with SIGSTOP."""
        self._signal(names, signal.SIGSTOP)

    def resume(self, *names: str) -> None:
        """Let them go on."""
        self._signal(names, signal.SIGCONT)

    # -- Inside -------------------------------------------------------------

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with (
            signals.raise_interrupts(),
            lock.hold(self.folders.run / "lock", self.print_line),
        ):
            yield

    def _known(self, names: Sequence[str]) -> list[str]:
        known = self.table
        for name in names:
            if name not in known:
                raise TackerError(
                    f"no service {name}; there are {', '.join(known)}"
                )
        return list(names)

    def _up(self) -> None:
        state = self.state
        self._install()
        configuration.write(self.folders, state)
        if not state.options.database:
            databases.initialize(self.folders)
        first = [n for n in self.table if n not in (CONDUCTOR, SERVER)]
        self._begin(first, wait=False)
        if not state.options.database:
            self._wait("mariadb")
            databases.grant(self.folders)
        databases.migrate(self.folders, state)
        for name in first:
            self._wait(name)
        self._begin([CONDUCTOR, SERVER])

    def _install(self) -> None:
        published = pathlib.Path(self.state.published)
        tree = pathlib.Path(self.state.options.tree or wheel.ROOT)
        project = wheel.ensure_built(
            self.cache, published / "bin" / "python", tree
        )
        plugins = [pathlib.Path(p) for p in self.state.options.plugins]
        if environment.install(
            published, self.folders.environment, project, plugins
        ):
            self.print_line(f"installed {project.parent.name}/{project.name}")

    def _begin(self, names: Sequence[str], *, wait: bool = True) -> None:
        begun = {name: self.logged(name) for name in names}
        for name in names:
            service = self.table[name]
            processes.start(
                self.records,
                name,
                service.command,
                service.environ,
                self.folders.log(name),
            )
        if wait:
            for name in names:
                self._wait(name)
                self._loaded(name, begun[name])

    def _wait(self, name: str) -> None:
        identity = self.records[name]
        if identity is None:
            raise TackerError(f"{name} was not started")
        processes.wait_ready(
            name,
            identity,
            self.table[name].is_ready,
            self.folders.log(name),
            SECONDS,
        )

    def _loaded(self, name: str, since: int) -> None:
        """Tacker goes on without a driver that it cannot load."""
        if name not in (CONDUCTOR, SERVER):
            return
        chosen = {*self.state.options.drivers, *self.state.options.management}
        for line in self.log(name, since).splitlines():
            found = _NOT_LOADED.search(line)
            if found and found[1] in chosen:
                raise TackerError(f"{name}: {line[line.index(found[0]) :]}")

    def _end(
        self, names: Iterable[str], patience: float | None = None
    ) -> None:
        """End these, what was started last first."""
        known = self.table if self.folders.state.exists() else {}
        order = {name: number for number, name in enumerate(known)}
        for name in sorted(names, key=lambda n: -order.get(n, len(order))):
            identity = self.records[name]
            if identity is None:
                continue
            seconds = patience
            if seconds is None:
                seconds = known[name].patience if name in known else 10.0
            process_groups.end(identity, seconds)
            self.records.remove(name)

    def _signal(self, names: Sequence[str], number: signal.Signals) -> None:
        for name in self._known(names):
            leader = self.records[name]
            if leader is None or not process_groups.send(leader, number):
                raise TackerError(f"{name} does not run")

    @contextlib.contextmanager
    def _undone(self, names: Iterable[str]) -> Iterator[None]:
        """When what is inside fails, none of these stays running."""
        affected = list(names)
        try:
            yield
        except BaseException:
            with signals.defer():
                self._end(affected, 0)
            raise
