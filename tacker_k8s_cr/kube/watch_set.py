"""Several watches in parallel, each with a thread and a connection."""

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

_RETRY_SECONDS = 2.0
"""Seconds between checks for a kind that the server does not serve."""

_CLOSE_SECONDS = 0.5
"""Seconds for the threads of all watches to end."""


@contextlib.contextmanager
def open_watches(
    cluster: Cluster,
    sender: Client,
    connection: WatchConnection,
    watches: Sequence[Watch],
) -> Iterator[WatchSet]:
    """Open the watches, as described in ``Cluster.watch``."""
    streams = WatchSet(cluster, sender, connection)
    try:
        for watch in watches:
            streams.open(functools.partial(streams.follow, watch))
        yield streams
    finally:
        streams.close()


class WatchSet:
    """A ``WatchSession``: threads add updates, one caller reads them."""

    def __init__(
        self, cluster: Cluster, sender: Client, connection: WatchConnection
    ):
        self._cluster = cluster
        self._streams = StreamGroup()
        self._connection = connection
        # Retry for as long as the caller waits for updates.
        self._sender = dataclasses.replace(
            sender,
            transport=connection,
            retry_until_deadline=True,
            sleep=self._streams.sleep,
        )
        self._updates: queue.SimpleQueue[WatchUpdate | BaseException] = (
            queue.SimpleQueue()
        )
        self._error: BaseException | None = None
        self._threads: list[threading.Thread] = []

    def next_events(self, seconds: float) -> Sequence[WatchUpdate]:
        """See ``WatchSession``. Updates before an error are returned first."""
        updates: list[WatchUpdate] = []
        wait = min(max(0.0, seconds), threading.TIMEOUT_MAX)
        while self._error is None:
            try:
                update = self._updates.get(timeout=0.0 if updates else wait)
            except queue.Empty:
                return updates
            if isinstance(update, BaseException):
                self._error = update
            else:
                updates.append(update)
        if updates:
            return updates
        raise self._error

    def open(self, follow: Callable[[], None]) -> None:
        thread = threading.Thread(
            # With the context of the caller, which a log line needs.
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
        self._streams.close()
        end = time.monotonic() + _CLOSE_SECONDS
        for thread in tuple(self._threads):
            # One that waits for a response ends when it arrives.
            thread.join(max(0.0, end - time.monotonic()))
        self._connection.close()

    def _run(self, follow: Callable[[], None]) -> None:
        try:
            follow()
        except StreamClosed:
            pass
        except BaseException as error:  # noqa: BLE001
            # It is raised in the caller, unless the deadline has passed or
            # caused it.
            closed = (
                self._streams.closed.is_set() or self._sender.deadline.expired
            )
            if not (
                isinstance(error, Error) and (closed or error.deadline_passed)
            ):
                self._updates.put(error)

    def follow(self, watch: Watch) -> None:
        """Watch a whole kind, or else the named objects one by one."""
        reported_absent = False
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
                # Objects are deleted with the definition of their kind.
                if not reported_absent:
                    self._updates.put(Snapshot(watch, ()))
                reported_absent = True
                self._cluster.invalidate(watch.group_kind.group)
                self._connection.reconnect()
                self._streams.sleep(_RETRY_SECONDS)
            except DependencyMissing as error:
                # The kind is defined, but the server does not serve it yet.
                LOG.info("%s; trying again", error)
                self._connection.reconnect()
                self._streams.sleep(_RETRY_SECONDS)

    def _follow_list(self, watch: Watch, resource: Resource) -> None:
        selection = ListQuery(resource, watch.namespace, watch.selector)
        stream = Reflector(
            self._sender, self._streams, selection, self._report_change
        )

        def relist() -> str:
            version, objs = stream.list_all()
            self._updates.put(Snapshot(watch, objs))
            return version

        stream.follow(relist)

    def _follow_names(self, watch: Watch, resource: Resource) -> None:
        named = {
            name: ObjectRef(
                resource.group, resource.kind, watch.namespace, name
            )
            for name in sorted(watch.names)
        }
        objs = {name: self._get(ref, resource) for name, ref in named.items()}
        self._updates.put(
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
        """Watch one object, whose known state was reported."""
        last = known
        first = True

        def report_change(obj: Manifest, deleted: bool) -> None:
            nonlocal last
            last = None if deleted else obj
            self._report_change(obj, deleted)

        def relist() -> str:
            nonlocal first
            before = last
            found = known if first else self._get(ref, resource)
            if not first and (found or before):
                report_change(found or before or {}, found is None)
            first = False
            # Without a version, a watch first returns the existing objects.
            return str(field(found, ("metadata", "resourceVersion"), ""))

        selection = ListQuery(
            resource, ref.namespace, fields=f"metadata.name={ref.name}"
        )
        Reflector(
            self._sender, self._streams, selection, report_change
        ).follow(relist)

    def _get(self, ref: ObjectRef, resource: Resource) -> Manifest | None:
        try:
            return self._sender.send(verbs.get(ref, resource)).body
        except NotFound:
            return None

    def _report_change(self, obj: Manifest, deleted: bool) -> None:
        self._updates.put(WatchEvent(obj, deleted))
