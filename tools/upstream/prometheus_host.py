"""A host behind SSH that takes the rule files of Tacker's Prometheus plug-in.

Pods run nothing here, so no Prometheus reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import pathlib

from tools.upstream import ssh

ADDRESS = ("127.0.0.1", 50022)
"""As the tests' requests have it."""

USER = PASSWORD = "root"


@contextlib.contextmanager
def start(
    root: pathlib.Path, address: ssh.Address = ADDRESS
) -> Iterator[ssh.Address]:
    """Where the host is, as long as the context is entered."""
    root.mkdir(parents=True, exist_ok=True)

    def place(path: str) -> pathlib.Path:
        return root / pathlib.PurePosixPath(path).name

    server = ssh.Server(USER, PASSWORD, place)
    with ssh.serving(address, server) as found:
        yield found
