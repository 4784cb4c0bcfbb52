"""A rollback is finished by the next one, wherever it died."""

from __future__ import annotations

import contextlib

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.recording import record
from tests.fakes import FakeCluster
from tests.functional import manifests
from tests.unit.lcm.deaths import deaths
from tests.unit.lcm.deaths import owned
from tests.unit.lcm.deaths import records
from tests.unit.lcm.deaths import run
from tests.unit.packages import GROUP
from tests.unit.packages import NEW
from tests.unit.packages import OLD
from tests.unit.packages import STORED
from tests.unit.packages import package

BEFORE = ["old", "one", "same", f"things.{GROUP}"]
OTHER = "other.example.org"
HOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "hook"},
    "webhooks": [],
}
FAILING = package(
    manifests.definition(GROUP, "Thing"),
    manifests.custom(GROUP, "Thing", "one", STORED, size="xl"),
    manifests.config_map("same", key="other"),
    manifests.definition(OTHER, "Other"),
    manifests.custom(OTHER, "Other", "silent"),
    HOOK,
)


@pytest.fixture
def fresh(clock):
    def cluster():
        return FakeCluster(idle=clock.idle)

    return cluster


@pytest.fixture
def cluster(fresh):
    return fresh()


def inventory(cluster):
    return record.read(cluster, "one", "default").inventory


def size(cluster):
    one = cluster.get(ObjectRef(GROUP, "Thing", "default", "one"))
    return objects.field(one, ("spec", "size"))


def failed_change(cluster, clock):
    run(lcm.instantiate, cluster, clock, OLD)
    with pytest.raises(errors.NotReady):
        lcm.change(cluster, "one", FAILING, deadline=Deadline.after(20, clock))


def check_as_before(cluster):
    assert BEFORE == owned(cluster)
    assert size(cluster) is None
    found = inventory(cluster)
    assert Phase.INSTANTIATED is found.phase
    assert found.before is None
    assert 4 == len(found.owned)
    assert OLD.digest == found.digest


def test_the_rollback_of_a_change_is_finished_wherever_it_died(fresh, clock):
    """Nothing is lost, nothing of the failed change stays (P21, P22)."""

    def prepare(cluster):
        failed_change(cluster, clock)

    died = 0
    for cluster in deaths(lcm.roll_back, prepare, fresh, clock):
        died += 1
        if died % 4 == 1:
            run(lcm.terminate, cluster, clock)
            assert [] == owned(cluster) + records(cluster)
        elif died % 4 == 2:
            run(lcm.change, cluster, clock, NEW)
            assert ["one", "same", f"things.{GROUP}", "two"] == [
                name for name in owned(cluster) if "ther" not in name
            ]
        else:
            run(lcm.roll_back, cluster, clock)
            check_as_before(cluster)
    assert died > 15


def test_the_rollback_of_a_change_at_rest_is_finished(fresh, clock):
    """Once it has begun, to repeat it is to go on with it."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, OLD)
        run(lcm.change, cluster, clock, NEW)

    died = 0
    for cluster in deaths(lcm.roll_back, prepare, fresh, clock):
        died += 1
        run(lcm.roll_back, cluster, clock)
        check_as_before(cluster)
    assert died > 10


def test_the_rollback_of_an_instantiation_is_finished(fresh, clock):
    """As a termination is; and it is none."""

    def prepare(cluster):
        with pytest.raises(errors.NotReady):
            lcm.instantiate(
                cluster, "one", FAILING, deadline=Deadline.after(20, clock)
            )

    died = 0
    for cluster in deaths(lcm.roll_back, prepare, fresh, clock):
        died += 1
        with contextlib.suppress(errors.InstanceUnknown):
            run(lcm.roll_back, cluster, clock)
        assert [] == owned(cluster) + records(cluster)
    assert died > 10


def test_the_rollback_of_a_scale_is_finished_wherever_it_died(fresh, clock):
    """The number is that from before, once and for all (P21, P22)."""
    broken = {
        objects.PREFIX + "current-when": "spec.replicas",
        objects.PREFIX + "failed-when": "spec.replicas=5",
    }
    one = ObjectRef(GROUP, "Thing", "default", "one")
    given = package(
        manifests.definition(GROUP, "Thing"),
        manifests.custom(GROUP, "Thing", "one", broken, replicas=2),
    )

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, given)
        with pytest.raises(errors.Failed):
            run(lcm.scale, cluster, clock, {one: 5})

    died = 0
    for cluster in deaths(lcm.roll_back, prepare, fresh, clock):
        died += 1
        run(lcm.roll_back, cluster, clock)
        assert 2 == cluster.get(one)["spec"]["replicas"]
        assert Phase.INSTANTIATED is inventory(cluster).phase
        assert {} == inventory(cluster).scaling
    assert died > 5


def test_a_termination_is_not_taken_back(fresh, clock):
    """What is gone is gone; it can only be finished."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, OLD)

    refused = 0
    for cluster in deaths(lcm.terminate, prepare, fresh, clock):
        try:
            run(lcm.roll_back, cluster, clock)
        except errors.InstanceExists:
            refused += 1
        except errors.InstanceUnknown:
            pass
    assert refused > 2


def test_a_change_that_is_tried_again_still_goes_back_to_the_first_state(
    cluster, clock, life
):
    """Not to that which the first try left."""
    failed_change(cluster, clock)
    with pytest.raises(errors.NotReady):
        lcm.change(cluster, "one", FAILING, deadline=Deadline.after(20, clock))

    lcm.roll_back(cluster, "one", **life)

    check_as_before(cluster)


def test_a_change_that_is_repeated_at_rest_still_goes_back(
    cluster, clock, life
):
    """Who repeats one cannot know that it was done (P22)."""
    run(lcm.instantiate, cluster, clock, OLD)
    run(lcm.change, cluster, clock, NEW)
    run(lcm.change, cluster, clock, NEW)

    lcm.roll_back(cluster, "one", package=OLD, **life)

    check_as_before(cluster)


def test_a_rollback_that_ended_early_leaves_a_change_possible(
    cluster, clock, life
):
    """And its own state before is still the first one."""
    failed_change(cluster, clock)
    down = errors.Unavailable("same", 503, "no")
    cluster.fail(down, "patch", ObjectRef("", "ConfigMap", "default", "same"))
    with pytest.raises(errors.Unavailable):
        lcm.roll_back(cluster, "one", options=Options(dry_run=False), **life)
    assert Phase.CHANGING is inventory(cluster).phase

    lcm.change(cluster, "one", NEW, **life)
    lcm.roll_back(cluster, "one", **life)

    assert BEFORE == [name for name in owned(cluster) if "ther" not in name]


def test_webhooks_of_the_failed_change_go_first(cluster, clock, life):
    """They may be what keeps the rest from being restored."""
    failed_change(cluster, clock)
    cluster.sent.clear()

    lcm.roll_back(cluster, "one", options=Options(dry_run=False), **life)

    written = [
        (verb, about.name)
        for verb, about in cluster.sent
        if verb in ("delete", "patch")
        and about.kind not in ("Lease", "Secret")
    ]
    assert ("delete", "hook") == written[0]


THEIRS = ObjectRef("", "ConfigMap", "default", "theirs")
ADOPTING = Options(adopt=frozenset({THEIRS}), conflict="take")


def adopted(cluster, clock):
    cluster.apply(manifests.config_map("theirs", "default"), "kubectl")
    lcm.change(
        cluster,
        "one",
        package(*OLD.manifests, manifests.config_map("theirs")),
        options=ADOPTING,
        deadline=Deadline.after(300, clock),
    )


def test_what_was_taken_over_is_given_back_wherever_it_died(fresh, clock):
    """It stays, without our mark, and is nobody's of ours (P20, P21)."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, OLD)
        adopted(cluster, clock)

    for cluster in deaths(lcm.roll_back, prepare, fresh, clock):
        run(lcm.roll_back, cluster, clock)

        assert {} == cluster.get(THEIRS)["metadata"].get("labels", {})
        check_as_before(cluster)


def test_a_termination_gives_back_what_was_taken_over(fresh, clock):
    """The instance did not make it, so it does not remove it (P20)."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, OLD)
        adopted(cluster, clock)

    for cluster in deaths(lcm.terminate, prepare, fresh, clock):
        with contextlib.suppress(errors.InstanceUnknown):
            run(lcm.terminate, cluster, clock)

        assert {} == cluster.get(THEIRS)["metadata"].get("labels", {})
        assert [] == owned(cluster) + records(cluster)


def test_a_mark_that_the_record_does_not_know_takes_nothing_over(
    cluster, clock, life
):
    """Such an object was made by somebody else (P20)."""
    run(lcm.instantiate, cluster, clock, OLD)
    theirs = manifests.config_map("theirs", "default")
    cluster.apply(theirs, "kubectl")
    theirs["metadata"]["labels"] = {objects.INSTANCE: "one"}
    cluster.apply(theirs, objects.MANAGER + "one")

    ours = manifests.config_map("theirs", key="ours")
    with pytest.raises(errors.Owned, match="theirs"):
        lcm.change(cluster, "one", package(*OLD.manifests, ours), **life)


def test_a_lost_record_leaves_nothing(cluster, clock, life):
    """What bears the mark of the instance, and was made by it, goes.

    What it may have made is named; where another namespace has the record,
    nothing is touched.
    """
    cluster.apply(manifests.namespace("edge"), "kubectl")
    given = package(
        manifests.config_map("a", "edge"), manifests.config_map("b", "default")
    )
    lcm.instantiate(cluster, "one", given, namespace="edge", **life)
    with pytest.raises(errors.InstanceUnknown):
        lcm.terminate(cluster, "one", **life)
    assert ["a", "b"] == owned(cluster)
    edge = ObjectRef("", "Namespace", "", "edge")
    cluster.delete(edge, objects.uid(cluster.get(edge)))
    b = ObjectRef("", "ConfigMap", "default", "b")
    mixed = manifests.config_map("mixed", "default")
    cluster.apply(mixed, "kubectl")
    mixed["metadata"]["labels"] = {objects.INSTANCE: "one"}
    cluster.apply(mixed, objects.MANAGER + "one")

    with pytest.raises(errors.InstanceExists, match="default/mixed"):
        lcm.terminate(cluster, "one", namespace="edge", **life)

    assert cluster.get(b) is None
    assert ["mixed"] == owned(cluster)


def test_a_rollback_that_can_never_be_finished_comes_to_rest(
    cluster, clock, life
):
    """When it is repeated; what was lost is in the report (P22)."""
    run(lcm.instantiate, cluster, clock, OLD)
    run(lcm.change, cluster, clock, NEW)
    theirs = manifests.config_map("old", "default", key="theirs")
    cluster.create(theirs, "somebody")
    with pytest.raises(errors.NotRestored):
        lcm.roll_back(cluster, "one", **life)

    report = lcm.roll_back(cluster, "one", **life)

    assert Phase.INSTANTIATED is inventory(cluster).phase
    assert ["belongs to whoever manages it as somebody now"] == [
        row.verdict.reason for row in report.rows if row.ref.name == "old"
    ]


def test_others_would_be_lost_with_a_definition(cluster, clock, life):
    """It is refused before anything is written, unless that is asked for."""
    failed_change(cluster, clock)
    cluster.create(
        manifests.custom(OTHER, "Other", "theirs")
        | {"metadata": {"name": "theirs", "namespace": "default"}},
        "somebody",
    )
    before = owned(cluster)

    with pytest.raises(errors.WouldBeLost, match="theirs"):
        lcm.roll_back(cluster, "one", **life)
    assert before == owned(cluster)

    lcm.roll_back(cluster, "one", options=Options(lose_others=True), **life)
    check_as_before(cluster)


def test_a_successful_change_keeps_one_state_before(cluster, life):
    """The next one replaces it; what did not change is stored once."""
    big = package(
        *(manifests.config_map(f"c{n}", key="x" * 200) for n in range(300))
    )
    more = package(*big.manifests, manifests.config_map("more"))
    lcm.instantiate(cluster, "one", big, **life)
    pieces = len(records(cluster))

    lcm.change(cluster, "one", more, **life)
    assert big.digest == inventory(cluster).before.digest
    lcm.change(cluster, "one", big, **life)

    assert more.digest == inventory(cluster).before.digest
    assert inventory(cluster).before.before is None
    assert len(records(cluster)) <= 2 * pieces
