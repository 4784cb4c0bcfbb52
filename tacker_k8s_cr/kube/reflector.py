"""One stream of a kind: what a list shows, then each change of it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import json
import logging
import random
import socket
import threading
from typing import TYPE_CHECKING, Any

from urllib3 import exceptions

from tacker_k8s_cr.kube import pagination
from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.http_model import ResourceExpired
from tacker_k8s_cr.kube.http.http_model import Response
from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.kube.http.requests import Client
from tacker_k8s_cr.kube.http.response_rules import error_for
from tacker_k8s_cr.kube.pagination import ListQuery
from tacker_k8s_cr.model import backoff
from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import field

if TYPE_CHECKING:
    import urllib3

LOG = logging.getLogger(__name__)

_LASTS = 30
"""Seconds, and up to a quarter more, after which the server ends a watch.

A stream that went silent shows nothing until then, and nobody can tell it
from one on which nothing happens. The next watch costs one small request.
"""

_SILENT = 2
"""Watches, one after the other, without anything new before all objects are
listed again. An API server whose own watch of etcd has stalled shows nothing
on its watches; a list is answered with what etcd has."""

_GRACE = 10.0
"""Seconds after that when we end one that the server did not."""


class StreamClosed(Exception):
    """The streams were closed while one of them waited."""


class StreamGroup:
    """What the threads of open streams share: the end of all of them."""

    def __init__(self) -> None:
        self.closed = threading.Event()
        self._lock = threading.Lock()
        self._responses: set[urllib3.BaseHTTPResponse] = set()

    def sleep(self, seconds: float) -> None:
        if self.closed.wait(seconds):
            raise StreamClosed

    @contextlib.contextmanager
    def closing(self, response: urllib3.BaseHTTPResponse) -> Iterator[None]:
        """Ends the reading of this response when the line closes."""
        with self._lock:
            self._responses.add(response)
        try:
            if self.closed.is_set():
                raise StreamClosed
            yield
        finally:
            with self._lock:
                self._responses.discard(response)
            response.close()

    def close(self) -> None:
        self.closed.set()
        with self._lock:
            for response in self._responses:
                _cut(response)


def _cut(response: urllib3.BaseHTTPResponse) -> None:
    """Wakes the thread that reads; closing would wait for it."""
    sock = getattr(response.connection, "sock", None)
    with contextlib.suppress(OSError, AttributeError):
        sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]


class Reflector:
    """Follows one selection.

    :param listed: takes all objects, after each list.
    :param changed: takes one object, and whether it left the selection.
    """

    def __init__(
        self,
        sender: Client,
        line: StreamGroup,
        selection: ListQuery,
        changed: Callable[[Manifest, bool], None],
    ):
        self._sender = sender
        self._line = line
        self._selection = selection
        self._changed = changed

    def follow(self, look: Callable[[], str]) -> None:
        """Until the line closes.

        :param look: reports what there is, and returns its version. It is
            called again when a watch cannot go on where it ended.
        """
        version: str | None = None
        failures = silent = 0
        while True:
            try:
                if version is None:
                    version = look()
                before = version
                version, heard = self._watch(version)
                failures = 0 if heard else failures + 1
                silent = silent + 1 if version == before and heard else 0
                if silent:
                    # The next may be answered by another server.
                    self._sender.way.reconnect()
                if silent == _SILENT:
                    version, silent = None, 0
            except DependencyMissing as error:
                # Its conversion webhook is away; nothing else can be read.
                LOG.info("%s; trying again", error)
                version, failures = None, failures + 1
            if failures:
                self._line.sleep(backoff.WATCH.delay(failures))

    def listed(self) -> tuple[str, tuple[Manifest, ...]]:
        """All objects of the selection at one moment, and its version."""
        for size in (pagination.PAGE, 0):
            objs: list[Manifest] = []
            version = ""
            with contextlib.suppress(ResourceExpired):
                send = self._sender.send
                for page in pagination.pages(send, self._selection, size=size):
                    objs.extend(page)
                    version = page.version
                break
        return version, tuple(objs)

    def _watch(self, version: str) -> tuple[str | None, bool]:
        """The version to go on from, or None to look again.

        And whether the watch was of use: it brought something, or lasted.
        """
        begun = self._sender.clock()
        heard = False
        lasts = random.uniform(_LASTS, _LASTS * 1.25)  # noqa: S311
        seconds = max(1, int(min(lasts, self._sender.deadline.remaining)))
        request = self._selection.request(
            "watch",
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=version,
            timeoutSeconds=seconds,
        )
        try:
            response = self._sender.stream(request, seconds + _GRACE)
            with self._line.closing(response):
                for event in _events(response):
                    if event["type"] == "ERROR":
                        self._refused(request, event["object"])
                        return None, heard
                    heard = True
                    version = self._took(event) or version
        except ResourceExpired:
            return None, heard
        except (exceptions.HTTPError, OSError, ValueError):
            # It broke; what comes next is asked for from where it ended.
            if self._line.closed.is_set():
                raise StreamClosed from None
            return version, heard
        # Where nothing happens, a whole watch has nothing to say.
        lasted = self._sender.clock() - begun >= seconds / 2
        return version, heard or lasted

    def _took(self, event: Any) -> str:
        obj = event["object"]
        if event["type"] != "BOOKMARK":
            self._changed(obj, event["type"] == "DELETED")
        return str(field(obj, ("metadata", "resourceVersion"), ""))

    def _refused(self, request: Request, status: Any) -> None:
        """An error in mid-stream: 410 and what passes mean to look again."""
        answer = Response(int(status.get("code", 500)), status)
        means = error_for(request, answer, self._sender.server)
        if not isinstance(means, (Retryable, ResourceExpired)):
            raise means


def _events(response: urllib3.BaseHTTPResponse) -> Iterator[Any]:
    """One JSON document per line; what comes is not always a whole line."""
    rest = b""
    for part in response.stream(2**16, decode_content=False):
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            if line.strip():
                yield json.loads(line)
