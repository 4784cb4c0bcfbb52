"""An SFTP server in place of a host with Prometheus: it accepts rule files."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
import pathlib
import socket
import threading
from typing import Any

import paramiko
from paramiko import common
from paramiko import sftp

ADDRESS = ("127.0.0.1", 50022)
"""As the tests' requests have it."""

USER = PASSWORD = "root"


class Login(paramiko.ServerInterface):
    """Accepts one user."""

    def check_auth_password(self, username: str, password: str) -> int:
        good = (username, password) == (USER, PASSWORD)
        return common.AUTH_SUCCESSFUL if good else common.AUTH_FAILED

    def get_allowed_auths(self, username: str) -> str:
        return "password"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return common.OPEN_SUCCEEDED


class Files(paramiko.SFTPServerInterface):
    """All files in one folder, whatever folder a client names."""

    def __init__(
        self, server: paramiko.ServerInterface, root: pathlib.Path
    ) -> None:
        super().__init__(server)
        self.root = root

    def _at(self, path: str) -> pathlib.Path:
        return self.root / pathlib.PurePosixPath(path).name

    def stat(self, path: str) -> Any:
        try:
            found = os.stat(self._at(path))
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)
        return paramiko.SFTPAttributes.from_stat(found)

    lstat = stat

    def open(self, path: str, flags: int, attr: Any) -> Any:
        try:
            file = open(  # noqa: SIM115  the handle closes it
                self._at(path), "wb" if flags & os.O_WRONLY else "rb"
            )
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)
        handle = paramiko.SFTPHandle(flags)
        handle.readfile = handle.writefile = file  # type: ignore[attr-defined]
        return handle

    def remove(self, path: str) -> int:
        try:
            self._at(path).unlink()
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)
        return sftp.SFTP_OK


@contextlib.contextmanager
def serving(
    root: pathlib.Path, address: tuple[str, int] = ADDRESS
) -> Iterator[None]:
    """The server, as long as the context is entered."""
    root.mkdir(parents=True, exist_ok=True)
    key = paramiko.RSAKey.generate(2048)
    with socket.create_server(address) as listener:
        accepting = threading.Thread(
            target=_accept, args=(listener, key, root), daemon=True
        )
        accepting.start()
        try:
            yield
        finally:
            # close() alone does not wake the thread that accepts.
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()


def _accept(
    listener: socket.socket, key: paramiko.PKey, root: pathlib.Path
) -> None:
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        threading.Thread(
            target=_serve, args=(peer, key, root), daemon=True
        ).start()


def _serve(
    peer: socket.socket, key: paramiko.PKey, root: pathlib.Path
) -> None:
    with contextlib.suppress(EOFError, OSError, paramiko.SSHException):
        transport = paramiko.Transport(peer)
        transport.add_server_key(key)
        transport.set_subsystem_handler(
            "sftp", paramiko.SFTPServer, Files, root
        )
        transport.start_server(server=Login())
        transport.join()
