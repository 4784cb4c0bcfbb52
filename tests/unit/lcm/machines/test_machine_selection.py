"""Numbers of Machines that fall slowly, and which Machines they take."""

from __future__ import annotations

import contextlib
import dataclasses

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.state import store
from tests.fakes import FakeCluster
from tests.fakes import machines
from tests.fakes.machines import Machines
from tests.unit.lcm.kill_points import killed_clusters
from tests.unit.lcm.kill_points import run_operation
from tests.unit.lcm.machines.test_machine_annotations import OTHER
from tests.unit.lcm.machines.test_machine_annotations import PACKAGE
from tests.unit.lcm.machines.test_machine_annotations import SET
from tests.unit.lcm.machines.test_machine_annotations import at_rest
from tests.unit.lcm.machines.test_machine_annotations import served
from tests.unit.lcm.machines.test_machine_annotations import uids

FIRST, SECOND, LAST = "set-0", "set-1", "set-2"


@pytest.fixture
def new_cluster(clock):
    """The machines' controllers do nothing as long as they are idle."""

    def cluster():
        return served(FakeCluster(Machines(), idle=clock.idle))

    return cluster


def idle(cluster):
    cluster.world.controller.idle = True


def awake(cluster):
    """The controllers are at it again, and begin with what is there."""
    controller = cluster.world.controller
    controller.idle = False
    controller(cluster, cluster.get(SET))


@pytest.fixture
def interrupted_scale(new_cluster, clock):
    """A scale from three to two timed out, and no machine is deleted yet."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, PACKAGE)
    idle(cluster)
    with pytest.raises(errors.ReadinessTimeout):
        scale(cluster, clock, 2, LAST, seconds=8)
    return cluster


def scale(cluster, clock, number, *machines_to_delete, seconds=80):
    return lcm.scale(
        lcm.Request(cluster, "one", deadline=Deadline.after(seconds, clock)),
        {SET: number},
        machines_to_delete=machines_to_delete,
    )


def marked(cluster):
    return set(machines.is_marked_for_deletion(cluster.world))


def names(cluster):
    return set(uids(cluster))


def recorded(cluster):
    return store.read(cluster, "one", "default").inventory


def test_the_selected_machine_is_deleted_after_a_timeout(
    interrupted_scale, clock
):
    """The mark stays with the number; to repeat finishes both."""
    assert {LAST} == marked(interrupted_scale)
    awake(interrupted_scale)
    assert {FIRST, SECOND} == names(interrupted_scale)

    scale(interrupted_scale, clock, 2, LAST)

    at_rest(interrupted_scale)


def test_a_repeated_scale_waits_for_the_chosen(interrupted_scale, clock):
    """As long as a machine is still to go, it may be that one."""
    with pytest.raises(
        errors.ReadinessTimeout, match=r"3 Machine\(s\), expected 2"
    ):
        scale_when_counted(interrupted_scale, clock)
    assert {LAST} == marked(interrupted_scale)

    awake(interrupted_scale)

    assert {FIRST, SECOND} == names(interrupted_scale)


def scale_when_counted(cluster, clock):
    """The set has reported completion, and no machine is deleted."""
    found = cluster.get(SET)
    counters = ("replicas", "readyReplicas", "availableReplicas")
    status = {**found["status"], **dict.fromkeys(counters, 2)}
    cluster.report(SET, {**status, "observedGeneration": 2})
    scale(cluster, clock, 2, LAST, seconds=8)


@pytest.mark.parametrize("operation", ["change", "terminate", "scale"])
def test_the_next_operation_still_deletes_the_selected_machine(
    new_cluster, clock, operation
):
    """A number that has fallen takes it, and no other machine."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, PACKAGE)
        idle(cluster)

    def time_out(request):
        with contextlib.suppress(errors.ReadinessTimeout):
            scale(request.cluster, clock, 2, LAST, seconds=8)

    seen = 0
    for cluster in killed_clusters(time_out, prepare, new_cluster, clock):
        if 2 != cluster.get(SET)["spec"]["replicas"]:
            continue
        seen += 1

        with contextlib.suppress(errors.ReadinessTimeout):
            if operation == "change":
                soon = Deadline.after(30, clock)
                lcm.change(lcm.Request(cluster, "one", deadline=soon), OTHER)
            elif operation == "terminate":
                run_operation(lcm.terminate, cluster, clock)
            else:
                scale(cluster, clock, 1, seconds=30)

        awake(cluster)
        gone = {FIRST, SECOND, LAST} - names(cluster)
        assert LAST in gone
        assert (2 if operation == "scale" else 1) == len(gone)
        assert set() == marked(cluster)
        if operation != "terminate":
            run_operation(lcm.change, cluster, clock, PACKAGE)
            at_rest(cluster)
    assert seen


def test_a_rollback_raises_replicas_before_it_removes_annotations(
    new_cluster, clock
):
    """Wherever it dies, no other machine goes than the chosen."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, PACKAGE)
        idle(cluster)
        with pytest.raises(errors.ReadinessTimeout):
            scale(cluster, clock, 2, LAST, seconds=8)
        assert {LAST} == marked(cluster)

    def time_out(request):
        brief = request.deadline.at_most(8)
        with contextlib.suppress(errors.ReadinessTimeout):
            lcm.roll_back(dataclasses.replace(request, deadline=brief))

    seen = set()
    for cluster in killed_clusters(time_out, prepare, new_cluster, clock):
        awake(cluster)
        left = frozenset({FIRST, SECOND, LAST} & names(cluster))
        assert {FIRST, SECOND} <= left
        seen.add(left)

        run_operation(lcm.roll_back, cluster, clock)

        assert 3 == len(names(cluster))
        assert set() == marked(cluster)
        at_rest(cluster)
    assert 2 == len(seen)


def test_a_repeated_scale_reports_that_another_machine_was_deleted(
    interrupted_scale, clock
):
    """At once, and not when its time has passed."""
    other = ObjectRef(machines.GROUP, "Machine", "default", FIRST)
    interrupted_scale.delete(other, uids(interrupted_scale)[FIRST])
    awake(interrupted_scale)
    before = clock.now

    with pytest.raises(
        errors.MachineSelectionInvalid, match="may have deleted another"
    ):
        scale(interrupted_scale, clock, 2, LAST)

    assert before == clock.now
    scale(interrupted_scale, clock, 2)
    assert set() == marked(interrupted_scale)
    at_rest(interrupted_scale)


def test_another_choice_takes_the_place_of_the_first(interrupted_scale, clock):
    """Though the number has fallen for that one already."""
    with pytest.raises(errors.ReadinessTimeout):
        scale(interrupted_scale, clock, 2, FIRST, seconds=8)
    assert {FIRST} == marked(interrupted_scale)
    awake(interrupted_scale)

    scale(interrupted_scale, clock, 2, FIRST)

    assert {SECOND, LAST} == names(interrupted_scale)
    at_rest(interrupted_scale)


def test_a_second_scale_in_adds_to_the_choice(interrupted_scale, clock):
    """Both numbers fall in the end, and both choices hold."""
    with pytest.raises(errors.ReadinessTimeout):
        scale(interrupted_scale, clock, 1, FIRST, seconds=8)
    assert {FIRST, LAST} == marked(interrupted_scale)
    awake(interrupted_scale)

    scale(interrupted_scale, clock, 1, FIRST)

    assert {SECOND} == names(interrupted_scale)
    at_rest(interrupted_scale)


def test_a_lost_answer_keeps_the_annotation(new_cluster, clock):
    """The number may have fallen, or fall in a moment."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, PACKAGE)
    cluster.fail(errors.Unreachable("server", "timed out"), "patch", SET)

    with pytest.raises(errors.Unreachable) as caught:
        scale(cluster, clock, 2, LAST)

    assert caught.value.has_written
    assert {LAST} == marked(cluster)
    assert Phase.SCALING is recorded(cluster).phase
    run_operation(lcm.roll_back, cluster, clock)
    assert set() == marked(cluster)
    at_rest(cluster)


def test_a_machine_being_deleted_may_be_selected_too(clock):
    """Another one has already been created instead."""
    first = ObjectRef(machines.GROUP, "Machine", "default", FIRST)
    held = []

    def idle_(seconds):
        clock.idle(seconds)
        if held and cluster.get(first):
            body = {"metadata": {"finalizers": None}}
            cluster.patch(first, body, "other-manager")

    cluster = served(FakeCluster(Machines(), idle=idle_))
    run_operation(lcm.instantiate, cluster, clock, PACKAGE)
    body = {"metadata": {"finalizers": ["example.org/held"]}}
    cluster.patch(first, body, "other-manager")
    cluster.delete(first, objects.uid(cluster.get(first)))
    cluster.world.controller(cluster, cluster.get(SET))
    assert {SECOND, LAST, "set-3"} == names(cluster)
    held.append(first)

    scale(cluster, clock, 2, FIRST, SECOND)

    assert {LAST, "set-3"} == names(cluster)
    at_rest(cluster)
