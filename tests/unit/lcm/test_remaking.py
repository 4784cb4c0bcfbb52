"""Members that no controller makes again: lost, and made again."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.report import Action
from tests.fakes import FakeCluster
from tests.fakes.workloads import Workloads
from tests.functional import manifests
from tests.unit.lcm.deaths import deaths
from tests.unit.lcm.deaths import run
from tests.unit.packages import package

WEB = ObjectRef("apps", "Deployment", "default", "web")
ALONE = ObjectRef("", "Pod", "default", "alone")
HELD = "example.org/held"

BARE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "alone"},
    "spec": {"containers": [{"name": "main", "image": "example.org/a:1"}]},
}
SLOW = {**BARE, "metadata": {"name": "alone", "finalizers": [HELD]}}
PACKAGE = package(manifests.deployment("web", 2), BARE)


@pytest.fixture
def fresh(clock):
    def cluster():
        return FakeCluster(Workloads(), idle=clock.idle)

    return cluster


@pytest.fixture
def cluster(fresh):
    return fresh()


def inventory(cluster):
    return record.read(cluster, "one", "default").inventory


def uid_of(cluster, ref):
    return objects.uid(cluster.get(ref))


def another(cluster):
    """The UID of a Pod that a controller keeps."""
    return next(
        objects.uid(stored.obj)
        for ref, stored in sorted(cluster.world.objects.items())
        if ref.kind == "Pod" and ref != ALONE
    )


def heal_alone(cluster, instance, *, deadline):
    """To heal the bare Pod, by the UID that the record has of it."""
    uid = inventory(cluster).owned[ALONE]
    return lcm.heal(cluster, instance, {uid}, deadline=deadline)


def lost(fresh, clock, given=PACKAGE):
    """A cluster in which a heal died when the bare Pod was gone."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, given)

    for cluster in deaths(heal_alone, prepare, fresh, clock):
        if cluster.get(ALONE) is None:
            return cluster
    raise AssertionError("it never was")


def check_whole(cluster):
    """The bare Pod is there, current, and the instance's."""
    found = inventory(cluster)
    assert Phase.INSTANTIATED is found.phase
    assert uid_of(cluster, ALONE) == found.owned[ALONE]
    assert 2 == len(found.owned)


def test_a_rollback_makes_again_what_a_heal_has_deleted(fresh, clock):
    """Wherever the heal died; no controller would (P2, P21, P22)."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, PACKAGE)

    gone = 0
    for cluster in deaths(heal_alone, prepare, fresh, clock):
        gone += cluster.get(ALONE) is None

        run(lcm.roll_back, cluster, clock)

        check_whole(cluster)
        assert 2 == cluster.world.controller.made
    assert gone


def test_a_rollback_that_makes_it_again_is_finished_by_the_next(fresh, clock):
    """Wherever that died (P21)."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, PACKAGE)
        cluster.world.controller.idle = True
        uid = uid_of(cluster, ALONE)
        with pytest.raises(errors.NotReady):
            lcm.heal(
                cluster,
                "one",
                {uid, another(cluster)},
                deadline=Deadline.after(30, clock),
            )
        cluster.world.controller.idle = False
        cluster.delete(ALONE, uid)

    for cluster in deaths(lcm.roll_back, prepare, fresh, clock):
        run(lcm.roll_back, cluster, clock)

        check_whole(cluster)


def test_another_heal_makes_again_what_the_last_one_has_deleted(fresh, clock):
    """Whatever it is for: of others, of none, or of all (P2, P21)."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, PACKAGE)

    def chosen(cluster, number):
        return [{another(cluster)}, set(), None][number % 3]

    for number in range(3):
        died = 0
        for cluster in deaths(heal_alone, prepare, fresh, clock):
            died += 1
            run(lcm.heal, cluster, clock, chosen(cluster, number))

            check_whole(cluster)
            assert [3, 2, 4][number] == cluster.world.controller.made
        assert died > 5


def test_one_that_is_going_yet_is_made_again_once_it_went(
    cluster, clock, life
):
    """A heal that gave up waiting for its end has asked for it (P22)."""
    lcm.instantiate(cluster, "one", package(SLOW), **life)
    with pytest.raises(errors.NotGone):
        heal_alone(cluster, "one", deadline=Deadline.after(30, clock))
    former = uid_of(cluster, ALONE)

    def release(progress):
        """Let the former one go, as soon as it is waited for."""
        found = cluster.get(ALONE)
        if found and objects.uid(found) == former:
            cluster.patch(ALONE, {"metadata": {"finalizers": None}}, "other")

    lcm.roll_back(cluster, "one", listen=release, **life)

    assert former != uid_of(cluster, ALONE)
    assert Phase.INSTANTIATED is inventory(cluster).phase


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (BARE["spec"], "somebody else has made one"),
        ({"containers": []}, "belongs to"),
    ],
)
def test_what_cannot_be_made_again_is_named(fresh, clock, spec, why):
    """Once as an error; the next rollback ends in any case (P22)."""
    cluster = lost(fresh, clock)
    metadata = {"name": "alone", "namespace": "default"}
    cluster.create({**BARE, "metadata": metadata, "spec": spec}, "stranger")

    with pytest.raises(errors.NotRestored, match=f"default/alone: .*{why}"):
        run(lcm.roll_back, cluster, clock)
    assert Phase.HEALING is inventory(cluster).phase
    report = run(lcm.roll_back, cluster, clock)

    assert [(ALONE, Action.KEPT)] == [
        (row.ref, row.action) for row in report.rows
    ]
    assert Phase.INSTANTIATED is inventory(cluster).phase


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_refusal_to_make_it_again_does_not_hold_the_instance_up(
    fresh, clock, dry_run
):
    """It is named, and shows as missing afterwards (P22)."""
    options = Options(dry_run=dry_run)
    cluster = lost(fresh, clock)
    invalid = errors.Rejected(ALONE, 422, "Invalid", "no such image")
    cluster.fail(invalid, "patch", ALONE)

    with pytest.raises(errors.NotRestored, match="no such image"):
        run(lcm.roll_back, cluster, clock, options=options)
    cluster.fail(invalid, "patch", ALONE)
    run(lcm.roll_back, cluster, clock, options=options)

    assert Phase.INSTANTIATED is inventory(cluster).phase
    assert ALONE in inventory(cluster).owned


def test_one_that_a_heal_has_lost_is_not_forgotten_by_a_scale(fresh, clock):
    """It shows as missing, and can be healed by the UID that it had."""
    cluster = lost(fresh, clock)
    former = inventory(cluster).owned[ALONE]

    run(lcm.scale, cluster, clock, {WEB: 3})

    shown = run(lcm.status, cluster, clock)
    assert {ALONE: State.FAILED} == {
        row.ref: row.verdict.state
        for row in shown.rows
        if row.verdict.state is not State.CURRENT
    }
    run(lcm.heal, cluster, clock, {former})
    check_whole(cluster)


def test_a_bare_pod_that_vanished_is_healed_by_the_uid_that_it_had(
    cluster, life
):
    """Its node died, or somebody deleted it; the rest stays (P2)."""
    lcm.instantiate(cluster, "one", PACKAGE, **life)
    uid = uid_of(cluster, ALONE)
    kept = another(cluster)
    cluster.delete(ALONE, uid)

    report = lcm.heal(cluster, "one", {uid}, **life)

    check_whole(cluster)
    assert kept == another(cluster)
    assert [(ALONE, Action.HEALED)] == [
        (row.ref, row.action) for row in report.rows
    ]


def test_one_whose_name_somebody_else_has_taken_is_not_healed(cluster, life):
    """Though it is just what the package says: it would not be ours (T12)."""
    lcm.instantiate(cluster, "one", PACKAGE, **life)
    uid = uid_of(cluster, ALONE)
    cluster.delete(ALONE, uid)
    metadata = {"name": "alone", "namespace": "default"}
    theirs = cluster.create({**BARE, "metadata": metadata}, "stranger")

    with pytest.raises(errors.NotHealable, match="somebody else has made"):
        lcm.heal(cluster, "one", {uid}, **life)

    assert objects.uid(theirs) == uid_of(cluster, ALONE)
    assert Phase.INSTANTIATED is inventory(cluster).phase


def test_one_that_vanished_and_that_no_package_holds_is_nobody(cluster, life):
    """A change has kept it; there is nothing to make it again from."""
    kept = {"k8s-cr.tacker.openstack.org/prune": "false"}
    given = {**BARE, "metadata": {"name": "alone", "annotations": kept}}
    web = manifests.deployment("web", 2)
    lcm.instantiate(cluster, "one", package(web, given), **life)
    lcm.change(cluster, "one", package(web), **life)
    uid = uid_of(cluster, ALONE)
    cluster.delete(ALONE, uid)

    with pytest.raises(errors.RequestInvalid, match=uid):
        lcm.heal(cluster, "one", {uid}, **life)
