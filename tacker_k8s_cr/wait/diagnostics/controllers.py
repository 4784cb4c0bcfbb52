"""Which workloads of a cluster remove a finalizer, and whether they run."""

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

_LISTED = (
    GroupKind("apps", "Deployment"),
    GroupKind("apps", "StatefulSet"),
    GroupKind("apps", "DaemonSet"),
    GroupKind(rbac.GROUP, "ClusterRole"),
    GroupKind(rbac.GROUP, "ClusterRoleBinding"),
    GroupKind(rbac.GROUP, "Role"),
    GroupKind(rbac.GROUP, "RoleBinding"),
)

_FRESH = datetime.timedelta(seconds=60)
"""Maximum age of a held Lease, compared with the latest renewal of all."""

USUAL = frozenset({"manager", "controller", "operator", "kubectl"})
"""Binary names shared by many controllers; they identify none of them."""


_MADE_BY = ("ReplicaSet", "StatefulSet", "DaemonSet", "Job")
"""Kinds of owners that show that a workload created a Pod."""


class Controllers:
    """Workloads of a cluster, read once, when they are first needed.

    :param thorough: also read Pods that no workload created.
    """

    def __init__(self, cluster: Cluster, thorough: bool = False):
        self._cluster = cluster
        self._thorough = thorough
        self._lock = threading.Lock()
        self._found: ManifestIndex | None = None
        self._leases: tuple[Manifest, ...] = ()
        self._incomplete = False

    @property
    def is_incomplete(self) -> bool:
        """Whether workloads or roles could not be listed."""
        self._package()
        return self._incomplete

    def find(
        self, ref: ObjectRef, names: Collection[str]
    ) -> Iterator[Workload]:
        """Yield workloads with such a name, or that may write the kind.

        A role for all kinds identifies no controller.
        """
        package = self._package()
        workloads = list(pod_templates.workloads(package.manifests))
        called = [w for w in workloads if set(names) & set(_called(w))]
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
                    grant.allows(rbac.WRITES, ref.group, [spelt])
                    and ref.group in (grant.rule.get("apiGroups") or ())
                    and grant.namespace in ("", ref.namespace)
                    for grant in rbac.grants(package, workload.account)
                )
            ]
            if able and ref.group:
                yield from able
                return

    def describe_state(self, workload: Workload) -> tuple[str, Remover]:
        """Return whether a controller runs, with a description."""
        ref = workload.ref
        obj = self._package().manifests[ref]
        if ref.group_kind == POD:
            ready = objects.conditions(obj).get("Ready", {}).get("status")
            if ready == "True":
                return f"its controller {ref} runs", Remover.RUNNING
            return f"its controller {ref} is not Ready", Remover.DOWN
        wanted = objects.field(obj, ("spec", "replicas"), 1)
        there = objects.field(obj, ("status", "availableReplicas"), 0)
        if ref.kind == "DaemonSet":
            wanted = objects.field(
                obj, ("status", "desiredNumberScheduled"), 0
            )
            there = objects.field(obj, ("status", "numberAvailable"), 0)
        away = f"its controller {ref} does not run"
        if not wanted:
            return f"{away}: it is scaled to 0", Remover.DOWN
        if there:
            said = f"its controller {ref} runs ({there} of {wanted})"
            return said + self._lease(ref), Remover.RUNNING
        available = objects.conditions(obj).get("Available", {})
        why = available.get("message") or "none of its Pods is available"
        return f"{away}: {why}", Remover.DOWN

    def _lease(self, ref: ObjectRef) -> str:
        """Return which of its Pods holds the Lease, and if it is renewed."""
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
                f"at {renewed:%H:%M:%S}: it has no leader"
            )
        return ""

    def has_renewed_lease(self, names: Collection[str]) -> bool:
        """Whether a Lease with one of these in its names is being renewed."""
        self._package()
        latest = max(map(_renewed, self._leases), default=None)
        return latest is not None and any(
            any(one in text for one in names for text in _lease_names(lease))
            and latest - _renewed(lease) <= _FRESH
            for lease in self._leases
        )

    def _holding(self, namespace: str, holder: object) -> ObjectRef | None:
        """Return the workload of the holder; the longest name wins."""
        found = [
            workload.ref
            for workload in pod_templates.workloads(self._package().manifests)
            if workload.ref.namespace == namespace
            and str(holder).startswith(f"{workload.ref.name}-")
        ]
        return max(found, key=lambda ref: len(ref.name), default=None)

    def _package(self) -> ManifestIndex:
        with self._lock:
            if self._found is None:
                listed: dict[ObjectRef, Manifest] = {}
                for kind in _LISTED:
                    listed.update(self._listed(kind))
                if self._thorough:
                    listed.update(self._listed(POD, _is_bare))
                self._leases = tuple(self._listed(LEASE).values())
                self._found = ManifestIndex(listed)
            return self._found

    def _listed(
        self,
        kind: GroupKind,
        wanted: Callable[[Manifest], bool] = lambda obj: True,
    ) -> dict[ObjectRef, Manifest]:
        try:
            found = self._cluster.list_objects(kind)
            return {ObjectRef.of(obj): obj for obj in found if wanted(obj)}
        except (errors.ClusterError, errors.KindNotServed):
            self._incomplete = self._incomplete or kind != LEASE
            return {}


def _is_bare(pod: Manifest) -> bool:
    """Return whether none of the listed workloads created a Pod."""
    owners = owner_references.owners(pod).values()
    return not any(owner.kind in _MADE_BY for owner in owners)


def _lease_names(lease: Manifest) -> tuple[str, str]:
    holder = objects.field(lease, ("spec", "holderIdentity"), "")
    return ObjectRef.of(lease).name, str(holder)


def _called(workload: Workload) -> Iterator[str]:
    """Yield the names that a controller may use for itself."""
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
