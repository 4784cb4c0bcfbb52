"""Who holds an object that is asked to go, and whether he works."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import datetime
import threading

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.causes import dependents
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.serving import grants
from tacker_k8s_cr.serving import pods
from tacker_k8s_cr.serving.lookup import Lookup
from tacker_k8s_cr.serving.pods import Workload

FOREGROUND = "foregroundDeletion"

SERVERS = {
    FOREGROUND: "the garbage collector removes it when all that "
    "the object owns is gone",
    "orphan": "the garbage collector removes it when all that the object "
    "owns is without owner",
    "kubernetes.io/pvc-protection": "Kubernetes removes it when no Pod on a "
    "node uses the claim",
    "kubernetes.io/pv-protection": "Kubernetes removes it when the volume is "
    "not bound to a claim",
    "service.kubernetes.io/load-balancer-cleanup": "the controller of the "
    "cloud's load balancers removes it",
    "batch.kubernetes.io/job-tracking": "the controller of Jobs removes it",
    "customresourcecleanup.apiextensions.k8s.io": "the API server removes it "
    "when no object of the kind is left",
}
"""Finalizers of Kubernetes itself: who removes them, and when."""

LEASE = GroupKind("coordination.k8s.io", "Lease")

_LISTED = (
    GroupKind("apps", "Deployment"),
    GroupKind("apps", "StatefulSet"),
    GroupKind("apps", "DaemonSet"),
    GroupKind(grants.GROUP, "ClusterRole"),
    GroupKind(grants.GROUP, "ClusterRoleBinding"),
    GroupKind(grants.GROUP, "Role"),
    GroupKind(grants.GROUP, "RoleBinding"),
)

USUAL = frozenset({"manager", "controller", "operator", "kubectl"})
"""Names that binaries of many controllers have; they tell nothing."""


class Holders:
    """What a cluster runs, looked at once, when it is first needed."""

    def __init__(self, cluster: Cluster):
        self._cluster = cluster
        self._lock = threading.Lock()
        self._found: Lookup | None = None
        self._leases: tuple[Manifest, ...] = ()

    def notes(self, obj: Manifest) -> Iterator[str]:
        """A line for each finalizer: who removes it, and does he work."""
        ref = ObjectRef.of(obj)
        for name in objects.field(obj, ("metadata", "finalizers"), ()):
            if name in SERVERS:
                yield f"finalizer {name}: {SERVERS[name]}"
                if name == FOREGROUND:
                    yield from self._owned(obj)
                continue
            managers = setters(obj, name)
            found = list(self._controllers(ref, name, managers))
            for workload in found:
                yield f"finalizer {name}: {self._state(workload)}"
            if not found:
                yield f"finalizer {name}: {_unknown(obj, managers)}"

    def _owned(self, obj: Manifest) -> Iterator[str]:
        """What an object owns that has to go before it does."""
        namespace = ObjectRef.of(obj).namespace
        kinds = [
            resource.group_kind
            for resource in self._cluster.resources()
            if {"list", "delete"} <= resource.verbs
            and (resource.namespaced or not namespace)
        ]
        listed = self._cluster.each(
            lambda kind: tuple(self._cluster.list_metadata(kind, namespace)),
            kinds,
        )
        with contextlib.closing(listed) as outcomes:
            for _, found in outcomes:
                for child in () if isinstance(found, errors.Error) else found:
                    if objects.uid(obj) in dependents.owners(child):
                        yield _left(child)

    def _controllers(
        self, ref: ObjectRef, finalizer: str, managers: list[str]
    ) -> Iterator[Workload]:
        """Workloads that are called like a manager, or may write the kind.

        A role that is about everything tells nothing.
        """
        package = self._package()
        workloads = list(pods.workloads(package.manifests))
        names = {*managers, finalizer.rpartition("/")[2]} - USUAL
        called = [w for w in workloads if names & set(_called(w))]
        if called:
            yield from called
            return
        try:
            plural = self._cluster.resource(ref.group_kind).plural
        except errors.Error:
            return
        for spelt in (f"{plural}/finalizers", plural):
            able = [
                workload
                for workload in workloads
                if any(
                    grant.allows(grants.WRITES, ref.group, [spelt])
                    and ref.group in (grant.rule.get("apiGroups") or ())
                    and grant.namespace in ("", ref.namespace)
                    for grant in grants.grants(package, workload.account)
                )
            ]
            if able and ref.group:
                yield from able
                return

    def _state(self, workload: Workload) -> str:
        """Whether a controller runs, in words."""
        ref = workload.ref
        obj = self._package().manifests[ref]
        wanted = objects.field(obj, ("spec", "replicas"), 1)
        there = objects.field(obj, ("status", "availableReplicas"), 0)
        if ref.kind == "DaemonSet":
            wanted = objects.field(
                obj, ("status", "desiredNumberScheduled"), 0
            )
            there = objects.field(obj, ("status", "numberAvailable"), 0)
        if not wanted:
            return f"its controller {ref} does not run: it is scaled to 0"
        if there:
            lease = self._lease(ref)
            return f"its controller {ref} runs ({there} of {wanted}){lease}"
        available = objects.conditions(obj).get("Available", {})
        why = available.get("message") or "no Pod of it is available"
        return f"its controller {ref} does not run: {why}"

    def _lease(self, ref: ObjectRef) -> str:
        """Who of its Pods leads, and whether he goes on to."""
        now = max(map(_renewed, self._leases), default=None)
        for lease in self._leases:
            holder = objects.field(lease, ("spec", "holderIdentity"), "")
            place = objects.field(lease, ("metadata", "namespace"))
            if place != ref.namespace or self._holding(place, holder) != ref:
                continue
            limit = objects.field(lease, ("spec", "leaseDurationSeconds"), 15)
            renewed = _renewed(lease)
            if now is None or (now - renewed).total_seconds() <= 2 * limit:
                return f", led by {holder}"
            return (
                f", but its Lease {ObjectRef.of(lease).name} was last renewed "
                f"at {renewed:%H:%M:%S}: nobody leads"
            )
        return ""

    def _holding(self, namespace: str, holder: object) -> ObjectRef | None:
        """The workload whose Pod holds: of two names, the longer tells."""
        found = [
            workload.ref
            for workload in pods.workloads(self._package().manifests)
            if workload.ref.namespace == namespace
            and str(holder).startswith(f"{workload.ref.name}-")
        ]
        return max(found, key=lambda ref: len(ref.name), default=None)

    def _package(self) -> Lookup:
        with self._lock:
            if self._found is None:
                listed: dict[ObjectRef, Manifest] = {}
                for kind in _LISTED:
                    listed.update(self._listed(kind))
                self._leases = tuple(self._listed(LEASE).values())
                self._found = Lookup(listed)
            return self._found

    def _listed(self, kind: GroupKind) -> dict[ObjectRef, Manifest]:
        try:
            found = self._cluster.list_objects(kind)
            return {ObjectRef.of(obj): obj for obj in found}
        except (errors.ClusterError, errors.KindUnknown):
            return {}


# -- From the object alone ---------------------------------------------------


def setters(obj: Manifest, finalizer: str) -> list[str]:
    """The field managers that have set a finalizer."""
    path = ("f:metadata", "f:finalizers", f'v:"{finalizer}"')
    return [
        str(entry.get("manager"))
        for entry in objects.field(obj, ("metadata", "managedFields"), ())
        if objects.field(entry.get("fieldsV1"), path) is not None
        and not str(entry.get("manager")).startswith(objects.MANAGER)
    ]


def _left(child: Manifest) -> str:
    names = objects.field(child, ("metadata", "finalizers"), ())
    held = f", held by {', '.join(names)}" if names else ""
    return f"it owns {ObjectRef.of(child)}, which is still there{held}"


def _unknown(obj: Manifest, managers: list[str]) -> str:
    if not managers:
        return (
            "nobody is known who removes it; it was in the manifest, or its "
            "controller is not in this cluster"
        )
    entries = objects.field(obj, ("metadata", "managedFields"), ())
    times = [
        str(entry["time"])
        for entry in entries
        if entry.get("manager") in managers and "time" in entry
    ]
    last = f", who last wrote to the object at {max(times)}" if times else ""
    return (
        f"set by {', '.join(sorted(set(managers)))}{last}; no workload of "
        "this cluster is known to be that"
    )


def spoken(obj: Manifest) -> Iterator[str]:
    """What the object itself says on its end."""
    if objects.field(obj, ("spec", "paused")) is True or objects.field(
        obj, ("metadata", "annotations", "cluster.x-k8s.io/paused")
    ):
        yield "it is paused: its controllers leave it alone"
    wanted: Callable[[str, str], bool] = _troubled
    if GroupKind.of(obj) == placing.NAMESPACE:
        wanted = _remaining
    conditions = objects.conditions(obj).items()
    for name, condition in conditions:
        status, said = str(condition.get("status")), condition.get("message")
        if said and wanted(name, status):
            yield f"{name} is {status}: {said}"


def _remaining(name: str, status: str) -> bool:
    return name.startswith("Namespace") and status == "True"


def _troubled(name: str, status: str) -> bool:
    if name in ("Deleting", "Stalled", "Failed", "Degraded"):
        return status == "True"
    return name in ("Ready", "Synced", "Reconciled") and status == "False"


def _called(workload: Workload) -> Iterator[str]:
    """The names by which a controller may call itself."""
    yield workload.ref.name
    for container in workload.spec.get("containers") or ():
        yield str(container.get("name"))
        for command in (container.get("command") or ())[:1]:
            yield str(command).rpartition("/")[2]


def _renewed(lease: Manifest) -> datetime.datetime:
    text = str(objects.field(lease, ("spec", "renewTime"), ""))
    try:
        found = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
    return found
