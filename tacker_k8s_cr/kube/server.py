"""The real cluster: a kube-apiserver behind ``protocol.Cluster``."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import copy
import itertools
from typing import Any

from tacker_k8s_cr.kube import access_reviews
from tacker_k8s_cr.kube import pagination
from tacker_k8s_cr.kube import watch_set
from tacker_k8s_cr.kube.connection import WatchConnection
from tacker_k8s_cr.kube.first_answer import FirstAnswer
from tacker_k8s_cr.kube.http import verbs
from tacker_k8s_cr.kube.http.http_model import NotFound
from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.http_model import ResourceNotServed
from tacker_k8s_cr.kube.http.http_model import ResourceNotServedOnWrite
from tacker_k8s_cr.kube.http.http_model import Response
from tacker_k8s_cr.kube.http.requests import Client
from tacker_k8s_cr.kube.http.retry_loop import AmbiguousConflict
from tacker_k8s_cr.kube.lagging_servers import LaggingServer
from tacker_k8s_cr.kube.per_process import Counters
from tacker_k8s_cr.kube.per_process import Processes
from tacker_k8s_cr.kube.protocol import ApplyResponse
from tacker_k8s_cr.kube.protocol import Item
from tacker_k8s_cr.kube.protocol import Result
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchSession
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Conflict
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.errors import KindNotServed
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.model.objects import split_api_version
from tacker_k8s_cr.model.permissions import Permission
from tacker_k8s_cr.model.permissions import PolicyRule

_DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")


class ApiServer:
    """A ``Cluster``. It sends nothing and starts no thread before its use."""

    def __init__(
        self,
        processes: Processes,
        server: str,
        contact: FirstAnswer | None = None,
    ):
        self._server = server
        self._contact = contact
        self._processes = processes
        self._counters = Counters()
        self._deadline = Deadline.never()

    @property
    def server(self) -> str:
        return self._server

    @property
    def requests(self) -> int:
        return self._counters.own().total

    def with_deadline(self, deadline: Deadline) -> ApiServer:
        view = copy.copy(self)
        view._deadline = deadline
        return view

    def version(self) -> str:
        request = Request("get", "GET", "/version", "/version")
        return str(self._send(request).body.get("gitVersion", ""))

    def can_i(self, permission: Permission) -> bool:
        return access_reviews.is_allowed(self._send, permission)

    def list_rules(self, namespace: str) -> Sequence[PolicyRule]:
        return access_reviews.list_rules(self._send, namespace)

    # -- Kinds --------------------------------------------------------------

    def resource(self, group_kind: GroupKind, version: str = "") -> Resource:
        discovery = self._processes.own().discovery
        lagging: LaggingServer | None = None
        while True:
            try:
                return discovery.resource(
                    self._fetch, group_kind, version, self._deadline
                )
            except KindNotServed:
                lagging = lagging or self._lagging_server(group_kind, version)
                if not lagging.should_retry():
                    raise
                discovery.invalidate(group_kind.group)

    def resources(self) -> Sequence[Resource]:
        discovery = self._processes.own().discovery
        return discovery.resources(self._fetch, self._deadline)

    def invalidate(self, group: str) -> None:
        self._processes.own().discovery.invalidate(group)

    def _fetch(self, path: str, deadline: Deadline) -> Mapping[str, Any]:
        request = Request("get", "GET", path, path)
        try:
            return self.with_deadline(deadline)._send(request).body
        except NotFound:
            return {}

    def _call_served(
        self,
        group_kind: GroupKind,
        version: str,
        send: Callable[[Resource], Result],
    ) -> Result:
        """Send a request to the path at which the kind was discovered.

        If the server has no such path, the cached path is discarded, because
        definitions change, and discovery is repeated: once, unless a
        definition shows that the server should serve the kind.
        """
        resource = self.resource(group_kind, version)
        lagging: LaggingServer | None = None
        rediscovered = False
        while True:
            try:
                return send(resource)
            except (ResourceNotServedOnWrite, ResourceNotServed) as error:
                lagging = lagging or self._lagging_server(group_kind, version)
                self.invalidate(group_kind.group)
                try:
                    current = self.resource(group_kind, version)
                except KindNotServed:
                    current = resource
                if (
                    rediscovered or current == resource
                ) and not lagging.should_retry(error):
                    raise
                rediscovered = rediscovered or current != resource
                resource = current

    def _lagging_server(
        self, group_kind: GroupKind, version: str
    ) -> LaggingServer:
        connections = self._processes.own()

        def is_defined() -> bool:
            return connections.definitions.is_served(
                self._send, group_kind, version, self._deadline
            )

        return LaggingServer(
            self._server,
            group_kind,
            self._deadline,
            is_defined,
            connections.connection.reconnect,
        )

    # -- Reading ------------------------------------------------------------

    def get(self, ref: ObjectRef, version: str = "") -> Manifest | None:
        return self._get(ref, verbs.JSON, version)

    def get_metadata(self, ref: ObjectRef) -> Manifest | None:
        obj = self._get(ref, verbs.METADATA)
        if obj is None:
            return None
        resource = self.resource(ref.group_kind)
        type_meta = {"apiVersion": resource.api_version, "kind": resource.kind}
        return {**obj, **type_meta}

    def list_objects(
        self,
        group_kind: GroupKind,
        namespace: str = "",
        selector: str = "",
        fields: str = "",
        page: int = 0,
    ) -> Iterator[Manifest]:
        self.resource(group_kind)
        what = (namespace, selector, fields)
        return self._list(group_kind, what, metadata=False, page=page)

    def list_metadata(
        self, group_kind: GroupKind, namespace: str = "", selector: str = ""
    ) -> Iterator[Manifest]:
        self.resource(group_kind)
        what = (namespace, selector, "")
        return self._list(group_kind, what, metadata=True)

    def _list(
        self,
        group_kind: GroupKind,
        what: tuple[str, str, str],
        metadata: bool,
        page: int = 0,
    ) -> Iterator[Manifest]:
        def first_page(resource: Resource) -> Iterator[Manifest]:
            """Read the first page, which shows whether the kind is served."""
            selection = pagination.ListQuery(resource, *what)
            size = page or pagination.PAGE
            objs = pagination.list_objects(
                self._send, selection, metadata, size
            )
            return itertools.chain(list(itertools.islice(objs, 1)), objs)

        with contextlib.suppress(ResourceNotServed, KindNotServed):
            yield from self._call_served(group_kind, "", first_page)

    def _get(
        self, ref: ObjectRef, accept: str, version: str = ""
    ) -> Manifest | None:
        def get(resource: Resource) -> Manifest | None:
            try:
                return self._send(verbs.get(ref, resource, accept)).body
            except ResourceNotServed:
                if resource.namespaced != bool(ref.namespace):
                    # No server has an object at that path, even if it
                    # lags behind.
                    return None
                raise

        try:
            return self._call_served(ref.group_kind, version, get)
        except (NotFound, KindNotServed):
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
    ) -> ApplyResponse:
        def send(resource: Resource) -> ApplyResponse:
            request = verbs.apply(
                manifest,
                resource,
                manager,
                uid=uid,
                force=force,
                dry_run=dry_run,
            )
            answer = self._send(request)
            created = verbs.was_created(answer, manager, uid)
            return ApplyResponse(answer.body, created)

        return self._write(manifest, send)

    def create(self, manifest: Manifest, manager: str) -> Manifest:
        def send(resource: Resource) -> Manifest:
            request = verbs.create(manifest, resource, manager)
            return self._write_once(request, manifest)

        return self._write(manifest, send)

    def submit(self, manifest: Manifest, manager: str) -> Manifest:
        def send(resource: Resource) -> Manifest:
            request = verbs.submit(manifest, resource, manager)
            return self._send(request).body

        return self._write(manifest, send)

    def replace(self, manifest: Manifest, manager: str) -> Manifest:
        def send(resource: Resource) -> Manifest:
            request = verbs.replace(manifest, resource, manager)
            return self._write_once(request, manifest)

        return self._write(manifest, send)

    def patch(
        self,
        ref: ObjectRef,
        body: Mapping[str, Any],
        manager: str,
        *,
        subresource: str = "",
    ) -> Manifest:
        def send(resource: Resource) -> Manifest:
            return self._send(
                verbs.patch(ref, resource, body, manager, subresource)
            ).body

        return self._call_served(ref.group_kind, "", send)

    def delete(
        self,
        ref: ObjectRef,
        uid: str,
        *,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> Manifest | None:
        def send(resource: Resource) -> Manifest:
            return self._send(
                verbs.delete(ref, resource, uid, grace_seconds, propagation)
            ).body

        try:
            obj = self._call_served(ref.group_kind, "", send)
        except (NotFound, KindNotServed, Conflict):
            return None
        if ref.group_kind == _DEFINITION:
            # Its name is the plural and the group of what it defines.
            self.invalidate(ref.name.partition(".")[2])
        return obj if verbs.still_exists(obj) else None

    def _write(
        self, manifest: Manifest, send: Callable[[Resource], Result]
    ) -> Result:
        """Send a write to the manifest's version."""
        _, version = split_api_version(manifest["apiVersion"])
        return self._call_served(GroupKind.of(manifest), version, send)

    def _write_once(self, request: Request, manifest: Manifest) -> Manifest:
        """Send a write whose repetition is refused as a conflict."""
        try:
            return self._send(request).body
        except AmbiguousConflict as error:
            live = self.get(error.ref)
            if live is not None and verbs.contains(live, manifest):
                return live
            raise

    # -- Many at once -------------------------------------------------------

    def map_parallel(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[tuple[Item, Result | Error], None, None]:
        return self._processes.own().pool.map(function, items)

    def watch(
        self, watches: Sequence[Watch]
    ) -> contextlib.AbstractContextManager[WatchSession]:
        connection = WatchConnection(
            self._processes.own().connection, len(watches)
        )
        return watch_set.open_watches(
            self, self._client(), connection, watches
        )

    def close(self) -> None:
        self._processes.close()

    def _client(self) -> Client:
        connection = self._processes.own().connection
        counter = self._counters.own()
        return Client(
            connection,
            self._server,
            counter,
            self._deadline,
            contact=self._contact,
        )

    def _send(self, request: Request) -> Response:
        return self._client().send(request)
