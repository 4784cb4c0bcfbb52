"""Find the workloads that remove a finalizer, and whether they run."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
import datetime
import threading

from tacker_k8s_cr.engine import owner_references
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.dependencies import pod_templates
from tacker_k8s_cr.plan.dependencies import rbac
from tacker_k8s_cr.plan.dependencies.index import ManifestIndex
from tacker_k8s_cr.plan.dependencies.pod_templates import POD
from tacker_k8s_cr.plan.dependencies.pod_templates import Workload
from tacker_k8s_cr.wait.diagnostics.blocking_finalizers import Remover

LEASE = GroupKind("coordination.k8s.io", "Lease")

_LISTED_KINDS = (
    GroupKind("apps", "Deployment"),
    GroupKind("apps", "StatefulSet"),
    GroupKind("apps", "DaemonSet"),
    GroupKind(rbac.GROUP, "ClusterRole"),
    GroupKind(rbac.GROUP, "ClusterRoleBinding"),
    GroupKind(rbac.GROUP, "Role"),
    GroupKind(rbac.GROUP, "RoleBinding"),
)

_MAX_LEASE_AGE = datetime.timedelta(seconds=60)
"""Maximum age of a held Lease, compared with the latest renewal of all."""

COMMON_NAMES = frozenset({"manager", "controller", "operator", "kubectl"})
"""Binary names shared by many controllers; they identify none of them."""


_WORKLOAD_KINDS = ("ReplicaSet", "StatefulSet", "DaemonSet", "Job")
"""Kinds of owners that show that a workload created a Pod."""


class Controllers:
    """Workloads of a cluster, read once, when they are first needed.

    :param include_bare_pods: also read Pods that no workload created.
    """

    def __init__(self, cluster: Cluster, include_bare_pods: bool = False):
        self._cluster = cluster
        self._include_bare_pods = include_bare_pods
        self._lock = threading.Lock()
        self._index: ManifestIndex | None = None
        self._leases: tuple[Manifest, ...] = ()
        self._incomplete = False

    @property
    def is_incomplete(self) -> bool:
        """Whether workloads or roles could not be listed."""
        self._read_index()
        return self._incomplete

    def find(
        self, ref: ObjectRef, names: Collection[str]
    ) -> Iterator[Workload]:
        """Yield workloads with such a name, or that may write the kind.

        A role for all kinds identifies no controller.
        """
        index = self._read_index()
        workloads = list(pod_templates.workloads(index.manifests))
        named = [w for w in workloads if set(names) & set(_names_of(w))]
        if named:
            yield from named
            return
        try:
            plural = self._cluster.resource(ref.group_kind).plural
        except errors.Error:
            return
        for resource in (f"{plural}/finalizers", plural):
            permitted = [
                workload
                for workload in workloads
                if any(
                    grant.allows(rbac.WRITES, ref.group, [resource])
                    and ref.group in (grant.rule.get("apiGroups") or ())
                    and grant.namespace in ("", ref.namespace)
                    for grant in rbac.grants(index, workload.account)
                )
            ]
            if permitted and ref.group:
                yield from permitted
                return

    def describe_state(self, workload: Workload) -> tuple[str, Remover]:
        """Return whether a controller runs, with a description."""
        ref = workload.ref
        obj = self._read_index().manifests[ref]
        if ref.group_kind == POD:
            ready = objects.conditions(obj).get("Ready", {}).get("status")
            if ready == "True":
                return f"its controller {ref} runs", Remover.RUNNING
            return f"its controller {ref} is not Ready", Remover.DOWN
        desired = objects.field(obj, ("spec", "replicas"), 1)
        available_replicas = objects.field(
            obj, ("status", "availableReplicas"), 0
        )
        if ref.kind == "DaemonSet":
            desired = objects.field(
                obj, ("status", "desiredNumberScheduled"), 0
            )
            available_replicas = objects.field(
                obj, ("status", "numberAvailable"), 0
            )
        down = f"its controller {ref} does not run"
        if not desired:
            return f"{down}: it is scaled to 0", Remover.DOWN
        if available_replicas:
            count = f"{available_replicas} of {desired}"
            running = f"its controller {ref} runs ({count})"
            return running + self._describe_lease(ref), Remover.RUNNING
        available = objects.conditions(obj).get("Available", {})
        reason = available.get("message") or "none of its Pods is available"
        return f"{down}: {reason}", Remover.DOWN

    def _describe_lease(self, ref: ObjectRef) -> str:
        """Return which of its Pods holds the Lease, and if it is renewed."""
        latest = max(map(_renew_time, self._leases), default=None)
        for lease in self._leases:
            holder = objects.field(lease, ("spec", "holderIdentity"), "")
            namespace = objects.field(lease, ("metadata", "namespace"))
            if (
                namespace != ref.namespace
                or self._find_holder(namespace, holder) != ref
            ):
                continue
            limit = objects.field(lease, ("spec", "leaseDurationSeconds"), 15)
            renewed = _renew_time(lease)
            if (
                latest is None
                or (latest - renewed).total_seconds() <= 2 * limit
            ):
                return f", led by {holder}"
            return (
                f", but its Lease {ObjectRef.of(lease).name} was last renewed "
                f"at {renewed:%H:%M:%S}: it has no leader"
            )
        return ""

    def has_renewed_lease(self, names: Collection[str]) -> bool:
        """Whether a Lease with one of these in its names is being renewed."""
        self._read_index()
        latest = max(map(_renew_time, self._leases), default=None)
        return latest is not None and any(
            any(name in text for name in names for text in _lease_names(lease))
            and latest - _renew_time(lease) <= _MAX_LEASE_AGE
            for lease in self._leases
        )

    def _find_holder(self, namespace: str, holder: object) -> ObjectRef | None:
        """Return the workload of the holder; the longest name wins."""
        found = [
            workload.ref
            for workload in pod_templates.workloads(
                self._read_index().manifests
            )
            if workload.ref.namespace == namespace
            and str(holder).startswith(f"{workload.ref.name}-")
        ]
        return max(found, key=lambda ref: len(ref.name), default=None)

    def _read_index(self) -> ManifestIndex:
        with self._lock:
            if self._index is None:
                listed: dict[ObjectRef, Manifest] = {}
                for kind in _LISTED_KINDS:
                    listed.update(self._list(kind))
                if self._include_bare_pods:
                    listed.update(self._list(POD, _is_without_workload))
                self._leases = tuple(self._list(LEASE).values())
                self._index = ManifestIndex(listed)
            return self._index

    def _list(
        self,
        kind: GroupKind,
        is_wanted: Callable[[Manifest], bool] = lambda obj: True,
    ) -> dict[ObjectRef, Manifest]:
        try:
            found = self._cluster.list_objects(kind)
            return {ObjectRef.of(obj): obj for obj in found if is_wanted(obj)}
        except (errors.ClusterError, errors.KindNotServed):
            self._incomplete = self._incomplete or kind != LEASE
            return {}


def _is_without_workload(pod: Manifest) -> bool:
    """Return whether none of the listed workloads created a Pod."""
    owners = owner_references.owners(pod).values()
    return not any(owner.kind in _WORKLOAD_KINDS for owner in owners)


def _lease_names(lease: Manifest) -> tuple[str, str]:
    holder = objects.field(lease, ("spec", "holderIdentity"), "")
    return ObjectRef.of(lease).name, str(holder)


def _names_of(workload: Workload) -> Iterator[str]:
    """Yield the names that a controller may use for itself."""
    yield workload.ref.name
    for container in workload.spec.get("containers") or ():
        yield str(container.get("name"))
        for command in (container.get("command") or ())[:1]:
            yield str(command).rpartition("/")[2]


def _renew_time(lease: Manifest) -> datetime.datetime:
    text = str(objects.field(lease, ("spec", "renewTime"), ""))
    try:
        time = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
    return time
