"""Which members a heal is for, as the command line names them."""

from __future__ import annotations

import argparse
import dataclasses

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.cli import mending
from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.inventory import Healing
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import record
from tests.fakes import FakeCluster
from tests.fakes.workloads import Workloads
from tests.functional import manifests
from tests.unit.packages import package

WEB = ObjectRef("apps", "Deployment", "default", "web")
ALONE = ObjectRef("", "Pod", "default", "alone")
BARE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "alone"},
    "spec": {"containers": [{"name": "main", "image": "example.org/a:1"}]},
}


@pytest.fixture
def cluster(clock, life):
    made = FakeCluster(Workloads(), idle=clock.idle)
    given = package(manifests.deployment("web", 1), BARE)
    lcm.instantiate(made, "one", given, **life)
    return made


def named(cluster, *members):
    args = argparse.Namespace(
        name="one",
        namespace="default",
        record_namespace="",
        members=list(members),
    )
    return mending._uids(args, cluster, kinds.BUILT_IN)


def kept_pod(cluster):
    return next(
        ref
        for ref in cluster.world.objects
        if ref.kind == "Pod" and ref != ALONE
    )


def leave(cluster, phase, healing):
    """A record as a heal leaves it."""
    entry = record.read(cluster, "one", "default")
    inventory = dataclasses.replace(
        entry.inventory, phase=phase, healing=healing
    )
    record.write(cluster, inventory, entry)


def test_a_heal_that_is_repeated_is_for_those_of_the_first(cluster):
    """A new Pod may have the name of the old, as those of a StatefulSet.

    What was replaced is not replaced again (P21).
    """
    ref = kept_pod(cluster)
    web, alone = Goer(ref, "old", WEB), Goer(ALONE, "older", ALONE)
    leave(cluster, Phase.HEALING, Healing(goers=(web, alone)))

    assert {"old", "older"} == named(cluster, f"Pod/{ref.name}", "Pod/alone")


@pytest.mark.parametrize(
    ("phase", "everything"),
    [(Phase.INSTANTIATED, False), (Phase.HEALING, True)],
)
def test_any_other_heal_is_for_those_that_are_there(
    cluster, phase, everything
):
    """After one that is done, and after one of all, which is another."""
    ref = kept_pod(cluster)
    goers = (Goer(ref, "old", WEB),)
    leave(cluster, phase, Healing(everything, goers))

    assert {objects.uid(cluster.get(ref))} == named(cluster, f"Pod/{ref.name}")


def test_a_member_that_was_replaced_may_be_named(cluster):
    """As long as no other has its name."""
    gone = Goer(ObjectRef("", "Pod", "default", "web-9"), "old", WEB)
    leave(cluster, Phase.INSTANTIATED, Healing(goers=(gone,)))

    assert {"old"} == named(cluster, "Pod/web-9")
    with pytest.raises(errors.RequestInvalid, match="no such object"):
        named(cluster, "Pod/web-8")


def test_a_bare_pod_that_vanished_may_be_named(cluster):
    """The record has the UID that it had, and its manifest (P2)."""
    uid = objects.uid(cluster.get(ALONE))
    cluster.delete(ALONE, uid)

    assert {uid} == named(cluster, "pod/alone")
