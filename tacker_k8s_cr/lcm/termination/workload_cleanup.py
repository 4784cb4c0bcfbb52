"""Remove objects of a workload cluster whose cloud resources outlive it.

Controllers of the workload cluster create load balancers and volumes in the
cloud, and can delete them only while they run. Remaining ones block the
deletion of networks, or cost money. Nothing is deleted in the cloud directly.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import logging

from tacker_k8s_cr import kinds
from tacker_k8s_cr import kube as clusters
from tacker_k8s_cr.engine import delete
from tacker_k8s_cr.engine import owner_references
from tacker_k8s_cr.kinds.claims import mounted_claims
from tacker_k8s_cr.kube import workload_kubeconfig as workloads
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchUpdate
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.steps import Delete
from tacker_k8s_cr.wait.diagnostics import explain
from tacker_k8s_cr.wait.progress import AwaitedObject
from tacker_k8s_cr.wait.progress import Goal
from tacker_k8s_cr.wait.progress import WaitState
from tacker_k8s_cr.wait.wait_until import wait_until

LOG = logging.getLogger(__name__)

SERVICES = "services"
CLAIMS = "persistentvolumeclaims"
ALL = (SERVICES, CLAIMS)

SERVICE = GroupKind("", "Service")
POD = GroupKind("", "Pod")
CLAIM = GroupKind("", "PersistentVolumeClaim")
VOLUME = GroupKind("", "PersistentVolume")

CHECK_INTERVAL = 2.0
"""Longest interval in seconds between two reads of objects being deleted."""

MAX_OWNER_LEVELS = 4
"""Maximum number of owner levels above a Pod."""

Connect = Callable[[Kubeconfig], Cluster]
Listen = Callable[[WaitState], None]


def clean_up(
    cluster: Cluster,
    ref: ObjectRef,
    what: frozenset[str],
    deadline: Deadline,
    *,
    listen: Listen = lambda progress: None,
    guard: Callable[[], None] = lambda: None,
    connect: Connect = clusters.connect,
) -> tuple[ObjectRef, ...]:
    """Remove the objects of a workload cluster, and wait; return them.

    A Cluster whose control plane was never initialized, or that is being
    deleted already, is skipped.

    Raises CleanupFailed.
    """
    obj = cluster.get(ref)
    why = _unreachable_reason(obj)
    if why or obj is None:
        LOG.info("%s: no cleanup in its workload cluster: %s", ref, why)
        return ()
    secret = cluster.get(workloads.secret_ref(ref))
    if secret is None:
        secret_ref = workloads.secret_ref(ref)
        raise errors.CleanupFailed(ref, f"it has no kubeconfig, {secret_ref}")
    requested: list[ObjectRef] = []
    try:
        admin = workloads.kubeconfig_of(secret)
        workloads.check_endpoint(admin, obj)
        with contextlib.closing(connect(admin)) as workload_cluster:
            cleanup = _Cleanup(
                workload_cluster.with_deadline(deadline),
                deadline,
                listen,
                guard,
                requested,
            )
            return cleanup.run(what)
    except errors.LockLost:
        raise
    except errors.Error as error:
        failure = errors.CleanupFailed(ref, error.sentence())
        failure.deadline_passed = error.deadline_passed or isinstance(
            error, errors.DeletionTimeout
        )
        failure.has_written = bool(requested)
        raise failure from error


def _unreachable_reason(obj: Manifest | None) -> str:
    """Return why the workload cluster cannot be cleaned up, or empty."""
    if obj is None:
        return "it no longer exists"
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        return "its deletion is in progress"
    begun = objects.field(
        obj, ("status", "initialization", "controlPlaneInitialized")
    )
    condition = objects.conditions(obj).get("ControlPlaneInitialized", {})
    if begun or condition.get("status") == "True":
        return ""
    return "its control plane was never initialized"


@dataclasses.dataclass(frozen=True)
class _Cleanup:
    """The cleanup of one workload cluster.

    :param requested: receives the objects to delete, before the request.
    """

    workload_cluster: Cluster
    deadline: Deadline
    listen: Listen
    guard: Callable[[], None]
    requested: list[ObjectRef]

    def run(self, what: frozenset[str]) -> tuple[ObjectRef, ...]:
        removed: dict[ObjectRef, str] = {}
        if SERVICES in what:
            # Clients can create load balancers as long as the cluster works.
            while found := dict(self._load_balancers()):
                self._delete_and_wait(found, "load balancers")
                removed.update(found)
        if CLAIMS in what:
            while True:
                found = dict(self._claims())
                volumes = dict(self._volumes())
                if not found and not volumes:
                    break
                users = dict(self._claim_users(found))
                self._delete_and_wait({**users, **found}, "claims", volumes)
                removed.update({**users, **found})
        for ref in removed:
            LOG.info("%s: removed %s", self.workload_cluster.server, ref)
        return tuple(removed)

    def _delete_and_wait(
        self,
        deleted: dict[ObjectRef, str],
        stage: str,
        also_awaited: dict[ObjectRef, str] | None = None,
    ) -> None:
        """Delete objects, and wait until they and awaited ones are deleted."""
        now = self.deadline.now
        awaited = {**deleted, **(also_awaited or {})}
        progress = WaitState(
            kinds.BUILT_IN, Goal.DELETED, stage=f"workload cluster: {stage}"
        ).with_awaited(
            {ref: AwaitedObject(u, 0, now) for ref, u in awaited.items()}
        )
        self.requested.extend(deleted)
        delete.request_deletion(
            self.workload_cluster,
            [Delete(ref, uid) for ref, uid in deleted.items()],
            guard=self.guard,
        )
        watched = {(ref.group_kind, ref.namespace) for ref in awaited}
        watches = [
            Watch(kind, namespace, "") for kind, namespace in sorted(watched)
        ]

        def step(_: Sequence[WatchUpdate]) -> float | None:
            # Updates only trigger another read: not every provider's server
            # reports every deletion.
            nonlocal progress
            progress = self._refresh(progress)
            self.listen(progress)
            return None if progress.is_settled else CHECK_INTERVAL

        if not wait_until(
            self.workload_cluster, watches, step, self.deadline, self.guard
        ):
            raise self._timeout_error(progress, now)

    def _refresh(self, progress: WaitState) -> WaitState:
        try:
            objs = dict(
                results_or_raise(
                    self.workload_cluster.map_parallel(
                        self.workload_cluster.get, progress.unsettled
                    )
                )
            )
        except errors.Unavailable:
            return progress
        existing = {
            ref: obj
            for ref, obj in objs.items()
            if obj and objects.uid(obj) == progress.awaited[ref].uid
        }
        progress = progress.with_observed(existing.values(), self.deadline.now)
        return progress.with_deleted(objs.keys() - existing.keys())

    def _timeout_error(
        self, progress: WaitState, begun: float
    ) -> errors.Error:
        now = self.deadline.now
        items = [
            errors.PendingObject(ref, progress.verdict(ref, now), now - begun)
            for ref in progress.unsettled
        ]
        short_cluster = self.workload_cluster.with_deadline(
            Deadline.after(explain.TIMEOUT)
        )
        return errors.DeletionTimeout(
            explain.with_explanations(short_cluster, kinds.BUILT_IN, items),
            now - begun,
        )

    def _load_balancers(self) -> Iterator[tuple[ObjectRef, str]]:
        for obj in self.workload_cluster.list_objects(SERVICE):
            if objects.field(obj, ("spec", "type")) == "LoadBalancer":
                yield ObjectRef.of(obj), objects.uid(obj)

    def _claims(self) -> Iterator[tuple[ObjectRef, str]]:
        for obj in self.workload_cluster.list_metadata(CLAIM):
            yield ObjectRef.of(obj), objects.uid(obj)

    def _claim_users(
        self, claims: dict[ObjectRef, str]
    ) -> Iterator[tuple[ObjectRef, str]]:
        """Yield Pods that use these claims, and the owners that recreate them.

        A claim is protected from deletion while a Pod uses it.
        """
        for pod in self.workload_cluster.list_objects(POD):
            if not claims.keys() & set(mounted_claims(pod)):
                continue
            yield ObjectRef.of(pod), objects.uid(pod)
            owner_: Manifest | None = pod
            for _ in range(MAX_OWNER_LEVELS):
                owner_ = self._owner(owner_) if owner_ else None
                if owner_:
                    yield ObjectRef.of(owner_), objects.uid(owner_)

    def _owner(self, obj: Manifest) -> Manifest | None:
        for uid, ref in owner_references.owners(obj).items():
            with contextlib.suppress(errors.KindNotServed):
                if not self.workload_cluster.resource(
                    ref.group_kind
                ).namespaced:
                    continue
                found = self.workload_cluster.get_metadata(ref)
                if found and objects.uid(found) == uid:
                    return found
        return None

    def _volumes(self) -> Iterator[tuple[ObjectRef, str]]:
        """Yield the volumes to be deleted together with their claims.

        An earlier termination that ended early may have deleted a claim
        already.
        """
        for obj in self.workload_cluster.list_objects(VOLUME):
            bound = objects.field(obj, ("spec", "claimRef", "uid"))
            policy = objects.field(
                obj, ("spec", "persistentVolumeReclaimPolicy")
            )
            if policy == "Delete" and bound:
                yield ObjectRef.of(obj), objects.uid(obj)
