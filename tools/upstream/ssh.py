"""SSH servers on loopback addresses, in place of hosts that tests expect.

A server accepts one user, passes commands to a function and keeps files in
one folder. It starts no shell.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import logging
import os
import pathlib
import socket
import threading
from typing import Any

import paramiko
from paramiko import common
from paramiko import sftp

Address = tuple[str, int]

# Without a handler Python prints what paramiko logs about lost connections.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


@dataclasses.dataclass(frozen=True)
class CommandResult:
    """What became of a command."""

    status: int
    out: bytes = b""
    error: bytes = b""


def refused(command: str) -> CommandResult:
    """What a server answers that runs no commands."""
    return CommandResult(127, error=f"not known here: {command}\n".encode())


@dataclasses.dataclass(frozen=True)
class Server:
    """What a server does.

    :param resolve_path: the file that stands for a path of the client's.
    :param execute: runs a command.
    """

    user: str
    password: str
    resolve_path: Callable[[str], pathlib.Path]
    execute: Callable[[str], CommandResult] = refused


class _Session(paramiko.ServerInterface):
    def __init__(self, server: Server):
        self.server = server

    def check_auth_password(self, username: str, password: str) -> int:
        expected = (self.server.user, self.server.password)
        good = (username, password) == expected
        return common.AUTH_SUCCESSFUL if good else common.AUTH_FAILED

    def get_allowed_auths(self, username: str) -> str:
        return "password"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return common.OPEN_SUCCEEDED

    def check_channel_exec_request(
        self, channel: paramiko.Channel, command: bytes
    ) -> bool:
        threading.Thread(
            target=self._execute, args=(channel, command), daemon=True
        ).start()
        return True

    def _execute(self, channel: paramiko.Channel, command: bytes) -> None:
        done = self.server.execute(command.decode())
        with contextlib.suppress(OSError, paramiko.SSHException):
            # A round trip: the thread that called us has then sent its
            # answer to the request. A client that sees the channel close
            # before that answer takes it for an error.
            channel.get_transport().global_request("wait@localhost")
            channel.sendall(done.out)
            channel.sendall_stderr(done.error)
            channel.send_exit_status(done.status)
            channel.close()


class _Files(paramiko.SFTPServerInterface):
    def __init__(self, session: paramiko.ServerInterface, server: Server):
        super().__init__(session)
        self.server = server

    def stat(self, path: str) -> Any:
        try:
            found = os.stat(self.server.resolve_path(path))
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)
        return paramiko.SFTPAttributes.from_stat(found)

    lstat = stat

    def open(self, path: str, flags: int, attr: Any) -> Any:
        try:
            file = open(  # noqa: SIM115  the handle closes it
                self.server.resolve_path(path),
                "wb" if flags & os.O_WRONLY else "rb",
            )
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)
        handle = _Handle(flags, self, path)
        handle.readfile = handle.writefile = file
        return handle

    def remove(self, path: str) -> int:
        try:
            self.server.resolve_path(path).unlink()
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)
        return sftp.SFTP_OK


class _Handle(paramiko.SFTPHandle):
    readfile: Any
    writefile: Any

    def __init__(self, flags: int, files: _Files, path: str):
        super().__init__(flags)
        self.files = files
        self.path = path

    def stat(self) -> Any:
        # A client compares the size after it has sent a file.
        self.writefile.flush()
        return self.files.stat(self.path)


@contextlib.contextmanager
def serving(address: Address, server: Server) -> Iterator[Address]:
    """Where the server is, as long as the context is entered."""
    key = paramiko.RSAKey.generate(2048)
    with socket.create_server(address) as listener:
        accepting = threading.Thread(
            target=_accept, args=(listener, key, server), daemon=True
        )
        accepting.start()
        try:
            yield listener.getsockname()
        finally:
            # close() alone does not wake the thread that accepts.
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()


def _accept(
    listener: socket.socket, key: paramiko.PKey, server: Server
) -> None:
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        threading.Thread(
            target=_serve, args=(peer, key, server), daemon=True
        ).start()


def _serve(peer: socket.socket, key: paramiko.PKey, server: Server) -> None:
    with contextlib.suppress(EOFError, OSError, paramiko.SSHException):
        transport = paramiko.Transport(peer)
        transport.add_server_key(key)
        transport.set_subsystem_handler(
            "sftp", paramiko.SFTPServer, _Files, server
        )
        transport.start_server(server=_Session(server))
        transport.join()
