"""Members that no controller makes again: lost, and made again."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state import store
from tests.fakes import FakeCluster
from tests.fakes.workloads import Workloads
from tests.functional import manifests
from tests.unit.lcm.kill_points import killed_clusters
from tests.unit.lcm.kill_points import run_operation
from tests.unit.packages import make_package

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
PACKAGE = make_package(manifests.deployment("web", 2), BARE)


@pytest.fixture
def new_cluster(clock):
    def cluster():
        return FakeCluster(Workloads(), idle=clock.idle)

    return cluster


@pytest.fixture
def cluster(new_cluster):
    return new_cluster()


def inventory(cluster):
    return store.read(cluster, "one", "default").inventory


def uid_of(cluster, ref):
    return objects.uid(cluster.get(ref))


def another(cluster):
    """The UID of a Pod that a controller keeps."""
    return next(
        objects.uid(stored.obj)
        for ref, stored in sorted(cluster.world.objects.items())
        if ref.kind == "Pod" and ref != ALONE
    )


def heal_alone(request):
    """To heal the bare Pod, by the UID that the record has of it."""
    uid = inventory(request.cluster).owned[ALONE]
    return lcm.heal(request, {uid})


def cluster_without_pod(fresh, clock, given=PACKAGE):
    """A cluster in which a heal died after the bare Pod was deleted."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, given)

    for cluster in killed_clusters(heal_alone, prepare, fresh, clock):
        if cluster.get(ALONE) is None:
            return cluster
    raise AssertionError("it never was")


def check_whole(cluster):
    """The bare Pod is there, current, and the instance's."""
    found = inventory(cluster)
    assert Phase.INSTANTIATED is found.phase
    assert uid_of(cluster, ALONE) == found.owned[ALONE]
    assert 2 == len(found.owned)


def test_a_rollback_makes_again_what_a_heal_has_deleted(new_cluster, clock):
    """Wherever the heal died; no controller would."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, PACKAGE)

    gone = 0
    for cluster in killed_clusters(heal_alone, prepare, new_cluster, clock):
        gone += cluster.get(ALONE) is None

        run_operation(lcm.roll_back, cluster, clock)

        check_whole(cluster)
        assert 2 == cluster.world.controller.made
    assert gone


def test_a_rollback_that_makes_it_again_is_finished_by_the_next(
    new_cluster, clock
):
    """Wherever that died."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, PACKAGE)
        cluster.world.controller.idle = True
        uid = uid_of(cluster, ALONE)
        with pytest.raises(errors.ReadinessTimeout):
            lcm.heal(
                lcm.Request(
                    cluster, "one", deadline=Deadline.after(30, clock)
                ),
                {uid, another(cluster)},
            )
        cluster.world.controller.idle = False
        cluster.delete(ALONE, uid)

    for cluster in killed_clusters(lcm.roll_back, prepare, new_cluster, clock):
        run_operation(lcm.roll_back, cluster, clock)

        check_whole(cluster)


def test_another_heal_recreates_what_the_last_one_has_deleted(
    new_cluster, clock
):
    """Whether it heals other members, none, or all."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, PACKAGE)

    def chosen(cluster, number):
        return [{another(cluster)}, set(), None][number % 3]

    for number in range(3):
        died = 0
        for cluster in killed_clusters(
            heal_alone, prepare, new_cluster, clock
        ):
            died += 1
            run_operation(lcm.heal, cluster, clock, chosen(cluster, number))

            check_whole(cluster)
            assert [3, 2, 4][number] == cluster.world.controller.made
        assert died > 5


def test_a_member_being_deleted_is_recreated_afterwards(
    cluster, clock, operation_args
):
    """A heal that gave up waiting for its end has asked for it."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), make_package(SLOW)
    )
    with pytest.raises(errors.DeletionTimeout):
        heal_alone(
            lcm.Request(cluster, "one", deadline=Deadline.after(30, clock))
        )
    former = uid_of(cluster, ALONE)

    def release(progress):
        """Let the former one go, as soon as it is waited for."""
        found = cluster.get(ALONE)
        if found and objects.uid(found) == former:
            cluster.patch(ALONE, {"metadata": {"finalizers": None}}, "other")

    lcm.roll_back(
        lcm.Request(cluster, "one", on_progress=release, **operation_args)
    )

    assert former != uid_of(cluster, ALONE)
    assert Phase.INSTANTIATED is inventory(cluster).phase


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (BARE["spec"], "another client has created an object"),
        ({"containers": []}, "belongs to"),
    ],
)
def test_what_cannot_be_made_again_is_named(new_cluster, clock, spec, why):
    """Once as an error; the next rollback ends in any case."""
    cluster = cluster_without_pod(new_cluster, clock)
    metadata = {"name": "alone", "namespace": "default"}
    cluster.create({**BARE, "metadata": metadata, "spec": spec}, "stranger")

    with pytest.raises(
        errors.RollbackIncomplete, match=f"default/alone: .*{why}"
    ):
        run_operation(lcm.roll_back, cluster, clock)
    assert Phase.HEALING is inventory(cluster).phase
    report = run_operation(lcm.roll_back, cluster, clock)

    assert [(ALONE, Action.RETAINED)] == [
        (row.ref, row.action) for row in report.objects
    ]
    assert Phase.INSTANTIATED is inventory(cluster).phase


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_refusal_to_make_it_again_does_not_hold_the_instance_up(
    new_cluster, clock, dry_run
):
    """It is named, and shows as missing afterwards."""
    options = Options(dry_run=dry_run)
    cluster = cluster_without_pod(new_cluster, clock)
    invalid = errors.Rejected(ALONE, 422, "Invalid", "no such image")
    cluster.fail(invalid, "patch", ALONE)

    with pytest.raises(errors.RollbackIncomplete, match="no such image"):
        run_operation(lcm.roll_back, cluster, clock, options=options)
    cluster.fail(invalid, "patch", ALONE)
    run_operation(lcm.roll_back, cluster, clock, options=options)

    assert Phase.INSTANTIATED is inventory(cluster).phase
    assert ALONE in inventory(cluster).owned


def test_one_that_a_heal_has_lost_is_not_forgotten_by_a_scale(
    new_cluster, clock
):
    """It shows as missing, and can be healed by the UID that it had."""
    cluster = cluster_without_pod(new_cluster, clock)
    former = inventory(cluster).owned[ALONE]

    run_operation(lcm.scale, cluster, clock, {WEB: 3})

    shown = run_operation(lcm.status, cluster, clock)
    assert {ALONE: State.FAILED} == {
        row.ref: row.verdict.state
        for row in shown.objects
        if row.verdict.state is not State.CURRENT
    }
    run_operation(lcm.heal, cluster, clock, {former})
    check_whole(cluster)


def test_a_vanished_bare_pod_is_healed_by_its_former_uid(
    cluster, operation_args
):
    """Its node died, or a client deleted it; the rest stays."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), PACKAGE)
    uid = uid_of(cluster, ALONE)
    kept = another(cluster)
    cluster.delete(ALONE, uid)

    report = lcm.heal(lcm.Request(cluster, "one", **operation_args), {uid})

    check_whole(cluster)
    assert kept == another(cluster)
    assert [(ALONE, Action.HEALED)] == [
        (row.ref, row.action) for row in report.objects
    ]


def test_a_member_whose_name_is_taken_is_not_healed(cluster, operation_args):
    """Though it equals the package: it would belong to another manager."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), PACKAGE)
    uid = uid_of(cluster, ALONE)
    cluster.delete(ALONE, uid)
    metadata = {"name": "alone", "namespace": "default"}
    theirs = cluster.create({**BARE, "metadata": metadata}, "stranger")

    with pytest.raises(errors.NotHealable, match="another client has created"):
        lcm.heal(lcm.Request(cluster, "one", **operation_args), {uid})

    assert objects.uid(theirs) == uid_of(cluster, ALONE)
    assert Phase.INSTANTIATED is inventory(cluster).phase


def test_a_vanished_member_outside_the_package_is_ignored(
    cluster, operation_args
):
    """A change has kept it; there is nothing to make it again from."""
    kept = {"k8s-cr.tacker.openstack.org/prune": "false"}
    given = {**BARE, "metadata": {"name": "alone", "annotations": kept}}
    web = manifests.deployment("web", 2)
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), make_package(web, given)
    )
    lcm.change(
        lcm.Request(cluster, "one", **operation_args), make_package(web)
    )
    uid = uid_of(cluster, ALONE)
    cluster.delete(ALONE, uid)

    with pytest.raises(errors.RequestInvalid, match=uid):
        lcm.heal(lcm.Request(cluster, "one", **operation_args), {uid})
