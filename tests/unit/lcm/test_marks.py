"""Marks on Machines, of an operation that died wherever it could."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.healing import remediating
from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.lcm import marks
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.recording import record
from tests.fakes import FakeCluster
from tests.fakes import machines
from tests.fakes.machines import Machines
from tests.functional import manifests
from tests.mortal import Killed
from tests.mortal import mortal
from tests.unit.lcm.deaths import deaths
from tests.unit.lcm.deaths import run
from tests.unit.packages import package

SET = ObjectRef(machines.GROUP, "MachineSet", "default", "set")
REMEDIATE = Options(heal_machines="remediate")


def of_capi(kind, name, annotations=None, **spec):
    made = manifests.custom(machines.GROUP, kind, name, annotations, **spec)
    return {**made, "apiVersion": f"{machines.GROUP}/{machines.VERSION}"}


KEPT = {objects.PREFIX + "on-terminate": "keep"}
PACKAGE = package(of_capi("MachineSet", "set", KEPT, replicas=3))
OTHER = package(
    of_capi("MachineSet", "set", KEPT, replicas=3), manifests.config_map("c")
)


@pytest.fixture
def fresh(clock):
    """Nobody acts upon a mark to be replaced."""

    def cluster():
        return served(FakeCluster(Machines(), idle=clock.idle))

    return cluster


@pytest.fixture
def remediated(clock):
    """What is marked to be replaced is, while others wait."""

    def cluster():
        controller = Machines()

        def idle(seconds):
            controller.remediate(made)
            clock.idle(seconds)

        made = FakeCluster(controller, idle=idle)
        return served(made)

    return cluster


def served(cluster):
    for kind in (machines.SET, machines.MACHINE, machines.CHECK):
        definition = manifests.definition(kind.group, kind.kind)
        (version,) = definition["spec"]["versions"]
        version["name"] = machines.VERSION
        cluster.apply(definition, "somebody")
    check = of_capi("MachineHealthCheck", "check")
    check["metadata"]["namespace"] = "default"
    cluster.apply(check, "somebody")
    return cluster


FIRST, SECOND = "set-0", "set-1"


def uids(cluster):
    return {
        machine["metadata"]["name"]: objects.uid(machine)
        for machine in machines.of(cluster.world)
    }


@pytest.fixture
def three(clock):
    """Makes an instance with three machines, and remembers these."""

    class Three(dict):
        def __call__(self, cluster):
            run(lcm.instantiate, cluster, clock, PACKAGE)
            self.update(uids(cluster))

    return Three()


def at_rest(cluster):
    found = record.read(cluster, "one", "default").inventory
    assert Phase.INSTANTIATED is found.phase
    assert () == found.leaving


SUCCESSORS = {
    "scale": (lcm.scale, ({SET: 3},), {}),
    "change": (lcm.change, (OTHER,), {}),
    "rollback": (lcm.roll_back, (), {}),
    "terminate": (lcm.terminate, (), {}),
}


@pytest.mark.parametrize("successor", SUCCESSORS)
def test_no_mark_to_go_outlives_the_next_operation(
    fresh, clock, three, successor
):
    """Of a scale that died, whatever comes after it (P21, M7)."""
    operation, args, how = SUCCESSORS[successor]
    seen = 0
    for cluster in deaths(
        lcm.scale, three, fresh, clock, {SET: 2}, leaving=[FIRST]
    ):
        seen += bool(machines.marked(cluster.world))

        run(operation, cluster, clock, *args, **how)

        assert {} == machines.marked(cluster.world)
        if successor == "terminate":
            assert cluster.get(SET)
        else:
            at_rest(cluster)
    assert seen


def test_a_scale_that_died_is_finished_with_its_marks(fresh, clock, three):
    """The chosen machine goes, wherever the first try died (P21, M7)."""
    again = {"leaving": [FIRST]}
    for cluster in deaths(lcm.scale, three, fresh, clock, {SET: 2}, **again):
        run(lcm.scale, cluster, clock, {SET: 2}, **again)

        assert {SECOND, "set-2"} == uids(cluster).keys()
        assert {} == machines.marked(cluster.world)
        at_rest(cluster)


def test_two_scales_that_died_leave_no_mark_either(fresh, clock, three):
    """The record tells of the marks of the first until they are off (P21)."""

    def prepare(cluster):
        three(cluster)
        for requests in itertools.count():
            died = mortal(cluster, requests, True)
            with contextlib.suppress(Killed):
                run(lcm.scale, died, clock, {SET: 2}, leaving=[FIRST])
            if machines.marked(cluster.world):
                return

    died = 0
    for cluster in deaths(
        lcm.scale, prepare, fresh, clock, {SET: 2}, leaving=[SECOND]
    ):
        died += 1
        if died % 2:
            run(lcm.roll_back, cluster, clock)
        else:
            run(lcm.scale, cluster, clock, {SET: 2}, leaving=[SECOND])
            assert FIRST in uids(cluster)
            assert SECOND not in uids(cluster)

        assert {} == machines.marked(cluster.world)
        at_rest(cluster)
    assert died > 5


HEALED = {**SUCCESSORS, "scale": (lcm.scale, ({SET: 4},), {})}


@pytest.mark.parametrize("successor", [*HEALED, "heal"])
def test_no_mark_to_be_replaced_outlives_the_next_operation(
    fresh, clock, three, successor
):
    """Of a heal that died; to heal another member is one, too (G3, P21)."""

    def vain(cluster, instance, name, deadline):
        with contextlib.suppress(errors.NotReady):
            heal(three)(cluster, instance, name, deadline=deadline.sooner(8))

    seen = 0
    for cluster in deaths(vain, three, fresh, clock, FIRST):
        seen += bool(machines.marked(cluster.world))

        if successor == "heal":
            run(lcm.heal, cluster, clock, {three[SECOND]})
        else:
            operation, args, how = HEALED[successor]
            run(operation, cluster, clock, *args, **how)

        assert {} == machines.marked(cluster.world)
        if successor == "terminate":
            assert cluster.get(SET)
        else:
            at_rest(cluster)
    assert seen


def test_a_heal_that_died_is_finished_with_its_marks(remediated, clock, three):
    """The member is replaced once, wherever the first try died (G3, P21)."""
    for cluster in deaths(heal(three), three, remediated, clock, FIRST):
        run(heal(three), cluster, clock, FIRST)

        assert {SECOND, "set-2", "set-3"} == uids(cluster).keys()
        assert {} == machines.marked(cluster.world)
        at_rest(cluster)


def heal(three):
    """By a mark, of a member by its name."""

    def healed(cluster, instance, name, **how):
        one = {three[name]}
        return lcm.heal(cluster, instance, one, options=REMEDIATE, **how)

    return healed


@pytest.mark.parametrize("name", [marks.LEAVES, remediating.MARK])
def test_marks_of_somebody_else_stay(fresh, clock, three, name):
    """What we did not put on is not taken off, though we wanted it too."""
    cluster = fresh()
    three(cluster)
    ref = ObjectRef(machines.GROUP, "Machine", "default", FIRST)
    body = {"metadata": {"annotations": {name: ""}}}
    cluster.patch(ref, body, "somebody")
    goer = Goer(ref, three[FIRST], SET)
    entry = record.read(cluster, "one", "default")
    left = dataclasses.replace(
        entry.inventory, phase=Phase.SCALING, leaving=(goer,)
    )
    record.write(cluster, left, entry)

    run(lcm.roll_back, cluster, clock)

    assert {FIRST: [name]} == machines.marked(cluster.world)
    at_rest(cluster)


def test_a_mark_that_cannot_be_taken_off_is_remembered(fresh, clock, three):
    """The record tells of the machine until the mark is off (P21)."""
    cluster = fresh()
    three(cluster)
    for requests in itertools.count():
        with contextlib.suppress(Killed):
            run(
                lcm.scale,
                mortal(cluster, requests, True),
                clock,
                {SET: 2},
                leaving=[FIRST],
            )
        if machines.marked(cluster.world):
            break
    ref = ObjectRef(machines.GROUP, "Machine", "default", FIRST)
    refused = errors.Rejected(ref, 400, "Invalid", "not now")
    cluster.fail(refused, "patch", ref)

    run(lcm.roll_back, cluster, clock)

    assert {FIRST: [marks.LEAVES]} == machines.marked(cluster.world)
    found = record.read(cluster, "one", "default").inventory
    assert [ref] == [goer.ref for goer in found.leaving]
    run(lcm.scale, cluster, clock, {SET: 4})
    assert {} == machines.marked(cluster.world)
    at_rest(cluster)
