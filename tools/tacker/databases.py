"""A private MariaDB with Tacker's tables."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from tools.tacker import commands
from tools.tacker import configuration
from tools.tacker import packages
from tools.tacker import services
from tools.tacker.folders import Folders
from tools.tacker.state import State

_GRANTS = """
create database if not exists tacker character set utf8;
create user if not exists tacker@'127.0.0.1' identified by 'tacker';
grant all on tacker.* to tacker@'127.0.0.1';
"""


def initialize(folders: Folders) -> None:
    """Make the data of a server that has not run yet."""
    if (folders.database / "data").exists():
        return
    _run(
        [
            packages.MARIADB_INSTALL,
            "--no-defaults",
            *services.as_user(),
            f"--datadir={folders.database / 'data'}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--innodb-log-file-size=16M",
        ],
        services.database_environ(folders),
    )


def grant(folders: Folders) -> None:
    """Make the database and its user."""
    _run(
        [
            packages.MARIADB_CLIENT,
            "--no-defaults",
            f"--socket={folders.database / 'socket'}",
            "--user=root",
            f"--execute={_GRANTS}",
        ],
        services.environ(folders),
    )


def migrate(folders: Folders, state: State) -> None:
    """Bring the tables to what this Tacker wants, with its own program."""
    _run(
        [
            *services.program(folders, state, "tacker-db-manage"),
            *configuration.arguments(folders, state),
            "upgrade",
            "head",
        ],
        services.tacker_environ(folders),
    )


def _run(command: Sequence[str], environ: Mapping[str, str]) -> None:
    # One of the arguments contains the password of the database user.
    commands.run(command, command[0], environ)
