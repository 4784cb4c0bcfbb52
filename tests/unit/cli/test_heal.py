"""Which members a heal is for, as the command line names them."""

from __future__ import annotations

import argparse
import dataclasses

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.cli import heal
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.journal import Healing
from tacker_k8s_cr.plan.journal import MemberRef
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.state import store
from tests.fakes import FakeCluster
from tests.fakes.workloads import Workloads
from tests.functional import manifests
from tests.unit.packages import make_package

WEB = ObjectRef("apps", "Deployment", "default", "web")
ALONE = ObjectRef("", "Pod", "default", "alone")
BARE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "alone"},
    "spec": {"containers": [{"name": "main", "image": "example.org/a:1"}]},
}


@pytest.fixture
def cluster(clock, operation_args):
    made = FakeCluster(Workloads(), idle=clock.idle)
    given = make_package(manifests.deployment("web", 1), BARE)
    lcm.instantiate(lcm.Request(made, "one", **operation_args), given)
    return made


def named(cluster, *members):
    args = argparse.Namespace(
        name="one",
        namespace="default",
        record_namespace="",
        members=list(members),
    )
    return heal._resolve_members(args, cluster, kinds.BUILT_IN)


def retained_pod(cluster):
    return next(
        ref
        for ref in cluster.world.objects
        if ref.kind == "Pod" and ref != ALONE
    )


def leave(cluster, phase, healing):
    """A record as a heal leaves it."""
    entry = store.read(cluster, "one", "default")
    inventory = dataclasses.replace(
        entry.inventory, phase=phase, healing=healing
    )
    store.write(cluster, inventory, entry)


def test_a_heal_that_is_repeated_is_for_those_of_the_first(cluster):
    """A new Pod may have the name of the old, as those of a StatefulSet.

    What was replaced is not replaced again.
    """
    ref = retained_pod(cluster)
    web, alone = MemberRef(ref, "old", WEB), MemberRef(ALONE, "older", ALONE)
    leave(cluster, Phase.HEALING, Healing(members=(web, alone)))

    assert {"old", "older"} == named(cluster, f"Pod/{ref.name}", "Pod/alone")


@pytest.mark.parametrize(
    ("phase", "everything"),
    [(Phase.INSTANTIATED, False), (Phase.HEALING, True)],
)
def test_any_other_heal_concerns_existing_members(cluster, phase, everything):
    """After one that is done, and after one of all, which is another."""
    ref = retained_pod(cluster)
    goers = (MemberRef(ref, "old", WEB),)
    leave(cluster, phase, Healing(everything, goers))

    assert {objects.uid(cluster.get(ref))} == named(cluster, f"Pod/{ref.name}")


def test_a_member_that_was_replaced_may_be_named(cluster):
    """As long as no other has its name."""
    gone = MemberRef(ObjectRef("", "Pod", "default", "web-9"), "old", WEB)
    leave(cluster, Phase.INSTANTIATED, Healing(members=(gone,)))

    assert {"old"} == named(cluster, "Pod/web-9")
    with pytest.raises(errors.RequestInvalid, match="no such object"):
        named(cluster, "Pod/web-8")


def test_a_bare_pod_that_vanished_may_be_named(cluster):
    """The record has the UID that it had, and its manifest."""
    uid = objects.uid(cluster.get(ALONE))
    cluster.delete(ALONE, uid)

    assert {uid} == named(cluster, "pod/alone")
