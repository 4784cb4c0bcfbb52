"""Changes that replace machines: told, refused, or made in two steps."""

from __future__ import annotations

import contextlib
import itertools

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.recording import record
from tests.fakes import FakeCluster
from tests.functional import manifests
from tests.mortal import Killed
from tests.mortal import mortal
from tests.unit.lcm.deaths import deaths
from tests.unit.lcm.deaths import run
from tests.unit.packages import STORED
from tests.unit.packages import package

GROUP = "controlplane.cluster.x-k8s.io"
LEADER = ObjectRef(GROUP, "KubeadmControlPlane", "default", "leader")
DROPPED = ObjectRef("", "ConfigMap", "default", "dropped")
FIRST = Options(versions="first")
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


OLD = package(
    leader("v1.35.0", "old"), manifests.config_map("dropped", key="old")
)
NEW = package(leader("v1.36.0", "new"), manifests.config_map("added"))


@pytest.fixture
def fresh(clock):
    def made():
        cluster = FakeCluster(idle=clock.idle)
        kind = manifests.definition(GROUP, LEADER.kind, status=False)
        kind["spec"]["versions"][0]["name"] = "v1beta2"
        # Marks of a scale that died are looked for on these.
        machine = manifests.definition("cluster.x-k8s.io", "Machine")
        for found in (kind, machine):
            cluster.apply(found, "somebody")
        return cluster

    return made


def asked(cluster):
    """The version and the argument that the control plane has."""
    spec = cluster.get(LEADER)["spec"]
    configured = spec["kubeadmConfigSpec"]["clusterConfiguration"]
    return spec["version"], configured["a"]


def phase(cluster):
    return record.read(cluster, "one", "default").inventory.phase


@pytest.mark.parametrize("then", ["again", "together", "back"])
def test_a_change_in_two_steps_may_die_at_every_request(fresh, clock, then):
    """It is gone on with, in two steps or one, or taken back (P9, P19, P22).

    The version is never behind the rest, and the state to go back to is
    that before both steps.
    """
    seen = set()

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, OLD)

    for cluster in deaths(
        lcm.change, prepare, fresh, clock, NEW, options=FIRST
    ):
        clock.idle(60)
        seen.add(asked(cluster))
        if then != "back":
            how = FIRST if then == "again" else Options()
            run(lcm.change, cluster, clock, NEW, options=how)
            assert ("v1.36.0", "new") == asked(cluster)
            assert cluster.get(DROPPED) is None
        run(lcm.roll_back, cluster, clock)
        assert "old" == asked(cluster)[1]
        assert cluster.get(DROPPED)
        assert Phase.INSTANTIATED is phase(cluster)

    assert {
        ("v1.35.0", "old"),
        ("v1.36.0", "old"),
        ("v1.36.0", "new"),
    } == seen


def test_the_first_step_checks_what_it_writes_only(fresh, clock):
    """What the package no longer names may belong to others by now (P9)."""
    cluster = fresh()
    run(lcm.instantiate, cluster, clock, OLD)
    theirs = manifests.config_map("dropped", "default", key="theirs")
    cluster.apply(theirs, "somebody", force=True)
    new = package(
        leader("v1.36.0", "new"), manifests.config_map("dropped", other="x")
    )

    run(lcm.change, cluster, clock, new, options=FIRST)

    assert ("v1.36.0", "new") == asked(cluster)
    assert {"key": "theirs", "other": "x"} == cluster.get(DROPPED)["data"]


def test_a_forecast_refuses_what_the_first_step_would(fresh, clock):
    """Somebody else says the version by now: that is a conflict (P9, P3)."""
    cluster = fresh()
    run(lcm.instantiate, cluster, clock, OLD)
    body = {"spec": {"version": "v1.35.9"}}
    cluster.patch(LEADER, body, "somebody")

    for operation in (lcm.forecast, lcm.change):
        with pytest.raises(errors.Conflict, match="somebody"):
            run(operation, cluster, clock, NEW, options=FIRST)

    assert ("v1.35.9", "old") == asked(cluster)


def test_a_refused_rollout_stays_refused_after_a_death(fresh, clock):
    """The record may have the manifests of the change by then (P9, P19)."""
    cluster = fresh()
    run(lcm.instantiate, cluster, clock, OLD)
    for requests in itertools.count():
        with contextlib.suppress(Killed):
            run(lcm.change, mortal(cluster, requests, True), clock, NEW)
        if phase(cluster) is Phase.CHANGING:
            break
    clock.idle(60)
    assert ("v1.35.0", "old") == asked(cluster)

    with pytest.raises(errors.WouldReplace, match=r"v1\.35\.0 -> v1\.36\.0"):
        run(lcm.change, cluster, clock, NEW, options=REFUSE)

    assert ("v1.35.0", "old") == asked(cluster)


def test_what_was_edited_by_hand_counts_for_a_refused_rollout(fresh, clock):
    """A change that takes it back would replace machines, too (P9)."""
    cluster = fresh()
    run(lcm.instantiate, cluster, clock, OLD)
    body = {
        "spec": {
            "kubeadmConfigSpec": {"clusterConfiguration": {"a": "mended"}}
        }
    }
    cluster.patch(LEADER, body, "somebody")
    more = package(leader("v1.35.0", "old"), manifests.config_map("added"))
    take = Options(rollout="refuse", conflict="take")

    with pytest.raises(errors.WouldReplace, match="mended -> old"):
        run(lcm.change, cluster, clock, more, options=take)

    assert ("v1.35.0", "mended") == asked(cluster)
