"""The Debian packages with MariaDB and RabbitMQ."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import os
import pathlib
import shutil

from tools.plane import lock
from tools.tacker import commands
from tools.tacker.errors import TackerError

MARIADB = "/usr/sbin/mariadbd"
MARIADB_INSTALL = "/usr/bin/mariadb-install-db"
MARIADB_CLIENT = "/usr/bin/mariadb"
# The one in /usr/sbin changes to a user of the distribution's.
RABBITMQ = "/usr/lib/rabbitmq/bin/rabbitmq-server"
RABBITMQCTL = "/usr/lib/rabbitmq/bin/rabbitmqctl"
EPMD = "/usr/bin/epmd"

DATABASE = {MARIADB: "mariadb-server"}
QUEUE = {RABBITMQ: "rabbitmq-server", EPMD: "erlang-base"}
"""What must be there, and the Debian package that brings it."""

LOCK = pathlib.Path("/run/lock/tacker-k8s-cr/packages")

_POLICY = pathlib.Path("/usr/sbin/policy-rc.d")


def ensure(
    programs: Collection[tuple[str, str]], print_line: Callable[[str], object]
) -> None:
    """Install what is missing, as root on Debian; else say what to do."""
    if not (missing := _missing(programs)):
        return
    names = " ".join(missing)
    if os.getuid() or not shutil.which("apt-get"):
        raise TackerError(
            f"the Debian packages {names} are missing, and installing them "
            "needs root and apt-get. Install what they hold, or name "
            "services that run: --database URL, --transport URL"
        )
    # Several test processes may miss them at the same time, and apt-get does
    # not wait for another one.
    with lock.hold(LOCK, print_line), _no_service_started():
        if not (missing := _missing(programs)):
            return
        print_line(f"installing {names}")
        _run(["apt-get", "update", "--quiet"])
        _run(
            [
                *("apt-get", "install", "--yes", "--no-install-recommends"),
                *missing,
            ]
        )


def _missing(programs: Collection[tuple[str, str]]) -> list[str]:
    return sorted({p for path, p in programs if not os.path.exists(path)})


def _run(command: Sequence[str]) -> None:
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    commands.run(command, environ=environ)


@contextlib.contextmanager
def _no_service_started() -> Iterator[None]:
    """Installed packages start their services unless this file objects."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink(missing_ok=True)
