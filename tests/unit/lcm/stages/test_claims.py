"""Claims of StatefulSets are deleted with their instance.

Runs are killed at every single request; a functional test does the same on a
real API server for some.
"""

from __future__ import annotations

import contextlib
import dataclasses

import pytest

from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state import store
from tests.fakes import FakeCluster
from tests.fakes.volumes import CLAIM
from tests.fakes.volumes import VOLUME
from tests.fakes.volumes import play_volumes
from tests.functional import manifests
from tests.functional import volumes
from tests.unit.lcm.kill_points import killed_clusters
from tests.unit.lcm.kill_points import leave_unchanged
from tests.unit.lcm.kill_points import owned_objects
from tests.unit.lcm.kill_points import record_objects
from tests.unit.lcm.kill_points import run_operation
from tests.unit.packages import make_package

DB = ObjectRef("apps", "StatefulSet", "default", "db")
DATA = ("data-db-0", "data-db-1")
OF = f"retains the claims of {DB}"
SETS = "sets whenDeleted: Retain"


def given(**more):
    return make_package(
        volumes.volume("one", "manual"),
        volumes.volume("two", "manual"),
        volumes.stateful_set("db", "manual", replicas=2, **more),
        manifests.config_map("a"),
    )


@pytest.fixture
def new_cluster(clock):
    def cluster():
        return FakeCluster(play_volumes, clock.idle)

    return cluster


def left(cluster, kind):
    return [
        ref.name for ref in cluster.world.objects if ref.group_kind == kind
    ]


def retained_reasons(report):
    return {r.ref.name for r in report.objects if r.action is Action.RETAINED}


def ref(name, kind="PersistentVolumeClaim"):
    return ObjectRef("", kind, "default", name)


@pytest.mark.requirement("M7")
def test_a_termination_is_resumed_wherever_it_died(new_cluster, clock):
    """No claim and no volume is left."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, given())
        assert set(DATA) == set(left(cluster, CLAIM))

    died = 0
    for cluster in killed_clusters(lcm.terminate, prepare, new_cluster, clock):
        died += 1
        with contextlib.suppress(errors.InstanceNotFound):
            run_operation(lcm.terminate, cluster, clock)
        assert [] == left(cluster, CLAIM)
        assert [] == left(cluster, VOLUME)
        assert [] == owned_objects(cluster)
        assert [] == record_objects(cluster)
    assert died > 20


def test_what_is_retained_stays_wherever_it_died(new_cluster, clock):
    """A repetition that leaves the option out retains it too."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, given())

    retain = Options(statefulset_claims="retain")
    for cluster in killed_clusters(
        lcm.terminate, prepare, new_cluster, clock, options=retain
    ):
        entry = store.read(cluster, "one", "default")
        begun = entry is None or entry.inventory.phase.value == "terminating"
        with contextlib.suppress(errors.InstanceNotFound):
            run_operation(lcm.terminate, cluster, clock)
        assert begun == (set(DATA) == set(left(cluster, CLAIM)))
        assert begun == (["one", "two"] == left(cluster, VOLUME))
        assert [] == owned_objects(cluster)
        assert [] == record_objects(cluster)


def test_an_instantiation_is_undone_wherever_it_died(new_cluster, clock):
    """Whether its rollback is asked for, or a termination."""
    for way in (lcm.roll_back, lcm.terminate):
        for cluster in killed_clusters(
            lcm.instantiate, leave_unchanged, new_cluster, clock, given()
        ):
            with contextlib.suppress(errors.InstanceNotFound):
                run_operation(way, cluster, clock)
            if way is lcm.roll_back:  # it died when all was done
                with contextlib.suppress(errors.InstanceNotFound):
                    run_operation(lcm.terminate, cluster, clock)
            assert [] == left(cluster, CLAIM)
            assert [] == left(cluster, VOLUME)
            assert [] == record_objects(cluster)


def test_without_a_record_they_are_deleted_wherever_it_died(
    new_cluster, clock
):
    """Their deletion is requested while their StatefulSet exists."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, given())
        for secret in record_objects(cluster):
            cluster.delete(secret, objects.uid(cluster.get(secret)))

    for cluster in killed_clusters(lcm.terminate, prepare, new_cluster, clock):
        with contextlib.suppress(errors.InstanceNotFound):
            run_operation(lcm.terminate, cluster, clock)
        assert [] == left(cluster, CLAIM)
        assert [] == left(cluster, VOLUME)
        assert [] == owned_objects(cluster)


def test_a_change_that_prunes_a_set_may_die_anywhere(new_cluster, clock):
    """A termination ends the instance, whether the set is there or not."""
    without = make_package(
        volumes.volume("one", "manual"),
        volumes.volume("two", "manual"),
        manifests.config_map("a"),
    )
    plain = manifests.deployment("plain")
    plain["kind"] = "StatefulSet"
    both = make_package(
        *(document.manifest for document in given().documents), plain
    )

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, both)

    for cluster in killed_clusters(
        lcm.change, prepare, new_cluster, clock, without
    ):
        run_operation(lcm.terminate, cluster, clock)
        assert [] == left(cluster, CLAIM)
        assert [] == left(cluster, VOLUME)
        assert [] == owned_objects(cluster)
        assert [] == record_objects(cluster)


def test_the_record_has_a_set_that_was_deleted_before(new_cluster, clock):
    """Its creation is recorded when it is applied."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, given())
    cluster.delete(DB, objects.uid(cluster.get(DB)))

    report = run_operation(lcm.terminate, cluster, clock)

    assert [] == left(cluster, CLAIM)
    assert set() == retained_reasons(report)


def test_the_claims_of_a_set_that_was_made_again_are_those_of_the_first(
    new_cluster, clock
):
    """They are older than the second, and the instance made both."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, given())
    cluster.delete(DB, objects.uid(cluster.get(DB)))
    run_operation(lcm.heal, cluster, clock)
    assert cluster.get(DB)

    run_operation(lcm.terminate, cluster, clock)

    assert [] == left(cluster, CLAIM)


def test_the_claims_of_a_later_set_of_that_name_stay(new_cluster, clock):
    """Its Pods use them."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, given())
    run_operation(
        lcm.change, cluster, clock, make_package(manifests.config_map("a"))
    )
    theirs = volumes.stateful_set("db", "manual", replicas=2)
    theirs["metadata"]["namespace"] = "default"
    cluster.create(theirs, "other")

    report = run_operation(lcm.terminate, cluster, clock)

    assert set(DATA) == set(left(cluster, CLAIM))
    assert {*DATA, "one", "two"} == retained_reasons(report)
    assert cluster.get(DB)


@pytest.mark.parametrize("recreated", [False, True])
def test_an_adopted_set_keeps_the_claims_that_it_had(
    new_cluster, clock, recreated
):
    """They are older than what the instance created, if it did."""
    cluster = new_cluster()
    theirs = volumes.stateful_set("db", "manual", replicas=2)
    theirs["metadata"]["namespace"] = "default"
    cluster.create(theirs, "other")
    adopting = Options(adopt=frozenset([DB]), field_conflicts="force")
    run_operation(lcm.instantiate, cluster, clock, given(), options=adopting)
    if recreated:
        cluster.delete(DB, objects.uid(cluster.get(DB)))
        run_operation(lcm.heal, cluster, clock)

    report = run_operation(lcm.terminate, cluster, clock)

    assert {*DATA, "one", "two"} == retained_reasons(report)
    assert set(DATA) == set(left(cluster, CLAIM))
    assert recreated == (cluster.get(DB) is None)


def test_a_retained_set_retains_its_claims(new_cluster, clock):
    """And their volumes, although no option names them."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, given())
    options = Options(on_terminate={DB: True})

    report = run_operation(lcm.terminate, cluster, clock, options=options)

    assert {"db", *DATA, "one", "two"} == retained_reasons(report)
    assert set(DATA) == set(left(cluster, CLAIM))


@pytest.mark.parametrize(
    "options",
    [
        Options(on_terminate={CLAIM: True}),
        Options(on_terminate_default={CLAIM: True}),
        Options(on_terminate={ref(name): True for name in DATA}),
        Options(statefulset_claims_else="retain"),
    ],
)
def test_options_for_claims_apply_to_those_of_sets(
    new_cluster, clock, options
):
    """As it did before they were deleted at all."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, given())

    report = run_operation(lcm.terminate, cluster, clock, options=options)

    assert {*DATA, "one", "two"} == retained_reasons(report)
    assert set(DATA) == set(left(cluster, CLAIM))


@pytest.mark.parametrize("of", [CLAIM, ref(DATA[0])])
def test_the_policy_on_claims_is_stored_with_the_instance(
    new_cluster, clock, of
):
    """Also by a termination that is repeated."""

    def prepare(cluster):
        policy = Policy(on_terminate={of: True})
        run_operation(lcm.instantiate, cluster, clock, given(), policy=policy)

    for cluster in killed_clusters(lcm.terminate, prepare, new_cluster, clock):
        with contextlib.suppress(errors.InstanceNotFound):
            run_operation(lcm.terminate, cluster, clock)
        stays = DATA if of == CLAIM else DATA[:1]
        assert {*stays} == {*left(cluster, CLAIM)}
        assert len(stays) == len(left(cluster, VOLUME))


def test_one_claim_is_kept_by_its_name(new_cluster, clock):
    """With the one volume that it is bound to."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, given())
    volume = cluster.get(ref("data-db-1"))["spec"]["volumeName"]
    options = Options(on_terminate={ref("data-db-1"): True})

    report = run_operation(lcm.terminate, cluster, clock, options=options)

    assert {"data-db-1", volume} == retained_reasons(report)
    assert ["data-db-1"] == left(cluster, CLAIM)
    assert [volume] == left(cluster, VOLUME)


@pytest.mark.parametrize(
    ("policy", "when_deleted", "options", "stays", "said"),
    [
        ("retain", "", Options(), True, f"the policy of the instance {OF}"),
        ("retain", "Delete", Options(), False, ""),
        ("retain", "", Options(statefulset_claims="delete"), False, ""),
        ("delete", "Retain", Options(), True, f"the manifest of {DB} {SETS}"),
        ("delete", "", Options(statefulset_claims_else="retain"), False, ""),
        ("", "Delete", Options(statefulset_claims_else="retain"), False, ""),
        (
            "",
            "Delete",
            Options(statefulset_claims="retain"),
            True,
            f"the request {OF}",
        ),
        (
            "",
            "",
            Options(statefulset_claims_else="retain"),
            True,
            f"the configuration {OF}",
        ),
    ],
)
def test_the_most_specific_retention_counts(
    new_cluster, clock, policy, when_deleted, options, stays, said
):
    """Request, manifest, policy, configuration; the report names it."""
    cluster = new_cluster()
    run_operation(
        lcm.instantiate,
        cluster,
        clock,
        given(when_deleted=when_deleted),
        policy=Policy(statefulset_claims=policy),
    )

    report = run_operation(lcm.terminate, cluster, clock, options=options)

    assert stays == (set(DATA) == set(left(cluster, CLAIM)))
    reasons = [
        r.verdict.reason for r in report.objects if r.ref == ref(DATA[0])
    ]
    if stays:
        assert [said] == reasons


def test_a_managed_namespace_stays_with_a_retained_claim(new_cluster, clock):
    """It would take the data along."""
    cluster = new_cluster()
    inside = volumes.stateful_set("db", "manual", when_deleted="Retain")
    inside["metadata"]["namespace"] = "home"
    wanted = make_package(manifests.namespace("home"), inside)
    run_operation(lcm.instantiate, cluster, clock, wanted)

    report = run_operation(lcm.terminate, cluster, clock)

    assert {"home", "data-db-0"} == retained_reasons(report)
    assert cluster.get(ObjectRef("", "Namespace", "", "home"))


def test_an_older_claim_refuses_the_deletion_of_its_namespace(
    new_cluster, clock
):
    """It belongs to another owner and would be deleted, too."""
    cluster = new_cluster()
    home = manifests.namespace("home")
    run_operation(lcm.instantiate, cluster, clock, make_package(home))
    cluster.create(volumes.claim("data-db-0", "manual", "home"), "other")
    inside = volumes.stateful_set("db", "manual")
    inside["metadata"]["namespace"] = "home"
    run_operation(lcm.change, cluster, clock, make_package(home, inside))

    with pytest.raises(errors.ForeignObjects, match="data-db-0"):
        run_operation(lcm.terminate, cluster, clock)
    run_operation(
        lcm.terminate,
        cluster,
        clock,
        options=Options(delete_foreign_objects=True),
    )

    assert [] == left(cluster, CLAIM)


def test_a_record_of_an_earlier_version_is_enough(new_cluster, clock):
    """The live StatefulSet shows its creation."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, given())
    entry = store.read(cluster, "one", "default")
    earlier = dataclasses.replace(entry.inventory, claim_rules=())
    store.write(cluster, earlier, entry)

    report = run_operation(lcm.terminate, cluster, clock)

    assert [] == left(cluster, CLAIM)
    assert set() == retained_reasons(report)


def test_packages_without_claims_cost_no_request(new_cluster, clock):
    """Nothing is listed for what has no templates."""
    cluster = new_cluster()
    plain = volumes.stateful_set("db", "manual")
    del plain["spec"]["volumeClaimTemplates"]
    run_operation(lcm.instantiate, cluster, clock, make_package(plain))
    cluster.sent.clear()

    run_operation(lcm.terminate, cluster, clock)

    assert ("list", CLAIM) not in cluster.sent
