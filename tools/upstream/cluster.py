"""The cluster that the tests run on: a plane of their own, or a named one."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import json
import os
import pathlib

from tools.plane import credentials
from tools.plane import service_accounts
from tools.plane import stages
from tools.plane import target
from tools.plane.binaries import Store
from tools.plane.folders import Folders
from tools.plane.folders import write_private
from tools.plane.kubectl import Kubectl
from tools.plane.lifecycle import Plane

SHIFT = 6000
"""Of the plane's ports; other planes of the same machine have others."""

ACCOUNT = "tacker-upstream"

PrintLine = Callable[[str], object]


@dataclasses.dataclass(frozen=True)
class Cluster:
    """How Tacker and the tests reach an API server.

    :param owned: whether this run started it, and may remove what is in it.
    """

    kubectl: Kubectl
    server: str
    ca: str
    token: str
    owned: bool

    @property
    def kubeconfig(self) -> pathlib.Path:
        return self.kubectl.kubeconfig


@contextlib.contextmanager
def start_plane(
    folder: pathlib.Path,
    shift: int,
    trusted: Mapping[str, object] | None,
    print_line: PrintLine,
) -> Iterator[Cluster]:
    """A new plane with one worker, as long as the context is entered.

    :param trusted: an AuthenticationConfiguration of its API server.
    """
    folders = Folders(folder, shift)
    plane = Plane(folders, Store.from_environ(os.environ), print_line)
    plane.down()
    folders.make()
    if trusted:
        # JSON is YAML.
        write_private(folders.authentication, json.dumps(trusted).encode())
    try:
        plane.up(("control plane", "kwok"))
        _leave_one_worker(plane.kubectl)
        yield Cluster(
            plane.kubectl,
            credentials.server(folders),
            (folders.pki / "ca.crt").read_text(),
            credentials.token(folders, "admin-token"),
            owned=True,
        )
    finally:
        plane.down()


def _leave_one_worker(kubectl: Kubectl) -> None:
    """The tests expect one Pod of a DaemonSet."""
    others = sorted(stages.NODES)[1:]
    kubectl("taint", "nodes", *others, "one=worker:NoSchedule", "--overwrite")


@contextlib.contextmanager
def from_kubeconfig(environ: Mapping[str, str]) -> Iterator[Cluster]:
    """The cluster that KUBECONFIG names, with an account of its own."""
    kubectl = target.kubectl(target.choose(environ))
    name = f"{ACCOUNT}-{os.getpid()}"
    with service_accounts.create_administrator(kubectl, name) as found:
        yield Cluster(
            kubectl, found.server, found.ca, found.token, owned=False
        )
