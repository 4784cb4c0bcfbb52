"""The fake cluster, which shows the behaviour of ``cluster.protocol``."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
from typing import Any

from tacker_k8s_cr.kube.protocol import ApplyResponse
from tacker_k8s_cr.kube.protocol import Item
from tacker_k8s_cr.kube.protocol import Result
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Conflict
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.errors import KindNotServed
from tacker_k8s_cr.model.errors import Rejected
from tacker_k8s_cr.model.errors import Unavailable
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.model.objects import field
from tacker_k8s_cr.model.permissions import Permission
from tacker_k8s_cr.model.permissions import PolicyRule
from tests.fakes import field_ownership
from tests.fakes import served_kinds
from tests.fakes.defaults import DEFINITION
from tests.fakes.defaults import ClusterState
from tests.fakes.object_store import Stored
from tests.fakes.streams import FakeWatchSession
from tests.fakes.streams import is_selected

_REVIEW = GroupKind("authorization.k8s.io", "SelfSubjectAccessReview")
_RULES = GroupKind("authorization.k8s.io", "SelfSubjectRulesReview")


def no_reaction(seconds: float) -> None:
    assert not seconds, "a watch waits, and nothing more will come"


class FakeCluster:
    """A cluster without a server. What is beyond the protocol:

    :param controller: called with this cluster and the object after each
        write, to play the controllers (their own writes do not call it).
    :param idle: called with the seconds when a watch has nothing to show,
        instead of waiting; it may write, or move a clock. Left out, a wait for
        what never comes fails instead of going on for ever.
    """

    def __init__(
        self,
        controller: Callable[[FakeCluster, Manifest], None] | None = None,
        idle: Callable[[float], None] = no_reaction,
    ):
        self.world = ClusterState()
        self.world.controller = controller
        self.world.idle = idle
        self.deadline = Deadline.never()
        for name in ("default", "kube-system"):
            metadata = {"name": name}
            self.apply(
                {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": metadata,
                },
                "fake",
            )
        self.sent.clear()

    @property
    def server(self) -> str:
        return "https://fake.example.org"

    @property
    def sent(self) -> list[tuple[str, ObjectRef | GroupKind | None]]:
        """Every request: its verb, and what it was about."""
        return self.world.sent

    @property
    def requests(self) -> int:
        return len(self.sent)

    def fail(
        self, error: Error, verb: str = "", ref: ObjectRef | None = None
    ) -> None:
        """The next request (of this verb, about this object) raises it."""
        self.world.faults.append((verb, ref, error))

    def report(self, ref: ObjectRef, status: Mapping[str, Any]) -> Manifest:
        """Write a status, as a controller does."""
        stored = self.world.found(ref)
        obj = {**stored.obj, "status": dict(status)}
        return self.world.kept(
            stored.updated(obj, "controller", "status"), stored
        )

    def with_deadline(self, deadline: Deadline) -> FakeCluster:
        view = object.__new__(FakeCluster)
        view.world = self.world
        view.deadline = deadline
        return view

    def version(self) -> str:
        self._send("get")
        return self.world.version

    def can_i(self, right: Permission) -> bool:
        self._send("review", _REVIEW)
        return not self.world.denies(right)

    def list_rules(self, namespace: str) -> Sequence[PolicyRule]:
        """None: an authorizer need not be able to list them."""
        self._send("review", _RULES)
        return ()

    def resource(self, group_kind: GroupKind, version: str = "") -> Resource:
        served = self.world.served(group_kind)
        for resource in served:
            if version in ("", resource.version):
                return resource
        versions = tuple(r.version for r in served) if version else ()
        raise KindNotServed(group_kind, version, versions)

    def resources(self) -> Sequence[Resource]:
        return tuple(served[0] for served in self.world.kinds.values())

    def invalidate(self, group: str) -> None:
        """There is nothing that it could remember wrongly."""

    def get(self, ref: ObjectRef, version: str = "") -> Manifest | None:
        self._send("get", ref)
        stored = self.world.objects.get(ref)
        return stored.shown() if stored else None

    def get_metadata(self, ref: ObjectRef) -> Manifest | None:
        obj = self.get(ref)
        return _metadata_of(obj) if obj else None

    def list_objects(
        self,
        group_kind: GroupKind,
        namespace: str = "",
        selector: str = "",
        fields: str = "",
        page: int = 0,
    ) -> Iterator[Manifest]:
        self._send("list", group_kind)
        self.resource(group_kind)
        watch = Watch(group_kind, namespace, selector)
        wanted = dict(pair.split("=", 1) for pair in fields.split(",") if pair)
        return iter(
            [
                stored.shown()
                for ref, stored in sorted(self.world.objects.items())
                if is_selected(watch, stored.obj)
                and all(
                    field(stored.obj, tuple(path.split("."))) == value
                    for path, value in wanted.items()
                )
            ]
        )

    def list_metadata(
        self, group_kind: GroupKind, namespace: str = "", selector: str = ""
    ) -> Iterator[Manifest]:
        objs = self.list_objects(group_kind, namespace, selector)
        return map(_metadata_of, objs)

    def apply(
        self,
        manifest: Manifest,
        manager: str,
        *,
        uid: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> ApplyResponse:
        ref = self._to_write("patch", manifest)
        if ref.group_kind == DEFINITION and not served_kinds.is_definition(
            manifest
        ):
            bare = set(manifest) == {"apiVersion", "kind", "metadata"}
            if not bare or ref not in self.world.objects:
                raise Rejected(ref, 422, "Invalid", "spec: Required value")
        stored = self.world.objects.get(ref)
        if uid and (stored is None or uid != objects.uid(stored.obj)):
            raise Conflict(ref, f"the object does not have the uid {uid}")
        if stored is None:
            self.world.check_place(ref)
            start = Stored(self.world.new(manifest), {})
            made = start.applied(manifest, manager, force)
            obj = made.shown() if dry_run else self._kept(made, None)
            return ApplyResponse(obj, created=True)
        after = stored.applied(manifest, manager, force)
        obj = after.shown() if dry_run else self._kept(after, stored)
        return ApplyResponse(obj, created=False)

    def create(self, manifest: Manifest, manager: str) -> Manifest:
        ref = self._to_write("create", manifest)
        if ref in self.world.objects:
            raise Conflict(ref, f"{ref.name} already exists")
        self.world.check_place(ref)
        new = self.world.new(manifest)
        start = Stored(new, {})
        made = start.updated(
            field_ownership.merge(new, dict(manifest)), manager
        )
        return self._kept(made, None)

    def submit(self, manifest: Manifest, manager: str) -> Manifest:
        self._to_write("create", manifest)
        self.world.answered.append(manifest)
        status = {"allowed": True, "reason": "RBAC: allowed"}
        return {**manifest, "status": status}

    def replace(self, manifest: Manifest, manager: str) -> Manifest:
        ref = self._to_write("update", manifest)
        stored = self.world.found(ref)
        self._check_version(ref, stored, manifest)
        given = {**manifest["metadata"]}
        given.pop("managedFields", None)
        obj = {**manifest, "metadata": {**given}}
        return self._kept(stored.updated(obj, manager), stored)

    def patch(
        self,
        ref: ObjectRef,
        body: Mapping[str, Any],
        manager: str,
        *,
        subresource: str = "",
    ) -> Manifest:
        self._send("patch", ref)
        stored = self.world.found(ref)
        self._check_version(ref, stored, body)
        if subresource:
            served = self.resource(ref.group_kind).subresources
            if subresource not in served:
                raise Rejected(ref, 404, "NotFound", f"no {subresource}")
        if subresource == "scale":
            body = {"spec": {"replicas": body["spec"]["replicas"]}}
        obj = field_ownership.apply_patch(stored.obj, body)
        obj["metadata"]["resourceVersion"] = "0"
        entries = obj["metadata"].pop("managedFields", None)
        start = stored if entries is None else stored.managed(entries)
        return self._kept(start.updated(obj, manager, subresource), stored)

    def delete(
        self,
        ref: ObjectRef,
        uid: str,
        *,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> Manifest | None:
        self._send("delete", ref)
        stored = self.world.objects.get(ref)
        if stored is None or uid != objects.uid(stored.obj):
            return None
        self.world.request_deletion(ref)
        self.world.run_controllers(self, stored.shown())
        left = self.world.objects.get(ref)
        return left.shown() if left else None

    def map_parallel(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[tuple[Item, Result | Error], None, None]:
        for item in items:
            try:
                yield item, function(item)
            except Error as error:
                yield item, error

    @contextlib.contextmanager
    def watch(self, watches: Sequence[Watch]) -> Iterator[FakeWatchSession]:
        streams = FakeWatchSession(self.world, watches)
        self.world.watchers.append(streams)
        try:
            yield streams
        finally:
            self.world.watchers.remove(streams)

    def close(self) -> None:
        """There is nothing open."""

    def _send(self, verb: str, about: Any = None) -> None:
        if self.deadline.expired:
            raise Unavailable.not_sent(f"{verb} {about}")
        self.sent.append((verb, about))
        for fault in self.world.faults:
            if fault[0] in ("", verb) and fault[1] in (None, about):
                self.world.faults.remove(fault)
                raise fault[2]

    def _to_write(self, verb: str, manifest: Manifest) -> ObjectRef:
        ref = ObjectRef.of(manifest)
        _, version = objects.split_api_version(manifest["apiVersion"])
        resource = self.resource(ref.group_kind, version)
        if resource.namespaced and not ref.namespace:
            raise Rejected(ref, 400, "BadRequest", "a namespace is required")
        if ref.namespace and not resource.namespaced and verb == "patch":
            why = f"{ref.group_kind} has no namespaces"
            raise Rejected(ref, 400, "BadRequest", why)
        self._send(verb, ref)
        return ref

    def _check_version(
        self, ref: ObjectRef, stored: Stored, body: Mapping[str, Any]
    ) -> None:
        for name in ("uid", "resourceVersion"):
            asked = field(body, ("metadata", name))
            if asked and asked != stored.obj["metadata"][name]:
                raise Conflict(ref, "the object has been modified")

    def _kept(self, after: Stored, before: Stored | None) -> Manifest:
        obj = self.world.kept(after, before)
        self.world.run_controllers(self, obj)
        return obj


def _metadata_of(obj: Manifest) -> Manifest:
    parts = ("apiVersion", "kind", "metadata")
    return {part: obj[part] for part in parts}
