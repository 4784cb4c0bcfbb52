"""Marks on Machines, of an operation that died wherever it could."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.lcm.healing import remediation
from tacker_k8s_cr.lcm.machines import machine_annotations
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.journal import MemberRef
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state import store
from tests.failing_cluster import Killed
from tests.failing_cluster import fail_after
from tests.fakes import FakeCluster
from tests.fakes import machines
from tests.fakes.machines import Machines
from tests.functional import manifests
from tests.unit.lcm.kill_points import killed_clusters
from tests.unit.lcm.kill_points import run_operation
from tests.unit.packages import make_package

SET = ObjectRef(machines.GROUP, "MachineSet", "default", "set")
REMEDIATE = Options(machine_heal_strategy="remediate")


def of_capi(kind, name, annotations=None, **spec):
    made = manifests.custom(machines.GROUP, kind, name, annotations, **spec)
    return {**made, "apiVersion": f"{machines.GROUP}/{machines.VERSION}"}


KEPT = {objects.PREFIX + "on-terminate": "keep"}
PACKAGE = make_package(of_capi("MachineSet", "set", KEPT, replicas=3))
OTHER = make_package(
    of_capi("MachineSet", "set", KEPT, replicas=3), manifests.config_map("c")
)


@pytest.fixture
def new_cluster(clock):
    """No controller acts upon a remediate-machine annotation."""

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
        cluster.apply(definition, "other-manager")
    check = of_capi("MachineHealthCheck", "check")
    check["metadata"]["namespace"] = "default"
    cluster.apply(check, "other-manager")
    return cluster


FIRST, SECOND = "set-0", "set-1"


def uids(cluster):
    return {
        machine["metadata"]["name"]: objects.uid(machine)
        for machine in machines.machines_of(cluster.world)
    }


@pytest.fixture
def three(clock):
    """Makes an instance with three machines, and remembers these."""

    class Three(dict):
        def __call__(self, cluster):
            run_operation(lcm.instantiate, cluster, clock, PACKAGE)
            self.update(uids(cluster))

    return Three()


def at_rest(cluster):
    found = store.read(cluster, "one", "default").inventory
    assert Phase.INSTANTIATED is found.phase
    assert () == found.machines_to_delete


SUCCESSORS = {
    "scale": (lcm.scale, ({SET: 3},), {}),
    "change": (lcm.change, (OTHER,), {}),
    "rollback": (lcm.roll_back, (), {}),
    "terminate": (lcm.terminate, (), {}),
}


@pytest.mark.parametrize("successor", SUCCESSORS)
def test_no_delete_annotation_outlives_the_next_operation(
    new_cluster, clock, three, successor
):
    """Of a scale that died, whatever comes after it."""
    operation, args, how = SUCCESSORS[successor]
    seen = 0
    for cluster in killed_clusters(
        lcm.scale,
        three,
        new_cluster,
        clock,
        {SET: 2},
        machines_to_delete=[FIRST],
    ):
        seen += bool(machines.is_marked_for_deletion(cluster.world))

        run_operation(operation, cluster, clock, *args, **how)

        assert {} == machines.is_marked_for_deletion(cluster.world)
        if successor == "terminate":
            assert cluster.get(SET)
        else:
            at_rest(cluster)
    assert seen


def test_an_interrupted_scale_is_finished_with_its_annotations(
    new_cluster, clock, three
):
    """The chosen machine goes, wherever the first try died."""
    again = {"machines_to_delete": [FIRST]}
    for cluster in killed_clusters(
        lcm.scale, three, new_cluster, clock, {SET: 2}, **again
    ):
        run_operation(lcm.scale, cluster, clock, {SET: 2}, **again)

        assert {SECOND, "set-2"} == uids(cluster).keys()
        assert {} == machines.is_marked_for_deletion(cluster.world)
        at_rest(cluster)


def test_two_interrupted_scales_leave_no_annotation_either(
    new_cluster, clock, three
):
    """The record has the annotations of the first until they are removed."""

    def prepare(cluster):
        three(cluster)
        for requests in itertools.count():
            died = fail_after(cluster, requests, True)
            with contextlib.suppress(Killed):
                run_operation(
                    lcm.scale,
                    died,
                    clock,
                    {SET: 2},
                    machines_to_delete=[FIRST],
                )
            if machines.is_marked_for_deletion(cluster.world):
                return

    died = 0
    for cluster in killed_clusters(
        lcm.scale,
        prepare,
        new_cluster,
        clock,
        {SET: 2},
        machines_to_delete=[SECOND],
    ):
        died += 1
        if died % 2:
            run_operation(lcm.roll_back, cluster, clock)
        else:
            run_operation(
                lcm.scale,
                cluster,
                clock,
                {SET: 2},
                machines_to_delete=[SECOND],
            )
            assert FIRST in uids(cluster)
            assert SECOND not in uids(cluster)

        assert {} == machines.is_marked_for_deletion(cluster.world)
        at_rest(cluster)
    assert died > 5


HEALED = {**SUCCESSORS, "scale": (lcm.scale, ({SET: 4},), {})}


@pytest.mark.parametrize("successor", [*HEALED, "heal"])
def test_no_remediate_annotation_outlives_the_next_operation(
    new_cluster, clock, three, successor
):
    """Of a heal that died; to heal another member is one, too."""

    def time_out(request, name):
        brief = request.deadline.at_most(8)
        with contextlib.suppress(errors.ReadinessTimeout):
            heal(three)(dataclasses.replace(request, deadline=brief), name)

    seen = 0
    for cluster in killed_clusters(time_out, three, new_cluster, clock, FIRST):
        seen += bool(machines.is_marked_for_deletion(cluster.world))

        if successor == "heal":
            run_operation(lcm.heal, cluster, clock, {three[SECOND]})
        else:
            operation, args, how = HEALED[successor]
            run_operation(operation, cluster, clock, *args, **how)

        assert {} == machines.is_marked_for_deletion(cluster.world)
        if successor == "terminate":
            assert cluster.get(SET)
        else:
            at_rest(cluster)
    assert seen


def test_an_interrupted_heal_is_finished_with_its_annotations(
    remediated, clock, three
):
    """The member is replaced once, wherever the first try died."""
    for cluster in killed_clusters(
        heal(three), three, remediated, clock, FIRST
    ):
        run_operation(heal(three), cluster, clock, FIRST)

        assert {SECOND, "set-2", "set-3"} == uids(cluster).keys()
        assert {} == machines.is_marked_for_deletion(cluster.world)
        at_rest(cluster)


def heal(three):
    """By a mark, of a member by its name."""

    def healed(request, name):
        wanted = dataclasses.replace(request, options=REMEDIATE)
        return lcm.heal(wanted, {three[name]})

    return healed


@pytest.mark.parametrize(
    "name", [machine_annotations.DELETE_MACHINE, remediation.REMEDIATE_MACHINE]
)
def test_annotations_of_another_client_stay(new_cluster, clock, three, name):
    """What we did not put on is not taken off, though we wanted it too."""
    cluster = new_cluster()
    three(cluster)
    ref = ObjectRef(machines.GROUP, "Machine", "default", FIRST)
    body = {"metadata": {"annotations": {name: ""}}}
    cluster.patch(ref, body, "other-manager")
    goer = MemberRef(ref, three[FIRST], SET)
    entry = store.read(cluster, "one", "default")
    left = dataclasses.replace(
        entry.inventory, phase=Phase.SCALING, machines_to_delete=(goer,)
    )
    store.write(cluster, left, entry)

    run_operation(lcm.roll_back, cluster, clock)

    assert {FIRST: [name]} == machines.is_marked_for_deletion(cluster.world)
    at_rest(cluster)


def test_an_annotation_that_cannot_be_removed_is_remembered(
    new_cluster, clock, three
):
    """The record has the machine until the annotation is removed."""
    cluster = new_cluster()
    three(cluster)
    for requests in itertools.count():
        with contextlib.suppress(Killed):
            run_operation(
                lcm.scale,
                fail_after(cluster, requests, True),
                clock,
                {SET: 2},
                machines_to_delete=[FIRST],
            )
        if machines.is_marked_for_deletion(cluster.world):
            break
    ref = ObjectRef(machines.GROUP, "Machine", "default", FIRST)
    refused = errors.Rejected(ref, 400, "Invalid", "not now")
    cluster.fail(refused, "patch", ref)

    run_operation(lcm.roll_back, cluster, clock)

    assert {
        FIRST: [machine_annotations.DELETE_MACHINE]
    } == machines.is_marked_for_deletion(cluster.world)
    found = store.read(cluster, "one", "default").inventory
    assert [ref] == [goer.ref for goer in found.machines_to_delete]
    run_operation(lcm.scale, cluster, clock, {SET: 4})
    assert {} == machines.is_marked_for_deletion(cluster.world)
    at_rest(cluster)
