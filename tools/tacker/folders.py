"""Where a Tacker on this machine keeps what, and what is cached where."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import pathlib

from tools.plane.folders import choose_user_folder
from tools.plane.folders import make_private

NAME = "tacker-k8s-cr-tacker"


def choose(environ: Mapping[str, str], named: str = "") -> pathlib.Path:
    """The named folder; else TACKER_RUN; else one for each user."""
    if found := named or environ.get("TACKER_RUN", ""):
        return pathlib.Path(found).absolute()
    return choose_user_folder(environ, NAME)


def cache(environ: Mapping[str, str]) -> pathlib.Path:
    """What outlives a host: environments and wheels."""
    base = environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "tacker-k8s-cr" / "tacker"


@dataclasses.dataclass(frozen=True)
class Folders:
    """The folder of one host, and the places in it."""

    run: pathlib.Path

    @property
    def state(self) -> pathlib.Path:
        """What was chosen at the start: ports, options, addresses."""
        return self.run / "state.json"

    @property
    def processes(self) -> pathlib.Path:
        return self.run / "processes"

    @property
    def logs(self) -> pathlib.Path:
        return self.run / "logs"

    @property
    def conf(self) -> pathlib.Path:
        return self.run / "conf"

    @property
    def database(self) -> pathlib.Path:
        return self.run / "database"

    @property
    def queue(self) -> pathlib.Path:
        return self.run / "queue"

    @property
    def environment(self) -> pathlib.Path:
        """The virtual environment that the services run in."""
        return self.run / "environment"

    def log(self, name: str) -> pathlib.Path:
        return self.logs / f"{name}.log"

    def make(self) -> None:
        """Make the folder and those in it, for this user alone."""
        make_private(self.run)
        for folder in (
            self.processes,
            self.logs,
            self.conf,
            self.database,
            self.queue,
            *(self.run / name for name in ("state", "csar", "glance", "keys")),
        ):
            folder.mkdir(mode=0o700, exist_ok=True)
