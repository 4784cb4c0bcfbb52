"""A rollback is finished by the next one, wherever it died."""

from __future__ import annotations

import contextlib

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state import store
from tests.fakes import FakeCluster
from tests.functional import manifests
from tests.unit.lcm.kill_points import killed_clusters
from tests.unit.lcm.kill_points import owned_objects
from tests.unit.lcm.kill_points import record_objects
from tests.unit.lcm.kill_points import run_operation
from tests.unit.packages import GROUP
from tests.unit.packages import NEW
from tests.unit.packages import OLD
from tests.unit.packages import STORED
from tests.unit.packages import make_package

BEFORE = ["old", "one", "same", f"things.{GROUP}"]
OTHER = "other.example.org"
HOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "hook"},
    "webhooks": [],
}
FAILING = make_package(
    manifests.definition(GROUP, "Thing"),
    manifests.custom(GROUP, "Thing", "one", STORED, size="xl"),
    manifests.config_map("same", key="other"),
    manifests.definition(OTHER, "Other"),
    manifests.custom(OTHER, "Other", "silent"),
    HOOK,
)


@pytest.fixture
def new_cluster(clock):
    def cluster():
        return FakeCluster(idle=clock.idle)

    return cluster


@pytest.fixture
def cluster(new_cluster):
    return new_cluster()


def inventory(cluster):
    return store.read(cluster, "one", "default").inventory


def size(cluster):
    one = cluster.get(ObjectRef(GROUP, "Thing", "default", "one"))
    return objects.field(one, ("spec", "size"))


def failed_change(cluster, clock):
    run_operation(lcm.instantiate, cluster, clock, OLD)
    with pytest.raises(errors.ReadinessTimeout):
        lcm.change(
            lcm.Request(cluster, "one", deadline=Deadline.after(20, clock)),
            FAILING,
        )


def check_as_before(cluster):
    assert BEFORE == owned_objects(cluster)
    assert size(cluster) is None
    found = inventory(cluster)
    assert Phase.INSTANTIATED is found.phase
    assert found.previous_package is None
    assert 4 == len(found.owned)
    assert OLD.digest == found.digest


@pytest.mark.requirement("P21")
def test_the_rollback_of_a_change_is_finished_wherever_it_died(
    new_cluster, clock
):
    """Nothing is lost, nothing of the failed change stays."""

    def prepare(cluster):
        failed_change(cluster, clock)

    died = 0
    for cluster in killed_clusters(lcm.roll_back, prepare, new_cluster, clock):
        died += 1
        if died % 4 == 1:
            run_operation(lcm.terminate, cluster, clock)
            assert [] == owned_objects(cluster) + record_objects(cluster)
        elif died % 4 == 2:
            run_operation(lcm.change, cluster, clock, NEW)
            assert ["one", "same", f"things.{GROUP}", "two"] == [
                name for name in owned_objects(cluster) if "ther" not in name
            ]
        else:
            run_operation(lcm.roll_back, cluster, clock)
            check_as_before(cluster)
    assert died > 15


def test_the_rollback_of_a_completed_change_is_finished(new_cluster, clock):
    """Once it has begun, to repeat it is to go on with it."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, OLD)
        run_operation(lcm.change, cluster, clock, NEW)

    died = 0
    for cluster in killed_clusters(lcm.roll_back, prepare, new_cluster, clock):
        died += 1
        run_operation(lcm.roll_back, cluster, clock)
        check_as_before(cluster)
    assert died > 10


def test_the_rollback_of_an_instantiation_is_finished(new_cluster, clock):
    """As a termination is; and it is none."""

    def prepare(cluster):
        with pytest.raises(errors.ReadinessTimeout):
            lcm.instantiate(
                lcm.Request(
                    cluster, "one", deadline=Deadline.after(20, clock)
                ),
                FAILING,
            )

    died = 0
    for cluster in killed_clusters(lcm.roll_back, prepare, new_cluster, clock):
        died += 1
        with contextlib.suppress(errors.InstanceNotFound):
            run_operation(lcm.roll_back, cluster, clock)
        assert [] == owned_objects(cluster) + record_objects(cluster)
    assert died > 10


@pytest.mark.requirement("P21", "D7")
def test_the_rollback_of_a_scale_is_finished_wherever_it_died(
    new_cluster, clock
):
    """The number is that from before, once and for all."""
    broken = {
        objects.PREFIX + "ready-when": "spec.replicas",
        objects.PREFIX + "failed-when": "spec.replicas=5",
    }
    one = ObjectRef(GROUP, "Thing", "default", "one")
    given = make_package(
        manifests.definition(GROUP, "Thing"),
        manifests.custom(GROUP, "Thing", "one", broken, replicas=2),
    )

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, given)
        with pytest.raises(errors.ObjectsFailed):
            run_operation(lcm.scale, cluster, clock, {one: 5})

    died = 0
    for cluster in killed_clusters(lcm.roll_back, prepare, new_cluster, clock):
        died += 1
        run_operation(lcm.roll_back, cluster, clock)
        assert 2 == cluster.get(one)["spec"]["replicas"]
        assert Phase.INSTANTIATED is inventory(cluster).phase
        assert {} == inventory(cluster).former_replicas
    assert died > 5


@pytest.mark.requirement("P22")
def test_a_termination_is_not_rolled_back(new_cluster, clock):
    """Deleted objects stay deleted; it can only be finished."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, OLD)

    refused = 0
    for cluster in killed_clusters(lcm.terminate, prepare, new_cluster, clock):
        try:
            run_operation(lcm.roll_back, cluster, clock)
        except errors.InstanceStateConflict:
            refused += 1
        except errors.InstanceNotFound:
            pass
    assert refused > 2


def test_a_retried_change_is_rolled_back_to_the_first_state(
    cluster, clock, operation_args
):
    """Not to that which the first try left."""
    failed_change(cluster, clock)
    with pytest.raises(errors.ReadinessTimeout):
        lcm.change(
            lcm.Request(cluster, "one", deadline=Deadline.after(20, clock)),
            FAILING,
        )

    lcm.roll_back(lcm.Request(cluster, "one", **operation_args))

    check_as_before(cluster)


def test_a_repeated_completed_change_is_rolled_back(
    cluster, clock, operation_args
):
    """Who repeats one cannot know that it was done."""
    run_operation(lcm.instantiate, cluster, clock, OLD)
    run_operation(lcm.change, cluster, clock, NEW)
    run_operation(lcm.change, cluster, clock, NEW)

    lcm.roll_back(lcm.Request(cluster, "one", **operation_args), package=OLD)

    check_as_before(cluster)


def test_a_rollback_that_ended_early_leaves_a_change_possible(
    cluster, clock, operation_args
):
    """And its own state before is still the first one."""
    failed_change(cluster, clock)
    down = errors.Unavailable("same", 503, "no")
    cluster.fail(down, "patch", ObjectRef("", "ConfigMap", "default", "same"))
    with pytest.raises(errors.Unavailable):
        lcm.roll_back(
            lcm.Request(
                cluster,
                "one",
                options=Options(dry_run=False),
                **operation_args,
            )
        )
    assert Phase.CHANGING is inventory(cluster).phase

    lcm.change(lcm.Request(cluster, "one", **operation_args), NEW)
    lcm.roll_back(lcm.Request(cluster, "one", **operation_args))

    assert BEFORE == [
        name for name in owned_objects(cluster) if "ther" not in name
    ]


def test_webhooks_of_the_failed_change_are_deleted_first(
    cluster, clock, operation_args
):
    """They may be what keeps the rest from being restored."""
    failed_change(cluster, clock)
    cluster.sent.clear()

    lcm.roll_back(
        lcm.Request(
            cluster, "one", options=Options(dry_run=False), **operation_args
        )
    )

    written = [
        (verb, about.name)
        for verb, about in cluster.sent
        if verb in ("delete", "patch")
        and about.kind not in ("Lease", "Secret")
    ]
    assert ("delete", "hook") == written[0]


THEIRS = ObjectRef("", "ConfigMap", "default", "theirs")
ADOPTING = Options(adopt=frozenset({THEIRS}), field_conflicts="force")


def adopted(cluster, clock):
    cluster.apply(manifests.config_map("theirs", "default"), "kubectl")
    lcm.change(
        lcm.Request(
            cluster,
            "one",
            options=ADOPTING,
            deadline=Deadline.after(300, clock),
        ),
        make_package(*OLD.manifests, manifests.config_map("theirs")),
    )


def test_an_adopted_object_is_released_wherever_the_rollback_died(
    new_cluster, clock
):
    """It stays, without the instance's label or field manager."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, OLD)
        adopted(cluster, clock)

    for cluster in killed_clusters(lcm.roll_back, prepare, new_cluster, clock):
        run_operation(lcm.roll_back, cluster, clock)

        assert {} == cluster.get(THEIRS)["metadata"].get("labels", {})
        check_as_before(cluster)


def test_a_termination_releases_adopted_objects(new_cluster, clock):
    """The instance did not make it, so it does not remove it."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, OLD)
        adopted(cluster, clock)

    for cluster in killed_clusters(lcm.terminate, prepare, new_cluster, clock):
        with contextlib.suppress(errors.InstanceNotFound):
            run_operation(lcm.terminate, cluster, clock)

        assert {} == cluster.get(THEIRS)["metadata"].get("labels", {})
        assert [] == owned_objects(cluster) + record_objects(cluster)


def test_a_label_that_the_record_does_not_have_adopts_nothing(
    cluster, clock, operation_args
):
    """Such an object was created by another client."""
    run_operation(lcm.instantiate, cluster, clock, OLD)
    theirs = manifests.config_map("theirs", "default")
    cluster.apply(theirs, "kubectl")
    theirs["metadata"]["labels"] = {objects.INSTANCE: "one"}
    cluster.apply(theirs, objects.MANAGER + "one")

    ours = manifests.config_map("theirs", key="ours")
    with pytest.raises(errors.OwnedByOther, match="theirs"):
        lcm.change(
            lcm.Request(cluster, "one", **operation_args),
            make_package(*OLD.manifests, ours),
        )


def test_a_lost_record_leaves_nothing(cluster, clock, operation_args):
    """What bears the mark of the instance, and was made by it, goes.

    What it may have made is named; where another namespace has the record,
    nothing is touched.
    """
    cluster.apply(manifests.namespace("edge"), "kubectl")
    given = make_package(
        manifests.config_map("a", "edge"), manifests.config_map("b", "default")
    )
    lcm.instantiate(
        lcm.Request(cluster, "one", namespace="edge", **operation_args), given
    )
    with pytest.raises(errors.InstanceNotFound):
        lcm.terminate(lcm.Request(cluster, "one", **operation_args))
    assert ["a", "b"] == owned_objects(cluster)
    edge = ObjectRef("", "Namespace", "", "edge")
    cluster.delete(edge, objects.uid(cluster.get(edge)))
    b = ObjectRef("", "ConfigMap", "default", "b")
    mixed = manifests.config_map("mixed", "default")
    cluster.apply(mixed, "kubectl")
    mixed["metadata"]["labels"] = {objects.INSTANCE: "one"}
    cluster.apply(mixed, objects.MANAGER + "one")

    with pytest.raises(errors.RecordMissing, match="default/mixed"):
        lcm.terminate(
            lcm.Request(cluster, "one", namespace="edge", **operation_args)
        )

    assert cluster.get(b) is None
    assert ["mixed"] == owned_objects(cluster)


def test_an_unfinishable_rollback_ends_idle(cluster, clock, operation_args):
    """When it is repeated; what was lost is in the report."""
    run_operation(lcm.instantiate, cluster, clock, OLD)
    run_operation(lcm.change, cluster, clock, NEW)
    theirs = manifests.config_map("old", "default", key="theirs")
    cluster.create(theirs, "other-manager")
    with pytest.raises(errors.RollbackIncomplete):
        lcm.roll_back(lcm.Request(cluster, "one", **operation_args))

    report = lcm.roll_back(lcm.Request(cluster, "one", **operation_args))

    assert Phase.INSTANTIATED is inventory(cluster).phase
    assert ["belongs to the field manager other-manager now"] == [
        row.verdict.reason for row in report.objects if row.ref.name == "old"
    ]


def test_foreign_objects_would_be_deleted_with_a_definition(
    cluster, clock, operation_args
):
    """It is refused before anything is written, unless that is asked for."""
    failed_change(cluster, clock)
    cluster.create(
        manifests.custom(OTHER, "Other", "theirs")
        | {"metadata": {"name": "theirs", "namespace": "default"}},
        "other-manager",
    )
    before = owned_objects(cluster)

    with pytest.raises(errors.ForeignObjects, match="theirs"):
        lcm.roll_back(lcm.Request(cluster, "one", **operation_args))
    assert before == owned_objects(cluster)

    lcm.roll_back(
        lcm.Request(
            cluster,
            "one",
            options=Options(delete_foreign_objects=True),
            **operation_args,
        )
    )
    check_as_before(cluster)


def test_a_successful_change_keeps_one_state_before(cluster, operation_args):
    """The next one replaces it; what did not change is stored once."""
    big = make_package(
        *(manifests.config_map(f"c{n}", key="x" * 200) for n in range(300))
    )
    more = make_package(*big.manifests, manifests.config_map("more"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), big)
    pieces = len(record_objects(cluster))

    lcm.change(lcm.Request(cluster, "one", **operation_args), more)
    assert big.digest == inventory(cluster).previous_package.digest
    lcm.change(lcm.Request(cluster, "one", **operation_args), big)

    assert more.digest == inventory(cluster).previous_package.digest
    assert inventory(cluster).previous_package.previous_package is None
    assert len(record_objects(cluster)) <= 2 * pieces
