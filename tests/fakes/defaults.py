"""What exists initially, and what the server adds to a write."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import datetime
import itertools
from typing import Any
import uuid

from tacker_k8s_cr.model.errors import Conflict
from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.model.objects import field
from tacker_k8s_cr.model.permissions import Permission
from tests.fakes import field_ownership
from tests.fakes import served_kinds
from tests.fakes.object_store import Stored
from tests.fakes.object_store import generations

DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
_START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


class ClusterState:
    """Shared by all views of one fake cluster."""

    def __init__(self) -> None:
        self.version = "v1.36.3"
        self.objects: dict[ObjectRef, Stored] = {}
        self.kinds: dict[GroupKind, tuple[Resource, ...]] = {
            resource.group_kind: (resource,)
            for resource in served_kinds.built_in_resources()
        }
        self.sent: list[tuple[str, Any]] = []
        self.faults: list[tuple[str, ObjectRef | None, Error]] = []
        self.watchers: list[Any] = []
        self.controller: Callable[[Any, Manifest], None] | None = None
        self.idle: Callable[[float], None]
        self.answered: list[Manifest] = []
        self.denies: Callable[[Permission], bool] = lambda right: False
        self._versions = itertools.count(1)
        self._seconds = itertools.count()
        self._playing = False

    def served(self, group_kind: GroupKind) -> tuple[Resource, ...]:
        return self.kinds.get(group_kind, ())

    def found(self, ref: ObjectRef) -> Stored:
        if ref not in self.objects:
            raise Conflict(ref, f"{ref.name} not found")
        return self.objects[ref]

    def check_place(self, ref: ObjectRef) -> None:
        if not ref.namespace:
            return
        place = ObjectRef("", "Namespace", "", ref.namespace)
        if place not in self.objects:
            raise DependencyMissing(
                ref, f'namespaces "{ref.namespace}" not found'
            )
        if self.objects[place].obj["metadata"].get("deletionTimestamp"):
            raise DependencyMissing(
                ref, f"namespace {ref.namespace} is being terminated"
            )

    def new(self, manifest: Manifest) -> dict[str, Any]:
        """What the server sets in an object that does not exist yet."""
        metadata = {
            "name": manifest["metadata"]["name"],
            "uid": str(uuid.uuid4()),
            "resourceVersion": "0",
        }
        if namespace := manifest["metadata"].get("namespace"):
            metadata["namespace"] = namespace
        return {
            "apiVersion": manifest["apiVersion"],
            "kind": manifest["kind"],
            "metadata": metadata,
        }

    def kept(self, after: Stored, before: Stored | None) -> Manifest:
        """Store it, with a new version if anything changed, and tell."""
        if before and _same(before, after):
            return before.shown()
        obj = field_ownership.with_copied_fields(after.obj)
        if "spec" in obj and obj["apiVersion"] not in ("v1", _LEASES):
            was = before.obj if before else obj
            obj["metadata"]["generation"] = generations(was, obj)
        obj["metadata"]["resourceVersion"] = str(next(self._versions))
        moment = self._moment()
        if before is None:
            obj["metadata"]["creationTimestamp"] = moment
        self._react(obj)
        ref = ObjectRef.of(obj)
        stored = dataclasses.replace(after, obj=obj).at(moment)
        self.objects[ref] = stored
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp") and not _held(obj):
            self._remove(ref)
        else:
            self._tell(before, stored)
        return stored.shown()

    def request_deletion(self, ref: ObjectRef) -> None:
        """Delete: at once, or when the last finalizer is removed."""
        stored = self.objects[ref]
        if ref.group_kind == DEFINITION:
            self._doom_all(
                other
                for other in self.objects
                if other.group_kind == served_kinds.kind_of(stored.obj)
            )
        elif ref.group_kind == GroupKind("", "Namespace"):
            self._doom_all(o for o in self.objects if o.namespace == ref.name)
            if any(other.namespace == ref.name for other in self.objects):
                self._mark(stored)
                return
        if _held(stored.obj):
            self._mark(stored)
        else:
            self._remove(ref)

    def run_controllers(self, cluster: Any, obj: Manifest) -> None:
        if self.controller is None or self._playing:
            return
        self._playing = True
        try:
            self.controller(cluster, obj)
        finally:
            self._playing = False

    def _doom_all(self, refs: Any) -> None:
        for ref in list(refs):
            if ref in self.objects:
                self.request_deletion(ref)

    def _mark(self, stored: Stored) -> None:
        metadata = {
            **stored.obj["metadata"],
            "deletionTimestamp": self._moment(),
            "deletionGracePeriodSeconds": 0,
        }
        obj = {**stored.obj, "metadata": metadata}
        metadata["resourceVersion"] = str(next(self._versions))
        after = dataclasses.replace(stored, obj=obj)
        self.objects[ObjectRef.of(obj)] = after
        self._tell(stored, after)

    def _remove(self, ref: ObjectRef) -> None:
        stored = self.objects.pop(ref)
        if ref.group_kind == DEFINITION:
            self.kinds.pop(served_kinds.kind_of(stored.obj), None)
        for watcher in self.watchers:
            watcher.gone(stored)
        place = ObjectRef("", "Namespace", "", ref.namespace)
        holder = self.objects.get(place)
        ending = holder and holder.obj["metadata"].get("deletionTimestamp")
        if ending and not any(
            other.namespace == ref.namespace for other in self.objects
        ):
            self._remove(place)

    def _react(self, obj: dict[str, Any]) -> None:
        """What the server's own controllers do at once."""
        if GroupKind.of(obj) == DEFINITION:
            self.kinds[served_kinds.kind_of(obj)] = tuple(
                served_kinds.resources_of_crd(obj)
            )
            established = {"type": "Established", "status": "True"}
            accepted = {"type": "NamesAccepted", "status": "True"}
            obj["status"] = {"conditions": [accepted, established]}
        elif GroupKind.of(obj) == GroupKind("", "Namespace"):
            obj["status"] = {"phase": "Active"}

    def _moment(self) -> str:
        """The time of a write: each is a second after the one before."""
        now = _START + datetime.timedelta(seconds=next(self._seconds))
        return now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def _tell(self, before: Stored | None, after: Stored) -> None:
        for watcher in self.watchers:
            watcher.changed(before, after)


_LEASES = "coordination.k8s.io/v1"


def _held(obj: Mapping[str, Any]) -> bool:
    return bool(field(obj, ("metadata", "finalizers")))


def _same(before: Stored, after: Stored) -> bool:
    def content(stored: Stored) -> Any:
        metadata = {**stored.obj["metadata"], "resourceVersion": ""}
        owned = {k: v for k, v in stored.owned.items() if v}
        return {**stored.obj, "metadata": metadata}, owned

    return bool(content(before) == content(after))
