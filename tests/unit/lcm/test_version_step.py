"""Changes that replace machines: told, refused, or made in two steps."""

from __future__ import annotations

import contextlib
import itertools

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state import store
from tests.failing_cluster import Killed
from tests.failing_cluster import fail_after
from tests.fakes import FakeCluster
from tests.functional import manifests
from tests.unit.lcm.kill_points import killed_clusters
from tests.unit.lcm.kill_points import run_operation
from tests.unit.packages import STORED
from tests.unit.packages import make_package

GROUP = "controlplane.cluster.x-k8s.io"
LEADER = ObjectRef(GROUP, "KubeadmControlPlane", "default", "leader")
DROPPED = ObjectRef("", "ConfigMap", "default", "dropped")
FIRST = Options(kubernetes_upgrade="before_change")
REFUSE = Options(rollout="refuse")


def leader(version, argument):
    """A control plane, whose machines take their configuration from it."""
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": LEADER.kind,
        "metadata": {"name": LEADER.name, "annotations": dict(STORED)},
        "spec": {
            "replicas": 3,
            "version": version,
            "kubeadmConfigSpec": {"clusterConfiguration": {"a": argument}},
        },
    }


OLD = make_package(
    leader("v1.35.0", "old"), manifests.config_map("dropped", key="old")
)
NEW = make_package(leader("v1.36.0", "new"), manifests.config_map("added"))


@pytest.fixture
def new_cluster(clock):
    def made():
        cluster = FakeCluster(idle=clock.idle)
        kind = manifests.definition(GROUP, LEADER.kind, status=False)
        kind["spec"]["versions"][0]["name"] = "v1beta2"
        # Marks of a scale that died are looked for on these.
        machine = manifests.definition("cluster.x-k8s.io", "Machine")
        for found in (kind, machine):
            cluster.apply(found, "other-manager")
        return cluster

    return made


def control_plane_values(cluster):
    """The version and the argument that the control plane has."""
    spec = cluster.get(LEADER)["spec"]
    configured = spec["kubeadmConfigSpec"]["clusterConfiguration"]
    return spec["version"], configured["a"]


def phase(cluster):
    return store.read(cluster, "one", "default").inventory.phase


@pytest.mark.requirement("P9")
def test_what_is_replaced_and_why_is_reported_before_the_first_write(
    new_cluster, clock
):
    """The Machines of the object, and each field with both values."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, OLD)
    told = []

    def report(forecast):
        live = cluster.get(ObjectRef("", "ConfigMap", "default", "added"))
        told.append((control_plane_values(cluster), live, forecast.warnings))

    run_operation(lcm.change, cluster, clock, NEW, on_forecast=report)

    ((before, added, warnings),) = told
    assert (("v1.35.0", "old"), None) == (before, added)
    (line,) = (line for line in warnings if "replaced" in line)
    assert line.startswith(f"{LEADER}: 3 machine(s) are replaced: ")
    assert "spec.version: v1.35.0 -> v1.36.0" in line
    assert "clusterConfiguration.a: old -> new" in line
    assert ("v1.36.0", "new") == control_plane_values(cluster)


@pytest.mark.parametrize("then", ["again", "with_change", "back"])
@pytest.mark.requirement("P9")
def test_a_change_in_two_steps_may_be_interrupted_at_every_request(
    new_cluster, clock, then
):
    """It is resumed, in two steps or one, or rolled back.

    The version is never behind the rest, and the state of a rollback is
    that before both steps.
    """
    seen = set()

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, OLD)

    for cluster in killed_clusters(
        lcm.change, prepare, new_cluster, clock, NEW, options=FIRST
    ):
        clock.idle(60)
        seen.add(control_plane_values(cluster))
        if then != "back":
            how = FIRST if then == "again" else Options()
            run_operation(lcm.change, cluster, clock, NEW, options=how)
            assert ("v1.36.0", "new") == control_plane_values(cluster)
            assert cluster.get(DROPPED) is None
        run_operation(lcm.roll_back, cluster, clock)
        assert "old" == control_plane_values(cluster)[1]
        assert cluster.get(DROPPED)
        assert Phase.INSTANTIATED is phase(cluster)

    assert {
        ("v1.35.0", "old"),
        ("v1.36.0", "old"),
        ("v1.36.0", "new"),
    } == seen


def test_the_first_step_checks_what_it_writes_only(new_cluster, clock):
    """What the package no longer names may belong to others by now."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, OLD)
    theirs = manifests.config_map("dropped", "default", key="theirs")
    cluster.apply(theirs, "other-manager", force=True)
    new = make_package(
        leader("v1.36.0", "new"), manifests.config_map("dropped", other="x")
    )

    run_operation(lcm.change, cluster, clock, new, options=FIRST)

    assert ("v1.36.0", "new") == control_plane_values(cluster)
    assert {"key": "theirs", "other": "x"} == cluster.get(DROPPED)["data"]


def test_a_forecast_refuses_what_the_first_step_would(new_cluster, clock):
    """Another manager owns the version by now: that is a conflict."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, OLD)
    body = {"spec": {"version": "v1.35.9"}}
    cluster.patch(LEADER, body, "other-manager")

    for operation in (lcm.forecast, lcm.change):
        with pytest.raises(errors.FieldConflict, match="other-manager"):
            run_operation(operation, cluster, clock, NEW, options=FIRST)

    assert ("v1.35.9", "old") == control_plane_values(cluster)


def test_a_refused_rollout_stays_refused_after_a_death(new_cluster, clock):
    """The record may have the manifests of the change by then."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, OLD)
    for requests in itertools.count():
        with contextlib.suppress(Killed):
            run_operation(
                lcm.change, fail_after(cluster, requests, True), clock, NEW
            )
        if phase(cluster) is Phase.CHANGING:
            break
    clock.idle(60)
    assert ("v1.35.0", "old") == control_plane_values(cluster)

    with pytest.raises(errors.RolloutRefused, match=r"v1\.35\.0 -> v1\.36\.0"):
        run_operation(lcm.change, cluster, clock, NEW, options=REFUSE)

    assert ("v1.35.0", "old") == control_plane_values(cluster)


def test_what_was_edited_by_hand_counts_for_a_refused_rollout(
    new_cluster, clock
):
    """A change that takes it back would replace machines, too."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, OLD)
    body = {
        "spec": {"kubeadmConfigSpec": {"clusterConfiguration": {"a": "fixed"}}}
    }
    cluster.patch(LEADER, body, "other-manager")
    more = make_package(
        leader("v1.35.0", "old"), manifests.config_map("added")
    )
    take = Options(rollout="refuse", field_conflicts="force")

    with pytest.raises(errors.RolloutRefused, match="fixed -> old"):
        run_operation(lcm.change, cluster, clock, more, options=take)

    assert ("v1.35.0", "fixed") == control_plane_values(cluster)
