"""Scales that end early: what they have written, and the way back."""

from __future__ import annotations

import dataclasses

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.scaling import Bounds
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.recording import record
from tests.fakes import FakeCluster
from tests.fakes.workloads import Workloads
from tests.functional import manifests
from tests.unit.packages import package

WEB = ObjectRef("apps", "Deployment", "default", "web")
HPA = ObjectRef("autoscaling", "HorizontalPodAutoscaler", "default", "web")
MOVE = Options(autoscaled="move")


def scaler():
    """Two to five replicas; it never tells how it is."""
    return {
        "apiVersion": "autoscaling/v2",
        "kind": HPA.kind,
        "metadata": {
            "name": HPA.name,
            "annotations": {objects.PREFIX + "readiness": "created"},
        },
        "spec": {
            "minReplicas": 2,
            "maxReplicas": 5,
            "scaleTargetRef": {
                "apiVersion": "apps/v1",
                "kind": WEB.kind,
                "name": WEB.name,
            },
        },
    }


AUTOSCALED = package(manifests.deployment("web", 2), scaler())
PLAIN = package(manifests.deployment("web", 2), manifests.config_map("c"))


@pytest.fixture
def cluster(clock):
    return FakeCluster(Workloads(), idle=clock.idle)


def recorded(cluster):
    return record.read(cluster, "one", "default").inventory


def bounds(cluster):
    spec = cluster.get(HPA)["spec"]
    return spec["minReplicas"], spec["maxReplicas"]


def vain(cluster, clock, number, options):
    """A scale whose replicas nobody makes."""
    cluster.world.controller.idle = True
    with pytest.raises(errors.NotReady):
        lcm.scale(
            cluster,
            "one",
            {WEB: number},
            options=options,
            deadline=Deadline.after(5, clock),
        )
    cluster.world.controller.idle = False


def test_bounds_of_a_number_that_was_refused_are_taken_back(cluster, life):
    """They moved before it: the scale has begun, and says so (P22)."""
    lcm.instantiate(cluster, "one", AUTOSCALED, **life)
    cluster.fail(errors.Rejected(WEB, 403, "Forbidden", "quota"), "patch", WEB)

    with pytest.raises(errors.Rejected) as caught:
        lcm.scale(cluster, "one", {WEB: 7}, options=MOVE, **life)

    assert caught.value.begun
    assert Phase.SCALING is recorded(cluster).phase
    lcm.roll_back(cluster, "one", **life)
    assert (2, 5) == bounds(cluster)
    assert Phase.INSTANTIATED is recorded(cluster).phase


def test_bounds_that_are_right_already_are_not_written(cluster, life):
    """A refusal of the number alone leaves nothing begun (P22)."""
    lcm.instantiate(cluster, "one", AUTOSCALED, **life)
    lcm.scale(cluster, "one", {WEB: 5}, options=MOVE, **life)
    assert (5, 5) == bounds(cluster)
    cluster.fail(errors.Rejected(WEB, 403, "Forbidden", "quota"), "patch", WEB)

    with pytest.raises(errors.Rejected) as caught:
        lcm.scale(cluster, "one", {WEB: 5}, options=MOVE, **life)

    assert not caught.value.begun
    assert Phase.INSTANTIATED is recorded(cluster).phase


@pytest.mark.parametrize("lost", [WEB, HPA], ids=["number", "bounds"])
def test_a_scale_whose_answer_is_lost_has_begun(cluster, life, lost):
    """The server may have done what it did not answer (P21)."""
    lcm.instantiate(cluster, "one", AUTOSCALED, **life)
    cluster.fail(errors.Unreachable("server", "timed out"), "patch", lost)

    with pytest.raises(errors.Unreachable) as caught:
        lcm.scale(cluster, "one", {WEB: 7}, options=MOVE, **life)

    assert caught.value.begun
    assert Phase.SCALING is recorded(cluster).phase
    lcm.roll_back(cluster, "one", **life)
    assert (2, 5) == bounds(cluster)
    assert 2 == cluster.get(WEB)["spec"]["replicas"]


def gone(cluster):
    cluster.delete(WEB, objects.uid(cluster.get(WEB)))


def unknown(cluster):
    entry = record.read(cluster, "one", "default")
    left = dataclasses.replace(entry.inventory, scaling={WEB: None})
    record.write(cluster, left, entry)


def autoscaled(cluster):
    theirs = scaler()
    theirs["metadata"]["namespace"] = "default"
    cluster.apply(theirs, "somebody")


def refused(cluster):
    quota = errors.Rejected(WEB, 403, "Forbidden", "quota")
    cluster.fail(quota, "patch", WEB)


@pytest.mark.parametrize(
    ("happens", "why"),
    [
        (gone, "is gone from the cluster"),
        (unknown, "its number before could not be read"),
        (autoscaled, "its number is kept by HorizontalPodAutoscaler"),
        (refused, "quota"),
    ],
)
def test_a_rollback_of_a_scale_comes_to_rest_when_repeated(
    cluster, clock, life, happens, why
):
    """It says what it could not restore, and the second time ends (P22)."""
    lcm.instantiate(cluster, "one", PLAIN, **life)
    vain(cluster, clock, 3, Options())
    happens(cluster)

    with pytest.raises(errors.NotRestored, match=why):
        lcm.roll_back(cluster, "one", **life)
    assert Phase.SCALING is recorded(cluster).phase
    if happens is refused:
        refused(cluster)
    report = lcm.roll_back(cluster, "one", **life)

    assert ["kept"] == [row.action.value for row in report.rows]
    assert Phase.INSTANTIATED is recorded(cluster).phase
    if live := cluster.get(WEB):
        # Its controller needs no write to go on.
        cluster.world.controller(cluster, live)
    lcm.change(cluster, "one", PLAIN, **life)


@pytest.mark.parametrize(
    ("noted", "movable"), [({}, True), ({"autoscaled": "refuse"}, False)]
)
def test_a_number_that_an_autoscaler_of_the_instance_keeps_may_be_set(
    cluster, life, noted, movable
):
    """Another option does not help where an annotation refuses it."""
    web = manifests.deployment("web", 2)
    notes = {objects.PREFIX + name: value for name, value in noted.items()}
    web["metadata"]["annotations"] = notes
    lcm.instantiate(cluster, "one", package(web, scaler()), **life)

    with pytest.raises(errors.NotScalable) as caught:
        lcm.scale(cluster, "one", {WEB: 7}, **life)

    assert "between 2 and 5" in caught.value.why
    assert movable is caught.value.movable


@pytest.mark.parametrize("options", [Options(), MOVE])
def test_the_autoscaler_of_somebody_else_is_not_moved(cluster, life, options):
    """No option helps, and the error offers none."""
    lcm.instantiate(cluster, "one", PLAIN, **life)
    autoscaled(cluster)

    with pytest.raises(errors.NotScalable) as caught:
        lcm.scale(cluster, "one", {WEB: 7}, options=options, **life)

    assert "no object of the instance one" in caught.value.why
    assert not caught.value.movable


def test_a_change_forgets_the_bounds_of_a_scale_before_it(
    cluster, clock, life
):
    """They are no longer those from before a later scale (P22)."""
    lcm.instantiate(cluster, "one", AUTOSCALED, **life)
    vain(cluster, clock, 6, MOVE)
    assert {WEB: Bounds(2, 5)} == recorded(cluster).bounds
    web = manifests.deployment("web", 2, nodeName="a")

    lcm.change(cluster, "one", package(web, scaler()), **life)

    assert {} == recorded(cluster).bounds
    assert (6, 6) == bounds(cluster)
    vain(cluster, clock, 8, MOVE)
    lcm.roll_back(cluster, "one", **life)
    assert (6, 6) == bounds(cluster)
    assert 6 == cluster.get(WEB)["spec"]["replicas"]
