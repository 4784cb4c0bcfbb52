"""What was chosen when a host was brought up, kept in its folder."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import random
import socket

from tools.plane.folders import write_private
from tools.tacker.errors import TackerError

PORTS = ("tacker-server", "mariadb", "rabbitmq", "rabbitmq-dist", "epmd")
# Below those that the kernel gives to outgoing connections, which could
# take one while its service is restarted.
_RANGE = range(20000, 32000)


@dataclasses.dataclass(frozen=True)
class Options:
    """What the caller of ``up`` may choose.

    :param drivers: infrastructure drivers; both of Tacker's options get
        them, each with what it has by default beside them.
    :param management: drivers of v1's management hooks.
    :param files: more configuration files, the later ones win.
    :param settings: more options, by ``section.option``.
    :param plugins: more to install into the services' environment.
    :param tree: the folder with the project; empty for this one.
    :param sync: seconds between two rounds of Tacker's synchronization of
        its database with the VIMs.
    :param database: URL of a database that runs; empty for a private one.
    :param transport: URL of a message queue that runs; empty for our own.
    """

    drivers: tuple[str, ...] = ("kubernetes_cr",)
    management: tuple[str, ...] = ("vnflcm_noop", "kubeconfig-webhook")
    files: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    plugins: tuple[str, ...] = ()
    tree: str = ""
    sync: int = 300
    debug: bool = False
    database: str = ""
    transport: str = ""


@dataclasses.dataclass(frozen=True)
class State:
    """The options of a host, its ports, and where Tacker is installed."""

    options: Options
    ports: dict[str, int]
    published: str
    """The environment in the cache on which the host's own rests."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports['tacker-server']}"

    def write(self, path: pathlib.Path) -> None:
        # The URLs of named services hold passwords.
        text = json.dumps(dataclasses.asdict(self), indent=1)
        write_private(path, text.encode())


def read(path: pathlib.Path) -> State:
    """The state of the host in a folder."""
    try:
        said = json.loads(path.read_text())
    except FileNotFoundError:
        raise TackerError(
            f"there is no Tacker in {path.parent}: bring it up first"
        ) from None
    options = said["options"]
    options["settings"] = tuple(tuple(pair) for pair in options["settings"])
    for name in ("drivers", "management", "files", "plugins"):
        options[name] = tuple(options[name])
    return State(Options(**options), said["ports"], said["published"])


def free_ports() -> dict[str, int]:
    """A free port of the loopback address for each that a host needs."""
    found: dict[str, int] = {}
    held = []
    candidates = random.sample(_RANGE, k=200)
    try:
        for name in PORTS:
            while name not in found:
                port = candidates.pop()
                one = socket.socket()
                held.append(one)
                try:
                    one.bind(("127.0.0.1", port))
                except OSError:
                    continue
                found[name] = port
    finally:
        for one in held:
            one.close()
    return found
