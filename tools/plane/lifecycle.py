"""Brings the plane up and down, whole or process by process."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import functools
import itertools
import shutil
import time

from tools.balancer.client import Balancer
from tools.plane import binaries
from tools.plane import build
from tools.plane import capi
from tools.plane import components
from tools.plane import credentials
from tools.plane import lock
from tools.plane import node_components
from tools.plane import ports
from tools.plane import processes
from tools.plane import server_components
from tools.plane import signals
from tools.plane import stages
from tools.plane.binaries import Store
from tools.plane.components import Component
from tools.plane.errors import PlaneError
from tools.plane.folders import Folders
from tools.plane.kubectl import Kubectl
from tools.plane.processes import Identity
from tools.plane.processes import Records

PrintLine = Callable[[str], object]

PARTS = ("control plane", "kwok", "cluster api")
BINARIES = {
    "control plane": binaries.CONTROL_PLANE,
    "kwok": binaries.KWOK,
    "cluster api": binaries.CLUSTER_API,
}
SECONDS = 120.0
"""For one process to answer; the slowest takes three."""


@dataclasses.dataclass(frozen=True)
class Plane:
    """One plane: its folder, and the binaries that it runs."""

    folders: Folders
    store: Store
    print_line: PrintLine = print

    @classmethod
    def from_environ(
        cls, environ: Mapping[str, str], print_line: PrintLine = print
    ) -> Plane:
        return cls(
            Folders.from_environ(environ),
            Store.from_environ(environ),
            print_line,
        )

    @property
    def table(self) -> Mapping[str, Component]:
        parts = (
            server_components.table,
            components.table,
            node_components.table,
        )
        return {
            component.name: component
            for part in parts
            for component in part(self.folders)
        }

    @property
    def records(self) -> Records:
        return Records(self.folders.processes)

    @property
    def kubectl(self) -> Kubectl:
        """As administrator; its cache is in the plane's folder."""
        return Kubectl(
            self.store.path("kubectl"),
            self.folders.kubeconfig,
            components.environ(self.folders, self.store.folder),
        )

    @property
    def balancer(self) -> Balancer:
        """Before the API servers, where there are several."""
        if self.folders.servers == 1:
            raise PlaneError("the plane has one API server and no balancer")
        return Balancer(server_components.control_url(self.folders))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """No other command changes what runs."""
        with (
            signals.raise_interrupts(),
            lock.hold(self.folders.run / "lock", self.print_line),
        ):
            yield

    # -- What runs ----------------------------------------------------------

    def is_working(self, component: Component) -> bool:
        """Whether the process that we started is there and answers."""
        return self.records.is_alive(
            component.name
        ) and components.is_answering(self.folders, component)

    def unavailable(self, parts: Collection[str]) -> tuple[Component, ...]:
        """The components of these parts that do not work now."""
        return tuple(
            component
            for component in self.table.values()
            if component.part in parts and not self.is_working(component)
        )

    # -- The whole ----------------------------------------------------------

    def up(self, parts: Sequence[str] = PARTS, servers: int = 0) -> bool:
        """Start what does not run; whether there was anything to start.

        :param servers: how many API servers and etcd members; 0 for as many
            as the plane has, which is one unless it was started with more.
        """
        self._check_servers(servers)
        if not self.unavailable(parts) and servers in (
            0,
            self.folders.servers,
        ):
            return False
        wanted = [one for part in parts for one in BINARIES[part]]
        build.build(self.store, wanted, self.print_line)
        self.folders.make()
        with self.locked():
            # A command that ended meanwhile may have removed the folders,
            # or have started all of it.
            self.folders.make()
            self._check_servers(servers)
            if servers:
                self.folders.keep_servers(servers)
            unavailable = self.unavailable(parts)
            if not unavailable:
                return False
            with self.undone(one.name for one in unavailable):
                self._up(parts, unavailable)
        return True

    def down(self, *, keep: bool = False) -> bool:
        """End all processes; remove the folder unless it is to be kept."""
        if not self.folders.run.exists():
            return False
        with self.locked():
            names = self.records.names()
            if any(self.records.is_alive(name) for name in self._node_names()):
                raise PlaneError("take the real node down first")
            self.stop_components(names)
            if not keep:
                shutil.rmtree(self.folders.run)
        return bool(names)

    # -- One by one ---------------------------------------------------------

    def start(self, names: Iterable[str]) -> None:
        with self.locked():
            unavailable = []
            for component in self._named(names):
                if self.is_working(component):
                    self.print_line(f"{component.name}: runs already")
                else:
                    unavailable.append(component)
            for some in _groups(unavailable):
                own = [component.name for component in some]
                self.stop_components(own)
                ports.check_free(components.ports(some))
                with self.undone(own):
                    self.start_components(some)

    def stop(self, names: Iterable[str]) -> None:
        with self.locked():
            self.stop_components(
                [component.name for component in self._named(names)]
            )

    def kill(self, names: Iterable[str]) -> None:
        """End processes by SIGKILL; ``start`` starts them again."""
        self._each(names, processes.kill)

    def pause(self, names: Iterable[str]) -> None:
        """Stop processes by SIGSTOP: they answer nothing until resumed."""
        self._each(names, processes.pause)

    def resume(self, names: Iterable[str]) -> None:
        self._each(names, processes.resume)

    def _each(
        self, names: Iterable[str], do: Callable[[Identity], None]
    ) -> None:
        with self.locked():
            for component in self._named(names):
                identity = self.records[component.name]
                if identity is None or not identity.is_alive:
                    raise PlaneError(f"{component.name} does not run")
                do(identity)

    def start_components(self, wanted: Iterable[Component]) -> None:
        """Start some at once, then wait for each."""
        begun = []
        for component in wanted:
            binary = component.binary or component.name
            program = component.program or self.store.path(binary)
            identity = processes.start(
                self.records,
                component.name,
                [str(program), *component.arguments],
                components.environ(self.folders, self.store.folder),
                self.folders.log(component.name),
            )
            begun.append((component, identity))
        for component, identity in begun:
            seconds = processes.wait_ready(
                component.name,
                identity,
                functools.partial(
                    components.is_answering, self.folders, component
                ),
                self.folders.log(component.name),
                SECONDS,
            )
            self.print_line(f"{component.name}: ready after {seconds:.1f} s")

    def stop_components(self, names: Iterable[str]) -> None:
        """End these, what was started last first."""
        # One that the table does not know is of an earlier table.
        order = {name: number for number, name in enumerate(self.table)}
        known = sorted(names, key=lambda name: -order.get(name, len(order)))
        for name in known:
            identity = self.records[name]
            if identity is None:
                continue
            if identity.is_alive:
                processes.stop(identity)
                self.print_line(f"{name}: ended")
            self.records.remove(name)

    @contextlib.contextmanager
    def undone(self, names: Iterable[str]) -> Iterator[None]:
        """When what is inside fails, none of these stays running."""
        affected = list(names)
        try:
            yield
        except BaseException:
            # A second ctrl-C waits until the first is dealt with.
            with signals.defer():
                self.stop_components(affected)
            raise

    # -- Inside -------------------------------------------------------------

    def _named(self, names: Iterable[str]) -> list[Component]:
        if not self.folders.kubeconfig.exists():
            raise PlaneError("there is no plane: bring it up first")
        unknown = [name for name in names if name not in self.table]
        if unknown:
            raise PlaneError(
                f"no component {', '.join(unknown)}; there are "
                f"{', '.join(self.table)}"
            )
        return [self.table[name] for name in names]

    def _node_names(self) -> list[str]:
        return [one.name for one in node_components.table(self.folders)]

    def _up(
        self, parts: Collection[str], unavailable: Sequence[Component]
    ) -> None:
        begin = time.monotonic()
        for component in unavailable:
            # One that runs but does not answer is in its successor's way.
            self.stop_components([component.name])
        ports.check_free(components.ports(unavailable))
        credentials.ensure(self.folders)
        for some in _groups(unavailable):
            if some[0].part == "control plane":
                self.start_components(some)
        manifests = self.store.manifests
        if "kwok" in parts:
            # All kinds of the Stages must be served when kwok starts.
            stages.add(self.kubectl, stages.shipped(manifests))
            self.start_components(
                one for one in unavailable if one.part == "kwok"
            )
            self.kubectl.apply(stages.nodes())
        if "cluster api" in parts:
            self._cluster_api(
                [one for one in unavailable if one.part == "cluster api"]
            )
        self._settled(parts)
        self.print_line(
            f"the plane is up after {time.monotonic() - begin:.0f} s"
        )

    def _check_servers(self, servers: int) -> None:
        """Raise PlaneError for a number that the plane cannot have now."""
        if servers and servers not in server_components.COUNTS:
            counts = ", ".join(map(str, server_components.COUNTS))
            raise PlaneError(f"{servers} servers: expected one of {counts}")
        found = self.folders.servers
        if servers in (0, found) or not self.folders.etcd.exists():
            return
        raise PlaneError(
            f"{self.folders.run} has a plane of {found} API server(s), "
            f"expected {servers}; take it down first"
        )

    def _cluster_api(self, unavailable: Sequence[Component]) -> None:
        ca = (self.folders.pki / "ca.crt").read_bytes()
        manifests = self.store.manifests
        definitions = [
            definition
            for manager in capi.MANAGERS
            for definition in capi.definitions(manifests, manager, ca)
        ]
        self.kubectl.apply(definitions)
        self.kubectl.wait_established(definitions)
        self.start_components(unavailable)
        # A configuration whose webhook server does not exist rejects every
        # write.
        self.kubectl.apply(
            configuration
            for manager in capi.MANAGERS
            for configuration in capi.webhooks(manifests, manager, ca)
        )

    def _settled(self, parts: Collection[str]) -> None:
        """What a first pod needs is made by controllers, after the start."""
        self.kubectl(
            "wait", "--for=create", "serviceaccount/default", "--timeout=60s"
        )
        if "kwok" in parts:
            nodes = [f"node/{name}" for name in stages.NODES]
            self.kubectl(
                "wait", "--for=condition=Ready", "--timeout=60s", *nodes
            )


def _groups(
    wanted: Iterable[Component],
) -> Iterator[tuple[Component, ...]]:
    """Those that are started together, in the order of the table."""
    for _, some in itertools.groupby(wanted, lambda c: c.group or c.name):
        yield tuple(some)
