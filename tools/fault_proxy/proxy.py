"""Runs mitmproxy before an API server, with configurable faults."""

from __future__ import annotations

from collections.abc import Sequence
import json
import os
import pathlib
import ssl
import subprocess
import time
from types import TracebackType
from typing import Any
import urllib.request

from tools.plane.errors import PlaneError
from tools.plane.folders import make_private
from tools.tacker import environment
from tools.tacker import folders

WANTED = ("mitmproxy>=11,<13",)
"""In its own environment: it requires older cryptography and pyOpenSSL.
"""

SECONDS = 60.0
"""Until it listens; it takes two."""

_ADDON = pathlib.Path(__file__).with_name("mitmproxy_addon.py")
_CONTROL = "/-/faults"

Rule = dict[str, Any]


class FaultProxy:
    """A proxy that runs from when the context is entered until it is left.

    :param folder: where its keys and its log go; it is made.
    :param server: the URL of the API server.
    :param ca: the file with what vouches for that server.
    """

    def __init__(self, folder: pathlib.Path, server: str, ca: pathlib.Path):
        self._folder = folder
        self._server = server
        self._trusted = ca
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> FaultProxy:
        home = environment.ensure_requirements(
            folders.cache(os.environ), WANTED, lambda said: None
        )
        make_private(self._folder)
        settings = (
            f"confdir={self._folder}",
            f"ssl_verify_upstream_trusted_ca={self._trusted}",
            "connection_strategy=lazy",
            "http2=false",
        )
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    str(home / "bin" / "mitmdump"),
                    *("--quiet", "--scripts", str(_ADDON)),
                    *("--mode", f"reverse:{self._server}"),
                    *("--listen-host", "127.0.0.1", "--listen-port", "0"),
                    *(part for s in settings for part in ("--set", s)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def ca(self) -> str:
        return (self._folder / "mitmproxy-ca-cert.pem").read_text()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{(self._folder / 'port').read_text()}"

    def set_rules(self, *rules: Rule) -> None:
        """These faults from now on, and no others."""
        self._request(json.dumps(rules).encode())

    def count_matches(self) -> Sequence[int]:
        """By rule, how many requests have met it."""
        found: list[int] = self._request(None)
        return found

    def _request(self, body: bytes | None) -> Any:
        context = ssl.create_default_context(cadata=self.ca)
        url = self.url + _CONTROL
        with urllib.request.urlopen(  # noqa: S310  it is always https
            url, body, context=context
        ) as reply:
            return json.load(reply)

    def _wait(self) -> None:
        assert self._process is not None  # noqa: S101
        end = time.monotonic() + SECONDS
        while not (self._folder / "port").exists():
            ended = self._process.poll() is not None
            if ended or time.monotonic() > end:
                output = (self._folder / "log").read_text()[-2000:]
                raise PlaneError(f"mitmproxy did not start:\n{output}")
            time.sleep(0.05)
