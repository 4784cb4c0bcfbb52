"""What a wait finds below a stalled object, and what it requests."""

from __future__ import annotations

import dataclasses

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import plugin_guard
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.wait import settled
from tacker_k8s_cr.wait.diagnostics import children
from tacker_k8s_cr.wait.diagnostics import stalled
from tacker_k8s_cr.wait.progress import AwaitedObject
from tacker_k8s_cr.wait.progress import WaitState
from tests.fakes.scheduled_cluster import ScheduledCluster
from tests.functional import manifests

WEB = ObjectRef("apps", "Deployment", "default", "web")
SET = ObjectRef("apps", "ReplicaSet", "default", "web-1")
POD = ObjectRef("", "Pod", "default", "web-1-1")
GROUP = "test.example.org"
STARTING = {
    "observedGeneration": 1,
    "replicas": 1,
    "updatedReplicas": 1,
    "unavailableReplicas": 1,
}
NO_IMAGE = {
    "phase": "Pending",
    "containerStatuses": [
        {
            "name": "main",
            "restartCount": 0,
            "ready": False,
            "state": {
                "waiting": {
                    "reason": "ImagePullBackOff",
                    "message": "no such image",
                }
            },
        }
    ],
}


class World(ScheduledCluster):
    """What an object creates, and the events about that."""

    def made(self, manifest, owner=None, status=None, **metadata):
        found = {**manifest["metadata"], "namespace": "default", **metadata}
        if owner:
            obj = self.cluster.world.objects[owner].obj
            found["ownerReferences"] = [
                {
                    "apiVersion": obj["apiVersion"],
                    "kind": owner.kind,
                    "name": owner.name,
                    "uid": objects.uid(obj),
                }
            ]
        obj = self.cluster.create(
            {**manifest, "metadata": found}, "other-manager"
        )
        if status:
            self.cluster.report(ObjectRef.of(obj), status)
        return obj

    def ours(self, manifest, status=None):
        return self.made(
            manifest, None, status, labels={objects.INSTANCE: "one"}
        )

    def web(self, pod_status):
        """A managed Deployment whose only Pod has this status."""
        obj = self.ours(manifests.deployment("web"), STARTING)
        labels = {"app": "web"}
        replica_set = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "web-1", "labels": labels},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}},
        }
        self.made(replica_set, WEB, {"observedGeneration": 1, "replicas": 1})
        self.pod("web-1-1", SET, pod_status)
        return obj

    def pod(self, name, owner, status):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {},
        }
        return self.made(pod, owner, status)

    def warned(self, ref, reason, count):
        """An event about an object, told so often."""
        event = ObjectRef("", "Event", "default", f"{ref.name}.{reason}")
        if event in self.cluster.world.objects:
            self.cluster.patch(event, {"count": count}, "other-manager")
            return
        uid = objects.uid(self.cluster.world.objects[ref].obj)
        self.made(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": event.name},
                "involvedObject": {"uid": uid},
                "type": "Warning",
                "reason": reason,
                "message": "as reported",
                "count": count,
            }
        )

    def wait(
        self, *objs, seconds=600.0, stall_timeout=60.0, registry=kinds.BUILT_IN
    ):
        awaited = {
            ObjectRef.of(obj): AwaitedObject(objects.uid(obj), 1, 0.0)
            for obj in objs
        }
        progress = WaitState(
            registry, stall_timeout=stall_timeout
        ).with_awaited(awaited)
        self.cluster.sent.clear()
        deadline = Deadline.after(seconds, self.clock)
        waiting = settled.Waiting(self.cluster, "one", deadline)
        return settled.wait_settled(waiting, progress)


@pytest.fixture
def world():
    return World()


@pytest.mark.requirement("P11")
def test_a_deployment_is_blocked_by_a_missing_image(world):
    """It reports no more than that a replica is missing."""
    web = world.web(NO_IMAGE)

    with pytest.raises(errors.ObjectsFailed) as caught:
        world.wait(web)

    (item,) = caught.value.pending
    assert State.BLOCKED is item.verdict.state
    assert (
        "availableReplicas 0/1; Pod/default/web-1-1: container main: "
        "ImagePullBackOff: no such image (unchanged for 60 s)"
    ) == item.verdict.reason
    assert 60 + 60 / 10 + settled.CHECK_INTERVAL >= world.now


@pytest.mark.parametrize(
    "function", ["assess", "references", "child_selectors"]
)
def test_a_handler_that_fails_below_ends_the_wait(world, function):
    """A stalled object has an explanation before the deadline."""

    def stumbles(obj):
        raise LookupError

    web = world.web(NO_IMAGE)
    kind = GroupKind("apps", "ReplicaSet")
    handler = dataclasses.replace(
        kinds.BUILT_IN[kind], name="mine", **{function: stumbles}
    )
    registry = kinds.BUILT_IN.with_handlers(
        {kind: plugin_guard.guard(handler)}
    )

    with pytest.raises(
        errors.HandlerFailed, match=f"web-1: {function} raised LookupError"
    ):
        world.wait(web, registry=registry)

    assert world.now < 60


@pytest.mark.requirement("P11")
def test_a_deployment_is_blocked_by_a_warning_that_repeats(world):
    """No status has the cause why its Pod does not start."""
    web = world.web({"phase": "Pending"})
    world.warned(POD, "FailedSync", 1)
    world.plays = [
        (moment, lambda n=moment: world.warned(POD, "FailedSync", n))
        for moment in range(10, 600, 10)
    ]

    with pytest.raises(errors.ObjectsFailed) as caught:
        world.wait(web)

    (item,) = caught.value.pending
    assert "Pod/default/web-1-1: event FailedSync" in item.verdict.reason
    assert 80 > world.now


def test_a_deployment_with_slow_pods_is_waited_for(world):
    """Without a sign of error there is only the deadline."""
    web = world.web({"phase": "Pending"})

    with pytest.raises(errors.ReadinessTimeout):
        world.wait(web)

    assert 600 == world.now


@pytest.mark.requirement("P11", "H3")
def test_a_custom_resource_is_blocked_by_what_its_operator_made(world):
    """Found by owner references, of whatever kind the owner is."""
    world.cluster.create(
        manifests.definition(GROUP, "Database"), "other-manager"
    )
    database = world.ours(
        manifests.custom(GROUP, "Database", "db"), {"phase": "Creating"}
    )
    ref = ObjectRef.of(database)
    world.pod("db-0", ref, NO_IMAGE)
    world.pod("other", None, NO_IMAGE)

    with pytest.raises(errors.ObjectsFailed) as caught:
        world.wait(database)

    (item,) = caught.value.pending
    assert "; Pod/default/db-0: container main:" in item.verdict.reason


def test_an_undisturbed_wait_asks_for_nothing(world):
    """It opens its streams, and looks below nothing that moves."""
    web = world.web({"phase": "Pending"})
    # What the fake shows on its streams is not a request of the client.
    world.plays = [
        (
            moment,
            lambda n=moment: world.cluster.report(
                WEB, {**STARTING, "collisionCount": n}
            ),
        )
        for moment in range(4, 120, 4)
    ]
    done = {**STARTING, "availableReplicas": 1}
    world.plays.append((124, lambda: world.cluster.report(WEB, done)))

    assert world.wait(web).is_settled
    assert [] == world.cluster.sent


def test_reads_of_children_are_few(world):
    """The first after half a minute, then ever fewer, of a few requests."""
    web = world.web({"phase": "Pending"})

    with pytest.raises(errors.ReadinessTimeout):
        world.wait(web, stall_timeout=300.0)

    looks, explanations = 6, 1
    first = 1  # whether the server answers
    assert 6 * (looks + explanations) + first >= len(world.cluster.sent)


def test_many_that_stand_still_cost_little(world):
    """What operators made is listed once for all of a round.

    Twenty kinds of silence: as many looks as there are objects, and a list of
    each kind of workload for some of them at once.
    """
    world.cluster.create(
        manifests.definition(GROUP, "Database"), "other-manager"
    )
    databases = [
        world.ours(manifests.custom(GROUP, "Database", f"db{number}"))
        for number in range(20)
    ]

    with pytest.raises(errors.ReadinessTimeout):
        world.wait(*databases, seconds=75.0, stall_timeout=300.0)

    first = 1  # whether the server answers
    explained = first + 20 * (2 + len(children.WORKLOADS))
    looks = 20 * 2 + 20 / stalled.MAX_INSPECTED * len(children.WORKLOADS)
    assert looks >= len(world.cluster.sent) - explained


def test_what_may_not_be_read_does_not_end_the_wait(world):
    """Events and Pods need rights of their own."""
    web = world.web({"phase": "Pending"})
    refused = errors.Forbidden("list", "pods", "default", "no")
    for _ in range(100):
        world.cluster.fail(refused, "list", GroupKind("", "Pod"))
        world.cluster.fail(refused, "list", GroupKind("", "Event"))

    with pytest.raises(errors.ReadinessTimeout):
        world.wait(web, seconds=120.0)
