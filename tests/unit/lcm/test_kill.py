"""An operation that is killed at any request is finished by the next one.

The same is shown on a real API server elsewhere; here every single request
of three operations is tried.
"""

from __future__ import annotations

import contextlib

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.recording import leases
from tacker_k8s_cr.recording import lock
from tacker_k8s_cr.recording import record
from tests.fakes import FakeCluster
from tests.functional import manifests
from tests.mortal import Killed
from tests.mortal import mortal
from tests.unit.lcm.deaths import deaths
from tests.unit.lcm.deaths import headless
from tests.unit.lcm.deaths import nothing
from tests.unit.lcm.deaths import owned
from tests.unit.lcm.deaths import records
from tests.unit.lcm.deaths import run
from tests.unit.packages import GROUP
from tests.unit.packages import NEW
from tests.unit.packages import OLD
from tests.unit.packages import package


@pytest.fixture
def fresh(clock):
    def cluster():
        return FakeCluster(idle=clock.idle)

    return cluster


def test_instantiate_is_taken_up_wherever_it_died(fresh, clock):
    """No object is lost or doubled, and terminate leaves none (P21, M7)."""
    died = 0
    for cluster in deaths(lcm.instantiate, nothing, fresh, clock, OLD):
        died += 1
        with contextlib.suppress(
            errors.InstanceExists
        ):  # it died when all was done; what writes next cleans up
            run(lcm.instantiate, cluster, clock, OLD)
            assert [] == headless(cluster)
        assert ["old", "one", "same", f"things.{GROUP}"] == owned(cluster)
        inventory = record.read(cluster, "one", "default").inventory
        assert 4 == len(inventory.owned)

        run(lcm.terminate, cluster, clock)

        assert [] == owned(cluster)
        assert [] == records(cluster)
    assert died > 15


def test_instantiate_that_died_is_terminated(fresh, clock):
    """Without being taken up first, and nothing stays."""
    for cluster in deaths(lcm.instantiate, nothing, fresh, clock, OLD):
        with contextlib.suppress(
            errors.InstanceUnknown
        ):  # it died before there was a record
            run(lcm.terminate, cluster, clock)
        assert [] == owned(cluster)
        assert [] == records(cluster)


def test_change_is_taken_up_wherever_it_died(fresh, clock):
    """What the new package names is there, and nothing else (T6)."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, OLD)

    died = 0
    for cluster in deaths(lcm.change, prepare, fresh, clock, NEW):
        died += 1
        run(lcm.change, cluster, clock, NEW)
        assert ["one", "same", f"things.{GROUP}", "two"] == owned(cluster)
        one = cluster.get(ObjectRef(GROUP, "Thing", "default", "one"))
        assert "xl" == one["spec"]["size"]
        assert [] == headless(cluster)

        run(lcm.terminate, cluster, clock)

        assert [] == owned(cluster)
        assert [] == records(cluster)
    assert died > 15


def test_terminate_is_taken_up_wherever_it_died(fresh, clock):
    """The second run removes what the first one left."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, OLD)

    died = 0
    for cluster in deaths(lcm.terminate, prepare, fresh, clock):
        died += 1
        with contextlib.suppress(
            errors.InstanceUnknown
        ):  # it died when all was done
            run(lcm.terminate, cluster, clock)
        assert [] == owned(cluster)
        assert [] == records(cluster)
    assert died > 10


def test_what_was_to_be_adopted_is_given_up_wherever_it_died(fresh, clock):
    """It stays, and bears no mark of ours (P20, P21)."""
    ref = ObjectRef("", "ConfigMap", "default", "old")
    theirs = manifests.config_map("old", "default", other="theirs")

    def prepare(cluster):
        cluster.create(theirs, "somebody")

    died = 0
    adopting = Options(adopt=frozenset([ref]))
    for cluster in deaths(
        lcm.instantiate, prepare, fresh, clock, OLD, options=adopting
    ):
        died += 1
        with contextlib.suppress(errors.InstanceUnknown):
            run(lcm.terminate, cluster, clock)
        assert [] == owned(cluster)
        assert "theirs" == cluster.get(ref)["data"]["other"]
        assert [] == records(cluster)
    assert died > 15


HOME = ObjectRef("", "Namespace", "", "home")


@pytest.mark.parametrize("finish", [True, False])
def test_a_namespace_of_the_record_comes_and_goes_wherever_it_died(
    fresh, clock, finish
):
    """It holds the record and the lock, and goes with the instance (P21)."""
    given = package(manifests.namespace("home"), manifests.config_map("a"))

    def life(operation, cluster, *args):
        run(operation, cluster, clock, *args, namespace="home")

    died = 0
    for cluster in deaths(
        lcm.instantiate, nothing, fresh, clock, given, namespace="home"
    ):
        died += 1
        if finish:
            with contextlib.suppress(errors.InstanceExists):
                life(lcm.instantiate, cluster, given)
            assert ["a", "home"] == owned(cluster)
        with contextlib.suppress(errors.InstanceUnknown):
            life(lcm.terminate, cluster)
        assert [] == owned(cluster)
        assert [] == records(cluster)
        assert cluster.get(HOME) is None
    assert died > 15


def test_the_end_of_such_a_namespace_is_taken_up_wherever_it_died(
    fresh, clock
):
    """The record goes with it, and may be gone when the next begins (P21)."""
    given = package(manifests.namespace("home"), manifests.config_map("a"))

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, given, namespace="home")

    died = 0
    for cluster in deaths(
        lcm.terminate, prepare, fresh, clock, namespace="home"
    ):
        died += 1
        with contextlib.suppress(errors.InstanceUnknown):
            run(lcm.terminate, cluster, clock, namespace="home")
        assert [] == owned(cluster)
        assert [] == records(cluster)
        assert cluster.get(HOME) is None
    assert died > 10


def test_a_lock_whose_holder_died_is_taken_after_its_term(fresh, clock):
    """And not before: the holder might only be slow."""
    cluster = fresh()
    died = mortal(cluster, 1, True)  # it has the Lease, and no more
    with (
        pytest.raises(Killed),
        lock.locked(died, "one", "default", Deadline.after(300, clock)),
    ):
        raise Killed
    begun = clock.now

    with lock.locked(cluster, "one", "default", Deadline.after(300, clock)):
        pass

    assert begun + leases.TERM <= clock.now + 0.01
