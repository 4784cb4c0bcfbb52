"""Where the plane keeps what: one private folder for each user."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import os
import pathlib
import stat
import tempfile

from tools.plane.errors import PlaneError

NAME = "tacker-k8s-cr-plane"


def choose_user_folder(environ: Mapping[str, str], name: str) -> pathlib.Path:
    """Return a folder of this user: below XDG_RUNTIME_DIR, else /tmp."""
    if session := environ.get("XDG_RUNTIME_DIR"):
        return pathlib.Path(session) / name
    return pathlib.Path(tempfile.gettempdir()) / f"{name}-{os.getuid()}"


@dataclasses.dataclass(frozen=True)
class Folders:
    """The folder of one running plane, and the places in it.

    :param shift: added to the ports of the control plane and of kwok, so
        that a second one can run beside the first. Cluster API's are fixed.
    """

    run: pathlib.Path
    shift: int = 0

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Folders:
        """PLANE_RUN; else below XDG_RUNTIME_DIR; else below /tmp.

        PLANE_SHIFT is for a second one, which must have a folder of its own.
        """
        if named := environ.get("PLANE_RUN"):
            shift = environ.get("PLANE_SHIFT", "0")
            if not shift.isdecimal():
                raise PlaneError(f"PLANE_SHIFT is {shift}, and no number")
            return cls(pathlib.Path(named).absolute(), int(shift))
        return cls(choose_user_folder(environ, NAME))

    @property
    def kubeconfig(self) -> pathlib.Path:
        """The administrator's credential, for any user of the plane."""
        return self.run / "admin.kubeconfig"

    @property
    def pki(self) -> pathlib.Path:
        return self.run / "pki"

    @property
    def tokens(self) -> pathlib.Path:
        """Static bearer tokens, as kube-apiserver reads them."""
        return self.pki / "tokens.csv"

    @property
    def authentication(self) -> pathlib.Path:
        """An AuthenticationConfiguration: such as trusts OpenID providers.

        kube-apiserver reads it if it is there when it starts.
        """
        return self.run / "authentication.yaml"

    @property
    def servers(self) -> int:
        """How many API servers and etcd members the plane has."""
        try:
            return int(self._servers.read_text())
        except FileNotFoundError:
            return 1

    def keep_servers(self, count: int) -> None:
        """Let the plane have so many, until it is removed."""
        write_private(self._servers, str(count).encode())

    @property
    def _servers(self) -> pathlib.Path:
        return self.run / "servers"

    @property
    def logs(self) -> pathlib.Path:
        return self.run / "logs"

    @property
    def processes(self) -> pathlib.Path:
        return self.run / "processes"

    @property
    def etcd(self) -> pathlib.Path:
        return self.run / "etcd"

    @property
    def temp(self) -> pathlib.Path:
        return self.run / "tmp"

    @property
    def node(self) -> pathlib.Path:
        return self.run / "node"

    def log(self, name: str) -> pathlib.Path:
        return self.logs / f"{name}.log"

    def make(self) -> None:
        """Make the folder and those in it, for this user alone."""
        make_private(self.run)
        for folder in (self.pki, self.logs, self.processes, self.temp):
            folder.mkdir(mode=0o700, exist_ok=True)


def make_private(folder: pathlib.Path) -> None:
    """Make a folder for this user alone, or see that it is one."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = os.lstat(folder)
    # In a folder that all users share, another user may have come first.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PlaneError(f"{folder} is not a folder of this user")
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)


def write_private(path: pathlib.Path, content: bytes) -> None:
    """Write a file that no other user could read at any moment."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(draft, flags, 0o600), "wb") as file:
        file.write(content)
    draft.replace(path)
