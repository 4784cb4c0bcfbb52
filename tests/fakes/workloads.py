"""The controllers of workloads: Deployments, ReplicaSets and their Pods."""

from __future__ import annotations

from collections.abc import Iterator
import itertools
from typing import Any

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tests.fakes import field_ownership
from tests.fakes.object_store import Stored

DEPLOYMENT = GroupKind("apps", "Deployment")
REPLICA_SET = GroupKind("apps", "ReplicaSet")
POD = GroupKind("", "Pod")

RUNNING = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "True"}],
}
FAILING = {
    "phase": "Pending",
    "conditions": [{"type": "Ready", "status": "False"}],
    "containerStatuses": [
        {
            "name": "main",
            "restartCount": 0,
            "ready": False,
            "state": {"waiting": {"reason": "ImagePullBackOff"}},
        }
    ],
}


class Workloads:
    """A ``controller`` of a fake cluster that does all at once.

    :ivar sick: new Pods do not start.
    :ivar made: how many Pods were made.
    """

    def __init__(self) -> None:
        self.sick = False
        self.idle = False
        self.made = 0
        self._names = itertools.count()

    def __call__(self, fake: Any, obj: Manifest) -> None:
        if self.idle or obj["kind"] in ("Lease", "Secret"):
            return
        world = fake.world
        self._collect(world)
        for deployment in _alive(world, DEPLOYMENT):
            self._keep_sets(world, deployment)
        for replica_set in _alive(world, REPLICA_SET):
            self._keep_pods(world, replica_set)
        for pod in _alive(world, POD):
            if not objects.field(pod, ("status",)):
                _report(world, pod, FAILING if self.sick else RUNNING)
        for kind in (REPLICA_SET, DEPLOYMENT):
            for keeper in _alive(world, kind):
                _count(world, keeper)

    def _collect(self, world: Any) -> None:
        """Objects whose owner is deleted are deleted too."""
        gone = True
        while gone:
            uids = {objects.uid(s.obj) for s in world.objects.values()}
            gone = [
                ref
                for ref, stored in world.objects.items()
                if (owner := _owner(stored.obj)) and owner not in uids
            ]
            for ref in gone:
                world.request_deletion(ref)

    def _keep_sets(self, world: Any, deployment: Manifest) -> None:
        sets = list(_made(world, REPLICA_SET, deployment))
        template = deployment["spec"]["template"]
        wanted = deployment["spec"].get("replicas", 1)
        right = [s for s in sets if s["spec"]["template"] == template]
        for other in sets:
            if other not in right:
                _doom(world, other)
        if not right:
            spec = {**deployment["spec"], "replicas": wanted}
            self._make(world, deployment, REPLICA_SET, spec)
        elif right[0]["spec"]["replicas"] != wanted:
            stored = world.objects[ObjectRef.of(right[0])]
            changed = field_ownership.apply_patch(
                stored.obj, {"spec": {"replicas": wanted}}
            )
            world.kept(stored.updated(changed, "controller"), stored)

    def _keep_pods(self, world: Any, replica_set: Manifest) -> None:
        pods = list(_made(world, POD, replica_set))
        wanted = replica_set["spec"]["replicas"]
        for pod in pods[wanted:]:
            _doom(world, pod)
        for _ in range(wanted - len(pods)):
            self.made += 1
            spec = replica_set["spec"]["template"]["spec"]
            self._make(world, replica_set, POD, spec)

    def _make(
        self, world: Any, owner: Manifest, kind: GroupKind, spec: Any
    ) -> None:
        ref = ObjectRef.of(owner)
        labels = owner["spec"]["template"]["metadata"]["labels"]
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": ref.kind,
            "name": ref.name,
            "uid": objects.uid(owner),
            "controller": True,
        }
        manifest = {
            "apiVersion": f"{kind.group}/v1" if kind.group else "v1",
            "kind": kind.kind,
            "metadata": {
                "name": f"{ref.name}-{next(self._names)}",
                "namespace": ref.namespace,
                "labels": labels,
                "ownerReferences": [reference],
            },
            "spec": spec,
        }
        new = world.new(manifest)
        whole = field_ownership.merge(new, manifest)
        world.kept(Stored(new, {}).updated(whole, "controller"), None)


def _alive(world: Any, kind: GroupKind) -> Iterator[Manifest]:
    for ref, stored in sorted(world.objects.items()):
        going = stored.obj["metadata"].get("deletionTimestamp")
        if ref.group_kind == kind and not going:
            yield stored.obj


def _made(world: Any, kind: GroupKind, owner: Manifest) -> Iterator[Manifest]:
    for obj in _alive(world, kind):
        if _owner(obj) == objects.uid(owner):
            yield obj


def _owner(obj: Manifest) -> str:
    for reference in objects.field(obj, ("metadata", "ownerReferences"), ()):
        return str(reference["uid"])
    return ""


def _doom(world: Any, obj: Manifest) -> None:
    world.request_deletion(ObjectRef.of(obj))


def _report(world: Any, obj: Manifest, status: Manifest) -> None:
    stored = world.objects[ObjectRef.of(obj)]
    after = {**stored.obj, "status": dict(status)}
    world.kept(stored.updated(after, "controller", "status"), stored)


def _count(world: Any, keeper: Manifest) -> None:
    wanted = keeper["spec"]["replicas"]
    if GroupKind.of(keeper) == DEPLOYMENT:
        below = [
            pod
            for replica_set in _made(world, REPLICA_SET, keeper)
            for pod in _made(world, POD, replica_set)
        ]
    else:
        below = list(_made(world, POD, keeper))
    ready = sum(
        objects.field(pod, ("status", "phase")) == "Running" for pod in below
    )
    status = {
        "observedGeneration": keeper["metadata"]["generation"],
        "replicas": len(below),
        "readyReplicas": ready,
        "availableReplicas": ready,
    }
    if GroupKind.of(keeper) == DEPLOYMENT:
        said = "True" if ready >= wanted else "False"
        status["updatedReplicas"] = len(below)
        status["conditions"] = [
            {"type": "Available", "status": said, "reason": "Counted"},
            {
                "type": "Progressing",
                "status": "True",
                "reason": "NewReplicaSetAvailable",
            },
        ]
    _report(world, keeper, status)


def play_deployments(fake: Any, obj: Manifest) -> None:
    """The controller of Deployments, which makes each current at once."""
    if obj["kind"] == "Deployment":
        number = obj["spec"]["replicas"]
        counters = ("replicas", "readyReplicas", "updatedReplicas")
        fake.report(
            ObjectRef.of(obj),
            {
                **dict.fromkeys((*counters, "availableReplicas"), number),
                "observedGeneration": obj["metadata"]["generation"],
                "conditions": [
                    {
                        "type": "Available",
                        "status": "True",
                        "reason": "MinimumReplicasAvailable",
                    },
                    {
                        "type": "Progressing",
                        "status": "True",
                        "reason": "NewReplicaSetAvailable",
                    },
                ],
            },
        )
