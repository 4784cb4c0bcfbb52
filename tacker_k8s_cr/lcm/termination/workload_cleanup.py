"""Remove, in a workload cluster, what outlives it in its cloud.

A Service of the type LoadBalancer and a volume are made in the cloud by
controllers of the workload cluster. They can take them away only as long as
they run; what is left holds up the deletion of networks, or costs money. We
delete nothing in the cloud ourselves.
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
from tacker_k8s_cr.plan.plan import Delete
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

LOOK = 2.0
"""Longest interval in seconds between two reads of objects being deleted."""

LEVELS = 4
"""How far up the owners of a Pod are followed."""

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
    """Remove it in the workload cluster of a Cluster, and wait.

    A Cluster that never took a request, or goes already, has nothing that
    could be reached. Returns what was removed.

    Raises CleanupFailed.
    """
    obj = cluster.get(ref)
    why = _closed(obj)
    if why or obj is None:
        LOG.info("%s: nothing is removed in its cluster: %s", ref, why)
        return ()
    secret = cluster.get(workloads.secret_ref(ref))
    if secret is None:
        way = workloads.secret_ref(ref)
        raise errors.CleanupFailed(ref, f"it has no kubeconfig, {way}")
    asked: list[ObjectRef] = []
    try:
        admin = workloads.kubeconfig_of(secret)
        workloads.check_endpoint(admin, obj)
        with contextlib.closing(connect(admin)) as far:
            work = _Work(
                far.with_deadline(deadline), deadline, listen, guard, asked
            )
            return work.do(what)
    except errors.LockLost:
        raise
    except errors.Error as error:
        stays = errors.CleanupFailed(ref, error.sentence())
        stays.late = error.late or isinstance(error, errors.DeletionTimeout)
        stays.begun = bool(asked)
        raise stays from error


def _closed(obj: Manifest | None) -> str:
    """Why there is no way in; empty where there is one."""
    if obj is None:
        return "it is gone"
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        return "it goes already"
    begun = objects.field(
        obj, ("status", "initialization", "controlPlaneInitialized")
    )
    condition = objects.conditions(obj).get("ControlPlaneInitialized", {})
    if begun or condition.get("status") == "True":
        return ""
    return "its control plane never took a request"


@dataclasses.dataclass(frozen=True)
class _Work:
    """What is done in one workload cluster.

    :param asked: receives the objects to delete, before the request.
    """

    far: Cluster
    deadline: Deadline
    listen: Listen
    guard: Callable[[], None]
    asked: list[ObjectRef]

    def do(self, what: frozenset[str]) -> tuple[ObjectRef, ...]:
        done: dict[ObjectRef, str] = {}
        if SERVICES in what:
            # Clients can create load balancers as long as the cluster works.
            while found := dict(self._load_balancers()):
                self._gone(found, "load balancers")
                done.update(found)
        if CLAIMS in what:
            while True:
                found = dict(self._claims())
                volumes = dict(self._volumes())
                if not found and not volumes:
                    break
                users = dict(self._users(found))
                self._gone({**users, **found}, "claims", volumes)
                done.update({**users, **found})
        for ref in done:
            LOG.info("%s: removed %s", self.far.server, ref)
        return tuple(done)

    def _gone(
        self,
        going: dict[ObjectRef, str],
        stage: str,
        also: dict[ObjectRef, str] | None = None,
    ) -> None:
        """Delete an object, and wait until it and these others are deleted."""
        now = self.deadline.now
        awaited = {**going, **(also or {})}
        progress = WaitState(
            kinds.BUILT_IN, Goal.DELETED, stage=f"workload cluster: {stage}"
        ).with_awaited(
            {ref: AwaitedObject(u, 0, now) for ref, u in awaited.items()}
        )
        self.asked.extend(going)
        delete.request_deletion(
            self.far,
            [Delete(ref, uid) for ref, uid in going.items()],
            guard=self.guard,
        )
        places = {(ref.group_kind, ref.namespace) for ref in awaited}
        watches = [Watch(kind, place, "") for kind, place in sorted(places)]

        def step(_: Sequence[WatchUpdate]) -> float | None:
            # Updates only trigger another read: not every provider's server
            # reports every deletion.
            nonlocal progress
            progress = self._looked_at(progress)
            self.listen(progress)
            return None if progress.is_settled else LOOK

        if not wait_until(self.far, watches, step, self.deadline, self.guard):
            raise self._late(progress, now)

    def _looked_at(self, progress: WaitState) -> WaitState:
        try:
            views = dict(
                results_or_raise(
                    self.far.map_parallel(self.far.get, progress.unsettled)
                )
            )
        except errors.Unavailable:
            return progress
        there = {
            ref: obj
            for ref, obj in views.items()
            if obj and objects.uid(obj) == progress.awaited[ref].uid
        }
        progress = progress.with_observed(there.values(), self.deadline.now)
        return progress.with_deleted(views.keys() - there.keys())

    def _late(self, progress: WaitState, begun: float) -> errors.Error:
        now = self.deadline.now
        items = [
            errors.PendingObject(ref, progress.verdict(ref, now), now - begun)
            for ref in progress.unsettled
        ]
        brief = self.far.with_deadline(Deadline.after(explain.TIMEOUT))
        return errors.DeletionTimeout(
            explain.with_explanations(brief, kinds.BUILT_IN, items),
            now - begun,
        )

    def _load_balancers(self) -> Iterator[tuple[ObjectRef, str]]:
        for obj in self.far.list_objects(SERVICE):
            if objects.field(obj, ("spec", "type")) == "LoadBalancer":
                yield ObjectRef.of(obj), objects.uid(obj)

    def _claims(self) -> Iterator[tuple[ObjectRef, str]]:
        for obj in self.far.list_metadata(CLAIM):
            yield ObjectRef.of(obj), objects.uid(obj)

    def _users(
        self, claims: dict[ObjectRef, str]
    ) -> Iterator[tuple[ObjectRef, str]]:
        """Pods with these claims, and who would make others like them.

        A claim is held as long as a Pod with it is on a node.
        """
        for pod in self.far.list_objects(POD):
            if not claims.keys() & set(mounted_claims(pod)):
                continue
            yield ObjectRef.of(pod), objects.uid(pod)
            above: Manifest | None = pod
            for _ in range(LEVELS):
                above = self._owner(above) if above else None
                if above:
                    yield ObjectRef.of(above), objects.uid(above)

    def _owner(self, obj: Manifest) -> Manifest | None:
        for uid, ref in owner_references.owners(obj).items():
            with contextlib.suppress(errors.KindNotServed):
                if not self.far.resource(ref.group_kind).namespaced:
                    continue
                found = self.far.get_metadata(ref)
                if found and objects.uid(found) == uid:
                    return found
        return None

    def _volumes(self) -> Iterator[tuple[ObjectRef, str]]:
        """Yield the volumes to be deleted together with their claims.

        An earlier termination that ended early may have deleted a claim
        already.
        """
        for obj in self.far.list_objects(VOLUME):
            bound = objects.field(obj, ("spec", "claimRef", "uid"))
            policy = objects.field(
                obj, ("spec", "persistentVolumeReclaimPolicy")
            )
            if policy == "Delete" and bound:
                yield ObjectRef.of(obj), objects.uid(obj)
