"""Several streams at once, each with a thread and a connection."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import contextvars
import dataclasses
import functools
import logging
import queue
import threading
import time

from tacker_k8s_cr.kube.connection import WatchConnection
from tacker_k8s_cr.kube.http import verbs
from tacker_k8s_cr.kube.http.http_model import NotFound
from tacker_k8s_cr.kube.http.requests import Client
from tacker_k8s_cr.kube.pagination import ListQuery
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Snapshot
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchEvent
from tacker_k8s_cr.kube.protocol import WatchUpdate
from tacker_k8s_cr.kube.reflector import Reflector
from tacker_k8s_cr.kube.reflector import StreamClosed
from tacker_k8s_cr.kube.reflector import StreamGroup
from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.errors import Forbidden
from tacker_k8s_cr.model.errors import KindNotServed
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.model.objects import field

LOG = logging.getLogger(__name__)

_ASK_AGAIN = 2.0
"""Seconds between looks for a kind that the server does not serve."""

_PARTING = 0.5
"""Seconds for the threads of all streams to end."""


@contextlib.contextmanager
def open_watches(
    cluster: Cluster,
    sender: Client,
    apart: WatchConnection,
    watches: Sequence[Watch],
) -> Iterator[WatchSet]:
    """The streams, as ``Cluster.watching`` describes them."""
    streams = WatchSet(cluster, sender, apart)
    try:
        for watch in watches:
            streams.open(functools.partial(streams.follow, watch))
        yield streams
    finally:
        streams.close()


class WatchSet:
    """A ``Watching``: threads put in, one caller takes out."""

    def __init__(
        self, cluster: Cluster, sender: Client, apart: WatchConnection
    ):
        self._cluster = cluster
        self._line = StreamGroup()
        self._apart = apart
        # As long as anybody waits, however long the server is away.
        self._sender = dataclasses.replace(
            sender, way=apart, lasting=True, sleep=self._line.sleep
        )
        self._came: queue.SimpleQueue[WatchUpdate | BaseException] = (
            queue.SimpleQueue()
        )
        self._error: BaseException | None = None
        self._threads: list[threading.Thread] = []

    def next_events(self, seconds: float) -> Sequence[WatchUpdate]:
        """See ``Watching``. What came before an error is taken first."""
        taken: list[WatchUpdate] = []
        wait = min(max(0.0, seconds), threading.TIMEOUT_MAX)
        while self._error is None:
            try:
                came = self._came.get(timeout=0.0 if taken else wait)
            except queue.Empty:
                return taken
            if isinstance(came, BaseException):
                self._error = came
            else:
                taken.append(came)
        if taken:
            return taken
        raise self._error

    def open(self, follow: Callable[[], None]) -> None:
        thread = threading.Thread(
            # With the context of who watches, which a log line needs.
            target=contextvars.copy_context().run,
            args=(self._run, follow),
            name="watch",
            daemon=True,
        )
        thread.start()
        # After that: an interrupt may come between the two, and a thread
        # that was not started cannot be waited for.
        self._threads.append(thread)

    def close(self) -> None:
        self._line.close()
        end = time.monotonic() + _PARTING
        for thread in tuple(self._threads):
            # One that waits for an answer ends when it has it, by itself.
            thread.join(max(0.0, end - time.monotonic()))
        self._apart.close()

    def _run(self, follow: Callable[[], None]) -> None:
        try:
            follow()
        except StreamClosed:
            pass
        except BaseException as error:  # noqa: BLE001
            # It belongs to who takes. Past the deadline nobody does, nor
            # for an error that comes just before, for lack of time.
            over = self._line.closed.is_set() or self._sender.deadline.expired
            if not (isinstance(error, Error) and (over or error.late)):
                self._came.put(error)

    def follow(self, watch: Watch) -> None:
        """A kind as a whole, else the named objects one by one."""
        told_absent = False
        while True:
            try:
                resource = self._cluster.resource(watch.group_kind)
                self._follow_list(watch, resource)
            except Forbidden:
                if not watch.names:
                    raise
                LOG.info(
                    "listing %s is forbidden; watching by name",
                    watch.group_kind,
                )
                return self._follow_names(watch, resource)
            except (NotFound, KindNotServed):
                # Objects go with the definition of their kind.
                if not told_absent:
                    self._came.put(Snapshot(watch, ()))
                told_absent = True
                self._cluster.invalidate(watch.group_kind.group)
                self._apart.reconnect()
                self._line.sleep(_ASK_AGAIN)
            except DependencyMissing as error:
                # The kind is defined, but the server does not serve it yet.
                LOG.info("%s; trying again", error)
                self._apart.reconnect()
                self._line.sleep(_ASK_AGAIN)

    def _follow_list(self, watch: Watch, resource: Resource) -> None:
        selection = ListQuery(resource, watch.namespace, watch.selector)
        stream = Reflector(self._sender, self._line, selection, self._changed)

        def look() -> str:
            version, objs = stream.listed()
            self._came.put(Snapshot(watch, objs))
            return version

        stream.follow(look)

    def _follow_names(self, watch: Watch, resource: Resource) -> None:
        named = {
            name: ObjectRef(
                resource.group, resource.kind, watch.namespace, name
            )
            for name in sorted(watch.names)
        }
        objs = {name: self._got(ref, resource) for name, ref in named.items()}
        self._came.put(
            Snapshot(watch, tuple(obj for obj in objs.values() if obj))
        )
        for name, ref in named.items():
            follow = functools.partial(
                self._follow_name, ref, resource, objs[name]
            )
            self.open(follow)

    def _follow_name(
        self, ref: ObjectRef, resource: Resource, known: Manifest | None
    ) -> None:
        """One object, which was reported as it is known."""
        last = known
        first = True

        def changed(obj: Manifest, gone: bool) -> None:
            nonlocal last
            last = None if gone else obj
            self._changed(obj, gone)

        def look() -> str:
            nonlocal first
            before = last
            found = known if first else self._got(ref, resource)
            if not first and (found or before):
                changed(found or before or {}, found is None)
            first = False
            # Without a version, a watch shows first what there is.
            return str(field(found, ("metadata", "resourceVersion"), ""))

        selection = ListQuery(
            resource, ref.namespace, fields=f"metadata.name={ref.name}"
        )
        Reflector(self._sender, self._line, selection, changed).follow(look)

    def _got(self, ref: ObjectRef, resource: Resource) -> Manifest | None:
        try:
            return self._sender.send(verbs.get(ref, resource)).body
        except NotFound:
            return None

    def _changed(self, obj: Manifest, gone: bool) -> None:
        self._came.put(WatchEvent(obj, gone))
