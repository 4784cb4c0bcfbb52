"""Scales that end early: what they have written, and the way back."""

from __future__ import annotations

import dataclasses

import pytest

from tacker_k8s_cr.kinds.autoscaling import ReplicaLimits
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state import store
from tests.fakes import FakeCluster
from tests.fakes.workloads import Workloads
from tests.functional import manifests
from tests.unit.packages import make_package

WEB = ObjectRef("apps", "Deployment", "default", "web")
HPA = ObjectRef("autoscaling", "HorizontalPodAutoscaler", "default", "web")
ADJUST = Options(autoscaler_limits="adjust")


def scaler():
    """Two to five replicas; it never reports a status."""
    return {
        "apiVersion": "autoscaling/v2",
        "kind": HPA.kind,
        "metadata": {
            "name": HPA.name,
            "annotations": {objects.PREFIX + "readiness": "exists"},
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


AUTOSCALED = make_package(manifests.deployment("web", 2), scaler())
PLAIN = make_package(manifests.deployment("web", 2), manifests.config_map("c"))


@pytest.fixture
def cluster(clock):
    return FakeCluster(Workloads(), idle=clock.idle)


def recorded(cluster):
    return store.read(cluster, "one", "default").inventory


def bounds(cluster):
    spec = cluster.get(HPA)["spec"]
    return spec["minReplicas"], spec["maxReplicas"]


def scale_until_timeout(cluster, clock, number, options):
    """A scale whose replicas no controller creates."""
    cluster.world.controller.idle = True
    with pytest.raises(errors.ReadinessTimeout):
        lcm.scale(
            lcm.Request(
                cluster,
                "one",
                options=options,
                deadline=Deadline.after(5, clock),
            ),
            {WEB: number},
        )
    cluster.world.controller.idle = False


def test_autoscaler_limits_of_refused_replicas_are_restored(
    cluster, operation_args
):
    """They moved before it: the scale has begun, and the error reports it."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), AUTOSCALED)
    cluster.fail(errors.Rejected(WEB, 403, "Forbidden", "quota"), "patch", WEB)

    with pytest.raises(errors.Rejected) as caught:
        lcm.scale(
            lcm.Request(cluster, "one", options=ADJUST, **operation_args),
            {WEB: 7},
        )

    assert caught.value.has_written
    assert Phase.SCALING is recorded(cluster).phase
    lcm.roll_back(lcm.Request(cluster, "one", **operation_args))
    assert (2, 5) == bounds(cluster)
    assert Phase.INSTANTIATED is recorded(cluster).phase


def test_sufficient_limits_are_not_written(cluster, operation_args):
    """A refusal of the number alone leaves nothing begun."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), AUTOSCALED)
    lcm.scale(
        lcm.Request(cluster, "one", options=ADJUST, **operation_args), {WEB: 5}
    )
    assert (5, 5) == bounds(cluster)
    cluster.fail(errors.Rejected(WEB, 403, "Forbidden", "quota"), "patch", WEB)

    with pytest.raises(errors.Rejected) as caught:
        lcm.scale(
            lcm.Request(cluster, "one", options=ADJUST, **operation_args),
            {WEB: 5},
        )

    assert not caught.value.has_written
    assert Phase.INSTANTIATED is recorded(cluster).phase


@pytest.mark.parametrize("lost", [WEB, HPA], ids=["number", "bounds"])
def test_a_scale_whose_answer_is_lost_has_begun(cluster, operation_args, lost):
    """The server may have done what it did not answer."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), AUTOSCALED)
    cluster.fail(errors.Unreachable("server", "timed out"), "patch", lost)

    with pytest.raises(errors.Unreachable) as caught:
        lcm.scale(
            lcm.Request(cluster, "one", options=ADJUST, **operation_args),
            {WEB: 7},
        )

    assert caught.value.has_written
    assert Phase.SCALING is recorded(cluster).phase
    lcm.roll_back(lcm.Request(cluster, "one", **operation_args))
    assert (2, 5) == bounds(cluster)
    assert 2 == cluster.get(WEB)["spec"]["replicas"]


def delete_object(cluster):
    cluster.delete(WEB, objects.uid(cluster.get(WEB)))


def unknown(cluster):
    entry = store.read(cluster, "one", "default")
    left = dataclasses.replace(entry.inventory, former_replicas={WEB: None})
    store.write(cluster, left, entry)


def autoscaled(cluster):
    theirs = scaler()
    theirs["metadata"]["namespace"] = "default"
    cluster.apply(theirs, "other-manager")


def refused(cluster):
    quota = errors.Rejected(WEB, 403, "Forbidden", "quota")
    cluster.fail(quota, "patch", WEB)


@pytest.mark.parametrize(
    ("happens", "why"),
    [
        (delete_object, "no longer exists in the cluster"),
        (unknown, "its former replica count could not be read"),
        (autoscaled, "its replicas are managed by HorizontalPodAutoscaler"),
        (refused, "quota"),
    ],
)
def test_a_repeated_rollback_of_a_scale_ends_idle(
    cluster, clock, operation_args, happens, why
):
    """It reports what it could not restore, and the second time ends."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), PLAIN)
    scale_until_timeout(cluster, clock, 3, Options())
    happens(cluster)

    with pytest.raises(errors.RollbackIncomplete, match=why):
        lcm.roll_back(lcm.Request(cluster, "one", **operation_args))
    assert Phase.SCALING is recorded(cluster).phase
    if happens is refused:
        refused(cluster)
    report = lcm.roll_back(lcm.Request(cluster, "one", **operation_args))

    assert ["retained"] == [row.action.value for row in report.objects]
    assert Phase.INSTANTIATED is recorded(cluster).phase
    if live := cluster.get(WEB):
        # Its controller needs no write to go on.
        cluster.world.controller(cluster, live)
    lcm.change(lcm.Request(cluster, "one", **operation_args), PLAIN)


@pytest.mark.parametrize(
    ("noted", "movable"), [({}, True), ({"autoscaler-limits": "keep"}, False)]
)
def test_a_number_that_an_autoscaler_of_the_instance_keeps_may_be_set(
    cluster, operation_args, noted, movable
):
    """Another option does not help where an annotation refuses it."""
    web = manifests.deployment("web", 2)
    notes = {objects.PREFIX + name: value for name, value in noted.items()}
    web["metadata"]["annotations"] = notes
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(web, scaler()),
    )

    with pytest.raises(errors.NotScalable) as caught:
        lcm.scale(lcm.Request(cluster, "one", **operation_args), {WEB: 7})

    assert "between 2 and 5" in caught.value.why
    assert movable is caught.value.is_adjustable


@pytest.mark.parametrize("options", [Options(), ADJUST])
def test_a_foreign_autoscaler_is_not_changed(cluster, operation_args, options):
    """No option helps, and the error offers none."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), PLAIN)
    autoscaled(cluster)

    with pytest.raises(errors.NotScalable) as caught:
        lcm.scale(
            lcm.Request(cluster, "one", options=options, **operation_args),
            {WEB: 7},
        )

    assert "does not belong to instance one" in caught.value.why
    assert not caught.value.is_adjustable


def test_a_change_forgets_the_limits_of_an_earlier_scale(
    cluster, clock, operation_args
):
    """They are no longer those from before a later scale."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), AUTOSCALED)
    scale_until_timeout(cluster, clock, 6, ADJUST)
    assert {WEB: ReplicaLimits(2, 5)} == recorded(cluster).former_limits
    web = manifests.deployment("web", 2, nodeName="a")

    lcm.change(
        lcm.Request(cluster, "one", **operation_args),
        make_package(web, scaler()),
    )

    assert {} == recorded(cluster).former_limits
    assert (6, 6) == bounds(cluster)
    scale_until_timeout(cluster, clock, 8, ADJUST)
    lcm.roll_back(lcm.Request(cluster, "one", **operation_args))
    assert (6, 6) == bounds(cluster)
    assert 6 == cluster.get(WEB)["spec"]["replicas"]
