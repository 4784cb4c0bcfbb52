"""What a wait does about what the streams bring, and what they lose."""

from __future__ import annotations

import contextlib
import cProfile
import pstats

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import Snapshot
from tacker_k8s_cr.kube.protocol import WatchEvent
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.wait import served
from tacker_k8s_cr.wait import settled
from tacker_k8s_cr.wait import watch_state as sights
from tacker_k8s_cr.wait.progress import AwaitedObject
from tacker_k8s_cr.wait.progress import Goal
from tacker_k8s_cr.wait.progress import WaitState
from tacker_k8s_cr.wait.watch_state import WatchState
from tests.fakes.scheduled_cluster import ScheduledCluster
from tests.functional import manifests

WEB = ObjectRef("apps", "Deployment", "default", "web")


def assess(obj):
    """Report the object as current once its status does."""
    state = objects.field(obj, ("status", "state"), "in progress")
    return Verdict(State(state), "so it is")


REGISTRY = Registry({}, Handler(assess))


class World(ScheduledCluster):
    """A managed Deployment, whose changes streams show, or do not."""

    def __init__(self):
        super().__init__()
        manifest = manifests.deployment("web")
        manifest["metadata"].update(
            namespace="default", labels={objects.INSTANCE: "one"}
        )
        self.obj = self.cluster.create(manifest, "tests")

    def report(self):
        self.cluster.report(WEB, {"state": "current"})

    def unlabel(self):
        labels = {objects.INSTANCE: None}
        self.cluster.patch(
            WEB, {"metadata": {"labels": labels}}, "other-manager"
        )

    def unavailable(self):
        error = errors.Unavailable("get web", 503, "try later")
        self.cluster.fail(error, "get", WEB)

    def wait(self, seconds, goal=Goal.CURRENT, **more):
        uid = objects.uid(self.obj)
        progress = WaitState(REGISTRY, goal).with_awaited(
            {WEB: AwaitedObject(uid, 1, 0.0)}
        )
        deadline = Deadline.after(seconds, self.clock)
        waiting = settled.Waiting(
            self.cluster.with_deadline(deadline), "one", deadline
        )
        return settled.wait_settled(waiting, progress, **more)


@pytest.fixture
def world():
    return World()


def test_a_wait_ends_when_its_object_is_current(world):
    """An event shows it."""
    world.at(7, world.report)

    assert world.wait(60).is_settled
    assert 7 == world.now


class Unserved:
    """A server that does not serve a kind, and then nothing at all."""

    def __init__(self, clock):
        self._clock = clock

    def invalidate(self, group):
        """There is nothing that it could remember."""

    def resource(self, kind, version):
        if self._clock():
            raise errors.Unavailable.not_sent("GET /apis/example.org")
        raise errors.KindNotServed(kind, version)


def test_a_kind_that_is_not_served_in_time_is_the_reason(clock):
    """Not the last request for it, which came too late."""
    kind = objects.GroupKind("example.org", "Thing")

    with pytest.raises(errors.KindNotServed) as caught:
        served.wait_served(
            Unserved(clock),
            {kind: ("v1",)},
            Deadline.after(10, clock),
            sleep=lambda seconds: clock.idle(11),
        )

    assert caught.value.deadline_passed


class CatchingUp:
    """A server that is behind the others, and catches up."""

    def __init__(self, kind):
        self._answers = [
            errors.DependencyMissing(
                objects.ObjectRef(*kind, "", "*"), "behind"
            ),
            errors.KindNotServed(kind, "v1"),
            errors.DependencyMissing(
                objects.ObjectRef(*kind, "", "*"), "behind"
            ),
        ]
        self.asked = 0

    def invalidate(self, group):
        """There is nothing that it could remember."""

    def resource(self, kind, version):
        self.asked += 1
        if self._answers:
            raise self._answers.pop()


def test_a_server_that_is_behind_is_asked_until_it_serves_the_kind(clock):
    """That its definition is Established elsewhere ends no wait."""
    kind = objects.GroupKind("example.org", "Thing")
    server = CatchingUp((kind.group, kind.kind))

    served.wait_served(
        server, {kind: ("v1",)}, Deadline.after(10, clock), sleep=clock.idle
    )

    assert 4 == server.asked


# -- Objects that the streams lose sight of ----------------------------------


def test_an_object_that_lost_its_label_is_polled(world):
    """No stream shows that it became current; a GET does."""
    world.at(3, world.unlabel)
    world.at(11, world.report)

    assert world.wait(60).is_settled
    assert 11 <= world.now <= 11 + 2 * settled.CHECK_INTERVAL


def test_an_object_that_never_had_its_label_is_looked_at_again(world):
    """The first list does not show it already."""
    world.unlabel()
    world.at(11, world.report)

    assert world.wait(60).is_settled


def test_an_object_out_of_sight_is_asked_for_no_oftener(world):
    """One request in every few seconds, beside those of a look below it."""
    world.at(3, world.unlabel)

    with pytest.raises(errors.ReadinessTimeout):
        world.wait(60)

    asked = [what for verb, what in world.cluster.sent if verb == "get"]
    assert (
        60 / settled.CHECK_INTERVAL - 2
        <= asked.count(WEB)
        <= 60 / settled.CHECK_INTERVAL + 5
    )


def test_an_object_out_of_sight_is_looked_at_before_giving_up(world):
    """It became current since the last look."""
    world.at(1, world.unlabel)
    world.at(3.5, world.report)

    assert world.wait(4).is_settled


def test_deletion_of_an_unwatched_object_is_noticed(world):
    """A finalizer goes when no stream shows the object any more."""
    held = {"metadata": {"finalizers": ["example.org/hold"]}}
    world.cluster.patch(WEB, held, "other-manager")
    world.cluster.delete(WEB, objects.uid(world.obj))
    world.at(3, world.unlabel)
    world.at(
        11,
        lambda: world.cluster.patch(
            WEB, {"metadata": {"finalizers": None}}, "other-manager"
        ),
    )

    assert world.wait(60, Goal.DELETED).is_settled


def test_an_object_that_is_watched_again_is_not_polled(world):
    """Its stream shows it from then on; its children are still read."""
    label = {"metadata": {"labels": {objects.INSTANCE: "one"}}}
    world.at(3, world.unlabel)
    world.at(4, lambda: world.cluster.patch(WEB, label, "other-manager"))

    with pytest.raises(errors.ReadinessTimeout):
        world.wait(60)

    asked = [what for verb, what in world.cluster.sent if verb == "get"]
    assert 6 > asked.count(WEB)


def test_a_server_that_cannot_answer_does_not_end_the_wait(world):
    """Whether the object is deleted is requested again."""
    world.at(3, world.unavailable)
    world.at(3, world.unlabel)
    world.at(11, world.report)

    assert world.wait(60).is_settled


def test_a_server_that_never_answers_ends_the_wait_in_time(world):
    """And then the objects are named, not the request."""

    def refuse():
        for _ in range(100):
            world.unavailable()

    world.at(3, refuse)
    world.at(3, world.unlabel)

    with pytest.raises(errors.ReadinessTimeout):
        world.wait(20)

    assert 20 == world.now


def test_a_server_that_cannot_be_reached_ends_the_wait_in_time(world):
    """The objects are named as they were last known, and what went wrong."""

    def refuse():
        for _ in range(100):
            away = errors.Unreachable("https://a", "Connection refused")
            world.cluster.fail(away, "get", WEB)

    world.at(3, refuse)
    world.at(3, world.unlabel)

    with pytest.raises(errors.ReadinessTimeout) as caught:
        world.wait(20)

    assert 20 == world.now
    (item,) = caught.value.pending
    assert (
        "this is the last known state: the API server https://a cannot be "
        "reached: Connection refused",
    ) == item.notes


def test_a_deleted_object_does_not_count_as_unwatched(world):
    """It has failed at once."""
    world.at(3, lambda: world.cluster.delete(WEB, objects.uid(world.obj)))

    with pytest.raises(
        errors.ObjectsFailed, match="deleted by another client"
    ):
        world.wait(60)

    assert 3 == world.now


def test_a_view_of_what_was_replaced_does_not_end_the_wait(world):
    """A server that is behind the others shows the object before ours."""
    stale = {**world.obj, "metadata": {**world.obj["metadata"], "uid": "u0"}}
    uid = objects.uid(world.obj)
    sight = WatchState(
        WaitState(REGISTRY).with_awaited({WEB: AwaitedObject(uid, 1, 0.0)}),
    )

    after = sights.absorb_events(
        world.cluster, sight, [WatchEvent(stale)], 1.0, reread_lost=False
    )

    assert not after.progress.deleted
    assert after.progress.is_open(WEB)


def test_another_object_of_its_name_is_foreign(world):
    """Seen by its UID, when the stream shows it."""

    def replace():
        world.cluster.delete(WEB, objects.uid(world.obj))
        again = manifests.deployment("web")
        again["metadata"].update(
            namespace="default", labels={objects.INSTANCE: "one"}
        )
        world.cluster.create(again, "other-manager")

    world.at(3, replace)

    with pytest.raises(
        errors.ObjectsFailed, match="deleted by another client"
    ):
        world.wait(60)


# -- Many objects ------------------------------------------------------------


def many(number, ready):
    found = {
        "apiVersion": "test.example.org/v1",
        "kind": "Thing",
        "metadata": {
            "name": f"t{number}",
            "namespace": "default",
            "uid": f"u{number}",
            "generation": 1,
        },
    }
    if ready:
        condition = {"type": "Ready", "status": "True"}
        found["status"] = {"observedGeneration": 1, "conditions": [condition]}
    return found


class Batches:
    """A cluster that shows so many objects, and has them become current."""

    def __init__(self, count, size):
        self.count = count
        self.size = size
        self.done = 0
        self._watched = None

    def next_events(self, seconds):
        if self._watched:
            objs = tuple(many(n, False) for n in range(self.count))
            shown, self._watched = [Snapshot(self._watched, objs)], None
            return shown
        end = min(self.count, self.done + self.size)
        shown = [WatchEvent(many(n, True)) for n in range(self.done, end)]
        self.done = end
        return shown

    @contextlib.contextmanager
    def watch(self, watches):
        (self._watched,) = watches
        yield self


def calls_for(count):
    """How many functions are called, which no other process changes."""
    refs = {
        ObjectRef.of(many(n, False)): AwaitedObject(f"u{n}", 1, 0.0)
        for n in range(count)
    }
    progress = WaitState(kinds.BUILT_IN).with_awaited(refs)
    batches = Batches(count, 20)
    with cProfile.Profile() as profile:
        waiting = settled.Waiting(batches, "one", Deadline.never())
        found = settled.wait_settled(waiting, progress)
    assert found.is_settled
    return pstats.Stats(profile).total_calls


def test_ten_times_the_objects_cost_hardly_more_than_ten_times_as_much():
    """A batch of events costs what changed, not what is still open."""
    assert calls_for(3000) < 12 * calls_for(300)
