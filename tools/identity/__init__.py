"""A real OpenID provider on 127.0.0.1, built from a published Go module.

One user, one client; the password grant and refresh tokens. Built at first
use, in about a minute, and kept in the user's cache folder.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import hashlib
import json
import os
import pathlib
import socket
import ssl
import subprocess
import time
from types import TracebackType
import urllib.request

from tools.plane import binaries
from tools.plane import certificates
from tools.plane import golang
from tools.plane import lock
from tools.plane.errors import PlaneError
from tools.plane.folders import write_private

SOURCE = pathlib.Path(__file__).resolve().parent
SECONDS = 30.0
"""For the provider to answer after its start."""


def build(print_line: Callable[[str], object] = print) -> pathlib.Path:
    """The provider's program."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum", "main.go"):
        digest.update((SOURCE / name).read_bytes())
    folder = binaries.cache(os.environ).parent / "identity"
    program = folder / digest.hexdigest()[:16]
    if os.access(program, os.X_OK):
        return program
    with lock.hold(folder / "lock", print_line):
        golang.build(SOURCE, program, print_line)
    return program


@dataclasses.dataclass(frozen=True)
class User:
    """Who may have a token, and of which client."""

    name: str = "operator@example.org"
    password: str = "planted-pa55word-of-the-operator"
    client: str = "tacker"
    secret: str = "planted-secret-of-the-client"


class Provider:
    """Runs from when the context is entered until it is left.

    :param folder: where its keys and its log go; ``ca_file`` vouches for it.
    :param lifetime: of a token, as Go writes a duration.
    """

    def __init__(
        self, folder: pathlib.Path, lifetime: str = "1h", user: User = User()
    ):
        self.user = user
        self.lifetime = lifetime
        self.ca_file = folder / "provider-ca.pem"
        self.port = _free()
        self.issuer = f"https://127.0.0.1:{self.port}"
        self.url = f"{self.issuer}/token"
        self._folder = folder
        self._log = folder / "provider.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._certify()

    @property
    def ca(self) -> str:
        return self.ca_file.read_text()

    @property
    def grants(self) -> list[str]:
        """Of each request of a token: the grant type and the answer."""
        return self._log.read_text().splitlines() if self._log.exists() else []

    def await_grants(self, number: int, patience: float = 60.0) -> None:
        """Wait until so many tokens were asked for in all."""
        end = time.monotonic() + patience
        while len(self.grants) < number:
            if time.monotonic() > end:
                raise PlaneError(f"{len(self.grants)} of {number} grants")
            time.sleep(0.1)

    def start(self) -> Provider:
        output = {
            "Address": f"127.0.0.1:{self.port}",
            "Issuer": self.issuer,
            "Certificate": str(self._folder / "provider.crt"),
            "Key": str(self._folder / "provider.key"),
            "User": self.user.name,
            "Password": self.user.password,
            "Client": self.user.client,
            "ClientSecret": self.user.secret,
            "Lifetime": self.lifetime,
        }
        settings = self._folder / "provider.json"
        write_private(settings, json.dumps(output).encode())
        with open(self._log, "a") as log, open(settings) as stdin:
            self._process = subprocess.Popen(
                [str(build())], stdin=stdin, stdout=log
            )
        self._await(self._process)
        return self

    def stop(self) -> None:
        """May be called again, and be followed by a start."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Provider:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _await(self, process: subprocess.Popen[bytes]) -> None:
        context = ssl.create_default_context(cafile=self.ca_file)
        url = f"{self.issuer}/.well-known/openid-configuration"
        end = time.monotonic() + SECONDS
        while True:
            try:
                with urllib.request.urlopen(url, context=context):  # noqa: S310
                    return
            except OSError as error:
                if process.poll() is not None or time.monotonic() > end:
                    self.stop()
                    raise PlaneError(f"{url}: {error}") from None
            time.sleep(0.05)

    def _certify(self) -> None:
        own = certificates.create_server_certificate("provider")
        self.ca_file.write_bytes(own.ca)
        (self._folder / "provider.crt").write_bytes(own.certificate)
        write_private(self._folder / "provider.key", own.key)


def _free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
