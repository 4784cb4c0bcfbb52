"""Remove, in a workload cluster, what outlives it in its cloud.

A Service of the type LoadBalancer and a volume are made in the cloud by
controllers of the workload cluster. They can take them away only as long as
they run; what is left holds up the deletion of networks, or costs money. We
delete nothing in the cloud ourselves.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import logging

from tacker_k8s_cr import cluster as clusters
from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr import objects
from tacker_k8s_cr import workload as workloads
from tacker_k8s_cr.causes import dependents
from tacker_k8s_cr.causes import explain
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.kinds.claims import mounted_claims
from tacker_k8s_cr.kubeconfig import Kubeconfig
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning.plan import Delete
from tacker_k8s_cr.progress import Awaited
from tacker_k8s_cr.progress import Goal
from tacker_k8s_cr.progress import Progress
from tacker_k8s_cr.terminating import remove

LOG = logging.getLogger(__name__)

LOAD_BALANCERS = "load-balancers"
CLAIMS = "claims"
ALL = (LOAD_BALANCERS, CLAIMS)

SERVICE = GroupKind("", "Service")
POD = GroupKind("", "Pod")
CLAIM = GroupKind("", "PersistentVolumeClaim")
VOLUME = GroupKind("", "PersistentVolume")

LOOK = 2.0
"""Seconds at most between two looks at what is to go."""

LEVELS = 4
"""How far up the owners of a Pod are followed."""

Connect = Callable[[Kubeconfig], Cluster]
Listen = Callable[[Progress], None]


def cleared(
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

    Raises NotCleared.
    """
    obj = cluster.get(ref)
    why = _closed(obj)
    if why or obj is None:
        LOG.info("%s: nothing is removed in its cluster: %s", ref, why)
        return ()
    secret = cluster.get(workloads.secret_ref(ref))
    if secret is None:
        way = workloads.secret_ref(ref)
        raise errors.NotCleared(ref, f"it has no kubeconfig, {way}")
    asked: list[ObjectRef] = []
    try:
        admin = workloads.kubeconfig_of(secret)
        workloads.check_endpoint(admin, obj)
        with contextlib.closing(connect(admin)) as far:
            work = _Work(far.until(deadline), deadline, listen, guard, asked)
            return work.do(what)
    except errors.LockLost:
        raise
    except errors.Error as error:
        stays = errors.NotCleared(ref, error.sentence())
        stays.late = error.late or isinstance(error, errors.NotGone)
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
        if LOAD_BALANCERS in what:
            # Somebody may make one anew as long as the cluster works.
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
        """Delete, and wait until it is gone, and these others with it."""
        now = self.deadline.now
        awaited = {**going, **(also or {})}
        progress = Progress(
            kinds.BUILT_IN, Goal.GONE, stage=f"workload cluster: {stage}"
        ).awaiting({ref: Awaited(u, 0, now) for ref, u in awaited.items()})
        self.asked.extend(going)
        remove.requested(
            self.far,
            [Delete(ref, uid) for ref, uid in going.items()],
            guard=self.guard,
        )
        places = {(ref.group_kind, ref.namespace) for ref in awaited}
        watches = [Watch(kind, place, "") for kind, place in sorted(places)]
        with self.far.watching(watches) as watching:
            while True:
                progress = self._looked_at(progress)
                self.listen(progress)
                if progress.settled:
                    return
                self.guard()
                if self.deadline.passed:
                    raise self._late(progress, now)
                # It only says when to look again: of the servers that
                # providers bring not each tells of every deletion.
                watching.take(min(LOOK, self.deadline.left))

    def _looked_at(self, progress: Progress) -> Progress:
        try:
            views = dict(
                raised(self.far.each(self.far.get, progress.unsettled))
            )
        except errors.Unavailable:
            return progress
        there = {
            ref: obj
            for ref, obj in views.items()
            if obj and objects.uid(obj) == progress.awaited[ref].uid
        }
        progress = progress.observed(there.values(), self.deadline.now)
        return progress.vanished(views.keys() - there.keys())

    def _late(self, progress: Progress, begun: float) -> errors.Error:
        now = self.deadline.now
        items = [
            errors.Unsettled(ref, progress.verdict(ref, now), now - begun)
            for ref in progress.unsettled
        ]
        brief = self.far.until(Deadline.after(explain.PATIENCE))
        return errors.NotGone(
            explain.explained(brief, kinds.BUILT_IN, items), now - begun
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
        for uid, ref in dependents.owners(obj).items():
            with contextlib.suppress(errors.KindUnknown):
                if not self.far.resource(ref.group_kind).namespaced:
                    continue
                found = self.far.get_metadata(ref)
                if found and objects.uid(found) == uid:
                    return found
        return None

    def _volumes(self) -> Iterator[tuple[ObjectRef, str]]:
        """The volumes that are to go with their claims.

        A claim may be gone before: by an end that came no further.
        """
        for obj in self.far.list_objects(VOLUME):
            bound = objects.field(obj, ("spec", "claimRef", "uid"))
            policy = objects.field(
                obj, ("spec", "persistentVolumeReclaimPolicy")
            )
            if policy == "Delete" and bound:
                yield ObjectRef.of(obj), objects.uid(obj)
