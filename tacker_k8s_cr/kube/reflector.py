"""List the objects of a kind, then watch their changes."""

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

_WATCH_SECONDS = 30
"""Seconds, and up to a quarter more, after which the server ends a watch.

A stream that went silent shows nothing until then, and it cannot be
distinguished from a watch without changes. The next watch costs one small
request.
"""

_SILENT_WATCHES = 2
"""Consecutive watches without anything new, after which all objects are
listed again. An API server whose own watch of etcd has stalled shows nothing
on its watches; a list returns what etcd has."""

_GRACE = 10.0
"""Seconds after which the client ends a watch that the server did not."""


class StreamClosed(Exception):
    """The watches were closed while one of them waited."""


class StreamGroup:
    """The responses of open watches, which all threads can close."""

    def __init__(self) -> None:
        self.closed = threading.Event()
        self._lock = threading.Lock()
        self._responses: set[urllib3.BaseHTTPResponse] = set()

    def sleep(self, seconds: float) -> None:
        if self.closed.wait(seconds):
            raise StreamClosed

    @contextlib.contextmanager
    def closing(self, response: urllib3.BaseHTTPResponse) -> Iterator[None]:
        """End the reading of this response when the group is closed."""
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
                _shut_down(response)


def _shut_down(response: urllib3.BaseHTTPResponse) -> None:
    """Wake the thread that reads; closing would wait for it."""
    sock = getattr(response.connection, "sock", None)
    with contextlib.suppress(OSError, AttributeError):
        sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]


class Reflector:
    """Follows the objects of one selection.

    :param on_change: receives an object, and whether it was deleted.
    """

    def __init__(
        self,
        sender: Client,
        streams: StreamGroup,
        selection: ListQuery,
        on_change: Callable[[Manifest, bool], None],
    ):
        self._sender = sender
        self._streams = streams
        self._selection = selection
        self._on_change = on_change

    def follow(self, relist: Callable[[], str]) -> None:
        """Watch until the group is closed.

        :param relist: reports all objects, and returns their version. It is
            called again when a watch cannot continue where it ended.
        """
        version: str | None = None
        failures = silent_watches = 0
        while True:
            try:
                if version is None:
                    version = relist()
                before = version
                version, useful = self._watch(version)
                failures = 0 if useful else failures + 1
                silent_watches = (
                    silent_watches + 1 if version == before and useful else 0
                )
                if silent_watches:
                    # Another server may answer the next one.
                    self._sender.transport.reconnect()
                if silent_watches == _SILENT_WATCHES:
                    version, silent_watches = None, 0
            except DependencyMissing as error:
                # Its conversion webhook is unavailable.
                LOG.info("%s; trying again", error)
                version, failures = None, failures + 1
            if failures:
                self._streams.sleep(backoff.WATCH.delay(failures))

    def list_all(self) -> tuple[str, tuple[Manifest, ...]]:
        """Return all selected objects at one moment, and the version."""
        for size in (pagination.PAGE, 0):
            objs: list[Manifest] = []
            version = ""
            with contextlib.suppress(ResourceExpired):
                send = self._sender.send
                for page in pagination.list_pages(
                    send, self._selection, size=size
                ):
                    objs.extend(page)
                    version = page.version
                break
        return version, tuple(objs)

    def _watch(self, version: str) -> tuple[str | None, bool]:
        """Return the version to continue from, or None to list again.

        The second value is whether the watch reported anything, or lasted.
        """
        started = self._sender.clock()
        useful = False
        duration = random.uniform(_WATCH_SECONDS, _WATCH_SECONDS * 1.25)  # noqa: S311
        seconds = max(1, int(min(duration, self._sender.deadline.remaining)))
        request = self._selection.request(
            "watch",
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=version,
            timeoutSeconds=seconds,
        )
        try:
            response = self._sender.stream(request, seconds + _GRACE)
            with self._streams.closing(response):
                for event in _events(response):
                    if event["type"] == "ERROR":
                        self._require_transient(request, event["object"])
                        return None, useful
                    useful = True
                    version = self._handle_event(event) or version
        except ResourceExpired:
            return None, useful
        except (exceptions.HTTPError, OSError, ValueError):
            # The connection broke; the next watch continues from there.
            if self._streams.closed.is_set():
                raise StreamClosed from None
            return version, useful
        # Without changes, a whole watch reports nothing.
        lasted = self._sender.clock() - started >= seconds / 2
        return version, useful or lasted

    def _handle_event(self, event: Any) -> str:
        obj = event["object"]
        if event["type"] != "BOOKMARK":
            self._on_change(obj, event["type"] == "DELETED")
        return str(field(obj, ("metadata", "resourceVersion"), ""))

    def _require_transient(self, request: Request, status: Any) -> None:
        """Raise an error event, unless a new list can resolve it."""
        answer = Response(int(status.get("code", 500)), status)
        meaning = error_for(request, answer, self._sender.server)
        if not isinstance(meaning, (Retryable, ResourceExpired)):
            raise meaning


def _events(response: urllib3.BaseHTTPResponse) -> Iterator[Any]:
    """Yield one JSON document per line; a part may end within a line."""
    rest = b""
    for part in response.stream(2**16, decode_content=False):
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            if line.strip():
                yield json.loads(line)
