"""Numbers of Machines that fall slowly, and which Machines they take."""

from __future__ import annotations

import contextlib

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import record
from tests.fakes import FakeCluster
from tests.fakes import machines
from tests.fakes.machines import Machines
from tests.unit.lcm.deaths import deaths
from tests.unit.lcm.deaths import run
from tests.unit.lcm.test_marks import OTHER
from tests.unit.lcm.test_marks import PACKAGE
from tests.unit.lcm.test_marks import SET
from tests.unit.lcm.test_marks import at_rest
from tests.unit.lcm.test_marks import served
from tests.unit.lcm.test_marks import uids

FIRST, SECOND, LAST = "set-0", "set-1", "set-2"


@pytest.fixture
def fresh(clock):
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
def fallen(fresh, clock):
    """A scale from three to two timed out, and no machine has gone yet."""
    cluster = fresh()
    run(lcm.instantiate, cluster, clock, PACKAGE)
    idle(cluster)
    with pytest.raises(errors.NotReady):
        scale(cluster, clock, 2, LAST, seconds=8)
    return cluster


def scale(cluster, clock, number, *leaving, seconds=80):
    return lcm.scale(
        cluster,
        "one",
        {SET: number},
        leaving=leaving,
        deadline=Deadline.after(seconds, clock),
    )


def marked(cluster):
    return set(machines.marked(cluster.world))


def names(cluster):
    return set(uids(cluster))


def recorded(cluster):
    return record.read(cluster, "one", "default").inventory


def test_the_chosen_goes_though_its_scale_timed_out(fallen, clock):
    """The mark stays with the number; to repeat finishes both (P21, M7)."""
    assert {LAST} == marked(fallen)
    awake(fallen)
    assert {FIRST, SECOND} == names(fallen)

    scale(fallen, clock, 2, LAST)

    at_rest(fallen)


def test_a_repeated_scale_waits_for_the_chosen(fallen, clock):
    """As long as a machine is still to go, it may be that one (P21, M7)."""
    with pytest.raises(errors.NotReady, match=r"3 Machine\(s\), 2 asked"):
        scale_when_counted(fallen, clock)
    assert {LAST} == marked(fallen)

    awake(fallen)

    assert {FIRST, SECOND} == names(fallen)


def scale_when_counted(cluster, clock):
    """The set has said that it is done, and no machine has gone."""
    found = cluster.get(SET)
    counters = ("replicas", "readyReplicas", "availableReplicas")
    status = {**found["status"], **dict.fromkeys(counters, 2)}
    cluster.report(SET, {**status, "observedGeneration": 2})
    scale(cluster, clock, 2, LAST, seconds=8)


@pytest.mark.parametrize("operation", ["change", "terminate", "scale"])
def test_whatever_comes_next_leaves_the_chosen_to_go(fresh, clock, operation):
    """A number that has fallen takes it, and no other machine (P21, M7)."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, PACKAGE)
        idle(cluster)

    def vain(cluster, name, deadline):
        with contextlib.suppress(errors.NotReady):
            scale(cluster, clock, 2, LAST, seconds=8)

    seen = 0
    for cluster in deaths(vain, prepare, fresh, clock):
        if 2 != cluster.get(SET)["spec"]["replicas"]:
            continue
        seen += 1

        with contextlib.suppress(errors.NotReady):
            if operation == "change":
                soon = Deadline.after(30, clock)
                lcm.change(cluster, "one", OTHER, deadline=soon)
            elif operation == "terminate":
                run(lcm.terminate, cluster, clock)
            else:
                scale(cluster, clock, 1, seconds=30)

        awake(cluster)
        gone = {FIRST, SECOND, LAST} - names(cluster)
        assert LAST in gone
        assert (2 if operation == "scale" else 1) == len(gone)
        assert set() == marked(cluster)
        if operation != "terminate":
            run(lcm.change, cluster, clock, PACKAGE)
            at_rest(cluster)
    assert seen


def test_a_rollback_raises_the_number_before_it_takes_marks_off(fresh, clock):
    """Wherever it dies, no other machine goes than the chosen (P21, M7)."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, PACKAGE)
        idle(cluster)
        with pytest.raises(errors.NotReady):
            scale(cluster, clock, 2, LAST, seconds=8)
        assert {LAST} == marked(cluster)

    def vain(cluster, name, deadline):
        with contextlib.suppress(errors.NotReady):
            lcm.roll_back(cluster, name, deadline=deadline.sooner(8))

    seen = set()
    for cluster in deaths(vain, prepare, fresh, clock):
        awake(cluster)
        left = frozenset({FIRST, SECOND, LAST} & names(cluster))
        assert {FIRST, SECOND} <= left
        seen.add(left)

        run(lcm.roll_back, cluster, clock)

        assert 3 == len(names(cluster))
        assert set() == marked(cluster)
        at_rest(cluster)
    assert 2 == len(seen)


def test_a_repeated_scale_says_that_another_machine_went(fallen, clock):
    """At once, and not when its time has passed (M7)."""
    other = ObjectRef(machines.GROUP, "Machine", "default", FIRST)
    fallen.delete(other, uids(fallen)[FIRST])
    awake(fallen)
    before = clock.now

    with pytest.raises(errors.NotScalable, match="another may have gone"):
        scale(fallen, clock, 2, LAST)

    assert before == clock.now
    scale(fallen, clock, 2)
    assert set() == marked(fallen)
    at_rest(fallen)


def test_another_choice_takes_the_place_of_the_first(fallen, clock):
    """Though the number has fallen for that one already (P21, M7)."""
    with pytest.raises(errors.NotReady):
        scale(fallen, clock, 2, FIRST, seconds=8)
    assert {FIRST} == marked(fallen)
    awake(fallen)

    scale(fallen, clock, 2, FIRST)

    assert {SECOND, LAST} == names(fallen)
    at_rest(fallen)


def test_a_second_scale_in_adds_to_the_choice(fallen, clock):
    """Both numbers fall in the end, and both choices hold (P21, M7)."""
    with pytest.raises(errors.NotReady):
        scale(fallen, clock, 1, FIRST, seconds=8)
    assert {FIRST, LAST} == marked(fallen)
    awake(fallen)

    scale(fallen, clock, 1, FIRST)

    assert {SECOND} == names(fallen)
    at_rest(fallen)


def test_an_answer_that_is_lost_keeps_the_mark(fresh, clock):
    """The number may have fallen, or fall in a moment (P21)."""
    cluster = fresh()
    run(lcm.instantiate, cluster, clock, PACKAGE)
    cluster.fail(errors.Unreachable("server", "timed out"), "patch", SET)

    with pytest.raises(errors.Unreachable) as caught:
        scale(cluster, clock, 2, LAST)

    assert caught.value.begun
    assert {LAST} == marked(cluster)
    assert Phase.SCALING is recorded(cluster).phase
    run(lcm.roll_back, cluster, clock)
    assert set() == marked(cluster)
    at_rest(cluster)


def test_one_that_goes_already_may_be_chosen_too(clock):
    """It is in nobody's place: another has been made in its own (M7)."""
    first = ObjectRef(machines.GROUP, "Machine", "default", FIRST)
    held = []

    def idle_(seconds):
        clock.idle(seconds)
        if held and cluster.get(first):
            body = {"metadata": {"finalizers": None}}
            cluster.patch(first, body, "somebody")

    cluster = served(FakeCluster(Machines(), idle=idle_))
    run(lcm.instantiate, cluster, clock, PACKAGE)
    body = {"metadata": {"finalizers": ["example.org/held"]}}
    cluster.patch(first, body, "somebody")
    cluster.delete(first, objects.uid(cluster.get(first)))
    cluster.world.controller(cluster, cluster.get(SET))
    assert {SECOND, LAST, "set-3"} == names(cluster)
    held.append(first)

    scale(cluster, clock, 2, FIRST, SECOND)

    assert {LAST, "set-3"} == names(cluster)
    at_rest(cluster)
