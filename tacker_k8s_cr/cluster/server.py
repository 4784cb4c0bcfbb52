"""The real cluster: a kube-apiserver behind the seam of ``protocol``."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import os
from typing import Any

from tacker_k8s_cr.cluster import listing
from tacker_k8s_cr.cluster import verbs
from tacker_k8s_cr.cluster import watching
from tacker_k8s_cr.cluster.answers import Absent
from tacker_k8s_cr.cluster.answers import Answer
from tacker_k8s_cr.cluster.answers import Request
from tacker_k8s_cr.cluster.connection import Apart
from tacker_k8s_cr.cluster.connection import Connection
from tacker_k8s_cr.cluster.connection import Source
from tacker_k8s_cr.cluster.discovery import Discovery
from tacker_k8s_cr.cluster.parallel import Pool
from tacker_k8s_cr.cluster.protocol import Applied
from tacker_k8s_cr.cluster.protocol import Item
from tacker_k8s_cr.cluster.protocol import Result
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.cluster.protocol import Watching
from tacker_k8s_cr.cluster.requests import Counter
from tacker_k8s_cr.cluster.requests import Doubtful
from tacker_k8s_cr.cluster.requests import Sender
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.errors import Error
from tacker_k8s_cr.errors import KindUnknown
from tacker_k8s_cr.errors import Outdated
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Resource
from tacker_k8s_cr.objects import split_api_version


class _Process:
    """What one process has open; a fork starts with nothing of its parent."""

    def __init__(self, source: Source, verify: bool, size: int):
        # Beside the pool's threads, those of callers and of a lock.
        self.connection = Connection(source, verify, size + 8)
        self.pool = Pool(size)
        self.discovery = Discovery()
        self.counter = Counter()

    def close(self) -> None:
        self.pool.close()
        self.connection.close()


class _Processes:
    """What is open, by process id."""

    def __init__(self, source: Source, verify: bool, size: int):
        self._made = (source, verify, size)
        self._by_id: dict[int, _Process] = {}

    def own(self) -> _Process:
        own = self._by_id.get(os.getpid())
        if own is None:
            # Not under a lock: a fork may have copied a locked one.
            made = _Process(*self._made)
            own = self._by_id.setdefault(os.getpid(), made)
        return own

    def close(self) -> None:
        if own := self._by_id.pop(os.getpid(), None):
            own.close()


class ApiServer:
    """A ``Cluster``. Nothing is sent, and no thread made, before its use."""

    def __init__(
        self, source: Source, server: str, verify: bool = True, pool: int = 16
    ):
        self._server = server
        self._processes = _Processes(source, verify, pool)
        self._deadline = Deadline.never()

    @property
    def server(self) -> str:
        return self._server

    @property
    def requests(self) -> int:
        return self._processes.own().counter.total

    def until(self, deadline: Deadline) -> ApiServer:
        view = object.__new__(ApiServer)
        view._server = self._server
        view._processes = self._processes
        view._deadline = deadline
        return view

    def version(self) -> str:
        request = Request("get", "GET", "/version", "/version")
        return str(self._send(request).body.get("gitVersion", ""))

    # -- Kinds --------------------------------------------------------------

    def resource(self, group_kind: GroupKind, version: str = "") -> Resource:
        discovery = self._processes.own().discovery
        return discovery.resource(self._ask, group_kind, version)

    def resources(self) -> Sequence[Resource]:
        # A group whose own server is away must not hold up all others.
        hasty = self.until(self._deadline.sooner(10.0))
        return self._processes.own().discovery.resources(hasty._ask)

    def forget(self, group: str) -> None:
        self._processes.own().discovery.forget(group)

    def _ask(self, path: str) -> Mapping[str, Any]:
        try:
            return self._send(Request("get", "GET", path, path)).body
        except Absent:
            return {}

    # -- Reading ------------------------------------------------------------

    def get(self, ref: ObjectRef) -> Manifest | None:
        return self._got(ref, verbs.JSON)

    def get_metadata(self, ref: ObjectRef) -> Manifest | None:
        obj = self._got(ref, verbs.METADATA)
        if obj is None:
            return None
        resource = self.resource(ref.group_kind)
        return {
            **obj,
            "apiVersion": resource.api_version,
            "kind": resource.kind,
        }

    def list_objects(
        self,
        group_kind: GroupKind,
        namespace: str = "",
        selector: str = "",
        fields: str = "",
    ) -> Iterator[Manifest]:
        resource = self.resource(group_kind)
        what = listing.Selection(resource, namespace, selector, fields)
        return listing.objects(self._send, what)

    def list_metadata(
        self, group_kind: GroupKind, namespace: str = "", selector: str = ""
    ) -> Iterator[Manifest]:
        resource = self.resource(group_kind)
        what = listing.Selection(resource, namespace, selector)
        return listing.objects(self._send, what, metadata=True)

    def _got(self, ref: ObjectRef, accept: str) -> Manifest | None:
        try:
            resource = self.resource(ref.group_kind)
            return self._send(verbs.get(ref, resource, accept)).body
        except (Absent, KindUnknown):
            return None

    # -- Writing ------------------------------------------------------------

    def apply(
        self,
        manifest: Manifest,
        manager: str,
        *,
        uid: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> Applied:
        request = verbs.apply(
            manifest,
            self._resource_of(manifest),
            manager,
            uid=uid,
            force=force,
            dry_run=dry_run,
        )
        answer = self._send(request)
        created = answer.code == 201
        if answer.repeated and not uid:
            # The first attempt, whose answer was lost, may have made it.
            created = created or verbs.only_writer(answer.body, manager)
        return Applied(answer.body, created)

    def create(self, manifest: Manifest, manager: str) -> Manifest:
        resource = self._resource_of(manifest)
        return self._once(verbs.create(manifest, resource, manager), manifest)

    def replace(self, manifest: Manifest, manager: str) -> Manifest:
        resource = self._resource_of(manifest)
        return self._once(verbs.replace(manifest, resource, manager), manifest)

    def patch(
        self,
        ref: ObjectRef,
        body: Mapping[str, Any],
        manager: str,
        *,
        subresource: str = "",
    ) -> Manifest:
        resource = self.resource(ref.group_kind)
        request = verbs.patch(ref, resource, body, manager, subresource)
        return self._send(request).body

    def delete(
        self,
        ref: ObjectRef,
        uid: str,
        *,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> Manifest | None:
        try:
            resource = self.resource(ref.group_kind)
            request = verbs.delete(
                ref, resource, uid, grace_seconds, propagation
            )
            obj = self._send(request).body
        except (Absent, KindUnknown, Outdated):
            return None
        return obj if verbs.goes_on(obj) else None

    def _once(self, request: Request, manifest: Manifest) -> Manifest:
        """A write that is refused when it was done already."""
        try:
            return self._send(request).body
        except Doubtful as error:
            live = self.get(error.ref)
            if live is not None and verbs.holds(live, manifest):
                return live
            raise

    def _resource_of(self, manifest: Manifest) -> Resource:
        _, version = split_api_version(manifest["apiVersion"])
        return self.resource(GroupKind.of(manifest), version)

    # -- Many at once -------------------------------------------------------

    def each(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[tuple[Item, Result | Error], None, None]:
        return self._processes.own().pool.each(function, items)

    def watching(
        self, watches: Sequence[Watch]
    ) -> contextlib.AbstractContextManager[Watching]:
        apart = Apart(self._processes.own().connection, len(watches))
        return watching.opened(self, self._sender(), apart, watches)

    def close(self) -> None:
        self._processes.close()

    def _sender(self) -> Sender:
        own = self._processes.own()
        return Sender(
            own.connection, self._server, own.counter, self._deadline
        )

    def _send(self, request: Request) -> Answer:
        return self._sender().send(request)
