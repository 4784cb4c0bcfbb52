"""Objects that one instance takes from another that lives."""

from __future__ import annotations

import contextlib
import itertools

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state import leases
from tacker_k8s_cr.state import lock
from tacker_k8s_cr.state import store
from tests.calls import call
from tests.failing_cluster import Killed
from tests.failing_cluster import fail_after
from tests.fakes import FakeCluster
from tests.fakes.workloads import play_deployments
from tests.functional import manifests

COMMON = ObjectRef("", "ConfigMap", "default", "common")
FROM_ONE = Options(transfer_from={COMMON: "one"})


def package(**maps):
    """ConfigMaps by name, each with this value."""
    made = (manifests.config_map(name, key=v) for name, v in maps.items())
    return Package("test", tuple(Document(m, "a.yaml") for m in made))


ONE = package(common="one", a="one")
TWO = package(common="two", b="two")


@pytest.fixture
def new_cluster(clock):
    """A cluster in which one has the object; two may have others."""

    def made(*more):
        cluster = FakeCluster(idle=clock.idle)
        run(lcm.instantiate, cluster, clock, "one", ONE)
        if more:
            run(lcm.instantiate, cluster, clock, "two", *more)
        return cluster

    return made


def run(operation, cluster, clock, instance, *args, **more):
    return call(
        operation,
        cluster,
        instance,
        *args,
        deadline=Deadline.after(300, clock),
        **more,
    )


def inventory(cluster, instance):
    entry = store.read(cluster, instance, "default")
    return entry.inventory if entry else None


def owners(cluster):
    """Which instances' records have the object."""
    uid = objects.uid(cluster.get(COMMON))
    found = [inventory(cluster, name) for name in ("one", "two")]
    return [i.instance for i in found if i and i.owned.get(COMMON) == uid]


def managers(cluster):
    entries = cluster.get(COMMON)["metadata"]["managedFields"]
    return {entry["manager"] for entry in entries}


def names(cluster):
    return sorted(
        ref.name for ref in cluster.world.objects if ref.kind == "ConfigMap"
    )


def records(cluster):
    return [
        ref
        for ref in cluster.world.objects
        if ref.name.startswith(record_names.PREFIX)
    ]


@pytest.mark.requirement("P20")
def test_an_object_is_adopted_from_a_named_instance(new_cluster, clock):
    """From then on it is the other's, in all respects."""
    cluster = new_cluster()
    uid = objects.uid(cluster.get(COMMON))

    report = run(lcm.instantiate, cluster, clock, "two", TWO, options=FROM_ONE)

    live = cluster.get(COMMON)
    assert (uid, {"key": "two"}) == (objects.uid(live), live["data"])
    assert "two" == objects.labels(live)[objects.INSTANCE]
    assert {"tacker-k8s-cr:two"} == managers(cluster)
    assert {Action.CONFIGURED, Action.CREATED} == {
        row.action for row in report.objects
    }
    one, two = inventory(cluster, "one"), inventory(cluster, "two")
    assert [{"a"}, {"common", "b"}] == [
        {ref.name for ref in found.owned} for found in (one, two)
    ]
    assert ["a"] == [m["metadata"]["name"] for m in one.manifests]
    assert (Phase.INSTANTIATED, {}, {}) == (
        one.phase,
        one.transferred_out,
        two.incoming,
    )
    run(lcm.heal, cluster, clock, "one")
    assert {"key": "two"} == cluster.get(COMMON)["data"]
    run(lcm.terminate, cluster, clock, "one")
    assert ["b", "common"] == names(cluster)
    run(lcm.terminate, cluster, clock, "two")
    assert [] == names(cluster)
    assert [] == records(cluster)


@pytest.mark.requirement("P20")
def test_it_takes_the_name_of_the_right_instance(new_cluster, clock):
    """An object that was not named is refused, as before, with its owner."""
    cluster = new_cluster(package(b="two"))
    before = dict(cluster.world.objects)

    for given in ({}, {COMMON: "three"}):
        with pytest.raises(errors.OwnedByOther, match="the instance one"):
            run(
                lcm.change,
                cluster,
                clock,
                "two",
                TWO,
                options=Options(transfer_from=given),
            )
    with pytest.raises(errors.RequestInvalid, match="not in the package"):
        run(
            lcm.change,
            cluster,
            clock,
            "two",
            package(b="two"),
            options=FROM_ONE,
        )

    assert before == cluster.world.objects


def test_an_instance_with_an_unfinished_operation_releases_nothing(
    new_cluster, clock
):
    """Its journal may say that it still writes the object."""
    cluster = new_cluster()
    for requests in itertools.count():
        dying = fail_after(cluster, requests, True)
        more = package(common="more", a="more")
        with contextlib.suppress(Killed):
            run(lcm.change, dying, clock, "one", more)
        if Phase.CHANGING is inventory(cluster, "one").phase:
            break

    with pytest.raises(errors.InstanceStateConflict, match="instance one is"):
        run(lcm.instantiate, cluster, clock, "two", TWO, options=FROM_ONE)

    assert inventory(cluster, "two") is None


def test_a_locked_instance_releases_nothing(new_cluster, clock):
    """Its lock is asked for; nothing of the taker is left."""
    cluster = new_cluster()
    deadline = Deadline.after(300, clock)
    seen = itertools.count()

    def renewed(found, obj):
        """Another holder has the lock of one, and renews it."""

    with lock.locked(cluster, "one", "default", deadline):
        cluster.world.controller = renewed
        lease = leases.ref("one", "default")
        idle = cluster.world.idle

        def busy(seconds):
            idle(1.0)
            if next(seen) < 3:
                held = leases.with_holder(cluster.get(lease), "other-holder")
                cluster.replace(held, "other-holder")

        cluster.world.idle = busy
        with pytest.raises(errors.OperationInProgress):
            run(lcm.instantiate, cluster, clock, "two", TWO, options=FROM_ONE)

    assert ["one"] == owners(cluster)
    assert inventory(cluster, "two") is None
    assert cluster.get(leases.ref("two", "default")) is None


def deaths(operation, prepare, clock, *args):
    """Every cluster in which two's operation died, one request later each."""
    for requests in itertools.count():
        cluster = prepare()
        try:
            run(
                operation,
                fail_after(cluster, requests, True),
                clock,
                "two",
                *args,
                options=FROM_ONE,
            )
        except Killed:
            yield cluster
        else:
            return


OPERATIONS = pytest.mark.parametrize(
    ("operation", "before"),
    [(lcm.instantiate, ()), (lcm.change, (package(b="two"),))],
    ids=["instantiate", "change"],
)


@OPERATIONS
def test_a_transfer_is_finished_wherever_it_died(
    operation, before, new_cluster, clock
):
    """By the same request; the object is never created again."""
    died = 0
    for cluster in deaths(operation, lambda: new_cluster(*before), clock, TWO):
        died += 1
        uid = objects.uid(cluster.get(COMMON))
        assert len(owners(cluster)) < 2
        with contextlib.suppress(errors.InstanceExists):  # it was done
            run(operation, cluster, clock, "two", TWO, options=FROM_ONE)
        assert uid == objects.uid(cluster.get(COMMON))
        assert ["two"] == owners(cluster)
        assert {"tacker-k8s-cr:two"} == managers(cluster)
        assert {"key": "two"} == cluster.get(COMMON)["data"]

        run(lcm.terminate, cluster, clock, "one")
        assert ["b", "common"] == names(cluster)
        run(lcm.terminate, cluster, clock, "two")
        assert [] == names(cluster)
        assert [] == records(cluster)
    assert died > 25


@OPERATIONS
@pytest.mark.parametrize("first", ["one", "two"])
def test_either_instance_terminates_correctly_wherever_a_transfer_died(
    operation, before, first, new_cluster, clock
):
    """Only whose it is by then deletes it; it is not lost either."""
    for cluster in deaths(operation, lambda: new_cluster(*before), clock, TWO):
        whose = owners(cluster)
        other = "two" if first == "one" else "one"
        with contextlib.suppress(errors.InstanceNotFound):
            run(lcm.terminate, cluster, clock, first)
        there = cluster.get(COMMON) is not None
        if whose == [other]:
            assert there
        with contextlib.suppress(errors.InstanceNotFound):
            run(lcm.terminate, cluster, clock, other)
        assert [] == records(cluster)
        live = cluster.get(COMMON)
        if live is not None:
            # What an unfinished operation adopted belongs to no instance.
            assert objects.INSTANCE not in objects.labels(live)
            assert "tacker-k8s-cr:one" not in managers(cluster)


@OPERATIONS
def test_a_transfer_is_undone_wherever_it_died(
    operation, before, new_cluster, clock
):
    """The object is never deleted by that."""
    for cluster in deaths(operation, lambda: new_cluster(*before), clock, TWO):
        uid = objects.uid(cluster.get(COMMON))
        with contextlib.suppress(errors.InstanceNotFound):
            run(lcm.roll_back, cluster, clock, "two")

        assert uid == objects.uid(cluster.get(COMMON))
        assert "b" in names(cluster) or not before
        run(lcm.terminate, cluster, clock, "one")
        with contextlib.suppress(errors.InstanceNotFound):
            run(lcm.terminate, cluster, clock, "two")
        assert [] == records(cluster)


def test_a_rollback_returns_what_a_change_transferred(new_cluster, clock):
    """It is the former owner's again, in all respects."""
    cluster = new_cluster(package(b="two"))
    run(lcm.change, cluster, clock, "two", TWO, options=FROM_ONE)

    report = run(lcm.roll_back, cluster, clock, "two")

    assert {COMMON: Action.ORPHANED}.items() <= {
        row.ref: row.action for row in report.objects
    }.items()
    assert ["one"] == owners(cluster)
    assert {"tacker-k8s-cr:one"} == managers(cluster)
    assert "one" == objects.labels(cluster.get(COMMON))[objects.INSTANCE]
    run(lcm.heal, cluster, clock, "one")
    assert {"key": "one"} == cluster.get(COMMON)["data"]
    run(lcm.terminate, cluster, clock, "two")
    assert ["a", "common"] == names(cluster)
    run(lcm.terminate, cluster, clock, "one")
    assert [] == names(cluster)


def test_transferred_objects_are_returned_where_the_rest_is_refused(
    new_cluster, clock
):
    """With the instantiation that is undone."""
    cluster = new_cluster()
    no = errors.Rejected(COMMON, 422, "Invalid", "no")
    cluster.fail(no, "patch", ObjectRef("", "ConfigMap", "default", "b"))

    with pytest.raises(errors.Rejected):
        run(
            lcm.instantiate,
            cluster,
            clock,
            "two",
            TWO,
            options=Options(transfer_from={COMMON: "one"}, dry_run=False),
        )

    assert ["one"] == owners(cluster)
    assert ["a", "common"] == names(cluster)
    assert inventory(cluster, "two") is None
    run(lcm.terminate, cluster, clock, "one")
    assert [] == names(cluster)
    assert [] == records(cluster)


@OPERATIONS
def test_a_return_is_finished_wherever_it_died(
    operation, before, new_cluster, clock
):
    """At no moment has the object no instance, or two."""
    never = package(common="two", b="two", never="two")

    def begun():
        cluster = new_cluster(*before)
        ref = ObjectRef("", "ConfigMap", "default", "never")
        gone = errors.Unavailable("never", 500, "no")
        cluster.fail(gone, "patch", ref)
        with pytest.raises(errors.Unavailable):
            run(
                operation,
                cluster,
                clock,
                "two",
                never,
                options=Options(transfer_from={COMMON: "one"}, dry_run=False),
            )
        return cluster

    for requests in itertools.count():
        cluster = begun()
        uid = objects.uid(cluster.get(COMMON))
        dying = fail_after(cluster, requests, True)
        try:
            run(lcm.roll_back, dying, clock, "two")
        except Killed:
            assert len(owners(cluster)) < 2
        else:
            break
        with contextlib.suppress(errors.InstanceNotFound):
            run(lcm.roll_back, cluster, clock, "two")
        assert uid == objects.uid(cluster.get(COMMON))
        assert ["one"] == owners(cluster)
        assert {"tacker-k8s-cr:one"} == managers(cluster)
        run(lcm.terminate, cluster, clock, "one")
        assert cluster.get(COMMON) is None
    assert requests > 20


def test_a_number_is_not_changed_by_taking_its_object(clock):
    """A scale of the one holds for the other."""
    web = ObjectRef("apps", "Deployment", "default", "web")
    cluster = FakeCluster(controller=play_deployments)
    given = Package(
        "test", (Document(manifests.deployment("web", 1), "a.yaml"),)
    )
    run(lcm.instantiate, cluster, clock, "one", given)
    run(lcm.scale, cluster, clock, "one", {web: 3})

    run(
        lcm.instantiate,
        cluster,
        clock,
        "two",
        given,
        options=Options(transfer_from={web: "one"}),
    )

    assert 3 == cluster.get(web)["spec"]["replicas"]


def test_a_change_keeps_what_was_adopted(new_cluster, clock):
    """The instance did not make it, and its end gives it up."""
    cluster = new_cluster()
    theirs = ObjectRef("", "ConfigMap", "default", "theirs")
    made = manifests.config_map("theirs", "default", key="theirs")
    cluster.create(made, "other-manager")
    adopting = Options(adopt=frozenset([theirs]))
    given = package(b="two", theirs="theirs")
    run(lcm.instantiate, cluster, clock, "two", given, options=adopting)

    report = run(lcm.change, cluster, clock, "two", package(b="two"))

    assert {theirs: Action.RETAINED}.items() <= {
        row.ref: row.action for row in report.objects
    }.items()
    assert cluster.get(theirs) is not None
    run(lcm.terminate, cluster, clock, "two")
    assert objects.INSTANCE not in objects.labels(cluster.get(theirs))


def test_a_refused_instantiation_deletes_nothing_that_it_was_to_adopt(
    new_cluster, clock
):
    """It may not have come to that object yet."""
    cluster = new_cluster()
    theirs = ObjectRef("", "ConfigMap", "default", "z")
    made = manifests.config_map("z", "default", key="theirs")
    cluster.create(made, "other-manager")
    no = errors.Rejected(COMMON, 422, "Invalid", "no")
    cluster.fail(no, "patch", ObjectRef("", "ConfigMap", "default", "b"))

    with pytest.raises(errors.Rejected):
        run(
            lcm.instantiate,
            cluster,
            clock,
            "two",
            package(b="two", z="theirs"),
            options=Options(adopt=frozenset([theirs]), dry_run=False),
        )

    assert "theirs" == cluster.get(theirs)["data"]["key"]
    assert objects.INSTANCE not in objects.labels(cluster.get(theirs))
    assert [] == [ref for ref in records(cluster) if "two" in ref.name]
