"""An operation that is killed at any request is finished by the next one.

The same is shown on a real API server elsewhere; here every single request
of three operations is tried.
"""

from __future__ import annotations

import contextlib

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state import leases
from tacker_k8s_cr.state import lock
from tacker_k8s_cr.state import store
from tests.failing_cluster import Killed
from tests.failing_cluster import fail_after
from tests.fakes import FakeCluster
from tests.functional import manifests
from tests.unit.lcm.kill_points import killed_clusters
from tests.unit.lcm.kill_points import leave_unchanged
from tests.unit.lcm.kill_points import orphaned_chunks
from tests.unit.lcm.kill_points import owned_objects
from tests.unit.lcm.kill_points import record_objects
from tests.unit.lcm.kill_points import run_operation
from tests.unit.packages import GROUP
from tests.unit.packages import NEW
from tests.unit.packages import OLD
from tests.unit.packages import make_package


@pytest.fixture
def new_cluster(clock):
    def cluster():
        return FakeCluster(idle=clock.idle)

    return cluster


@pytest.mark.requirement("P21", "M7", "CR-11")
def test_instantiate_is_resumed_wherever_it_died(new_cluster, clock):
    """No object is lost or doubled, and terminate leaves none."""
    died = 0
    for cluster in killed_clusters(
        lcm.instantiate, leave_unchanged, new_cluster, clock, OLD
    ):
        died += 1
        with contextlib.suppress(
            errors.InstanceExists
        ):  # it died when all was done; what writes next cleans up
            run_operation(lcm.instantiate, cluster, clock, OLD)
            assert [] == orphaned_chunks(cluster)
        assert ["old", "one", "same", f"things.{GROUP}"] == owned_objects(
            cluster
        )
        inventory = store.read(cluster, "one", "default").inventory
        assert 4 == len(inventory.owned)

        run_operation(lcm.terminate, cluster, clock)

        assert [] == owned_objects(cluster)
        assert [] == record_objects(cluster)
    assert died > 15


def test_an_interrupted_instantiate_is_terminated(new_cluster, clock):
    """Without being taken up first, and nothing stays."""
    for cluster in killed_clusters(
        lcm.instantiate, leave_unchanged, new_cluster, clock, OLD
    ):
        with contextlib.suppress(
            errors.InstanceNotFound
        ):  # it died before there was a record
            run_operation(lcm.terminate, cluster, clock)
        assert [] == owned_objects(cluster)
        assert [] == record_objects(cluster)


def test_change_is_resumed_wherever_it_died(new_cluster, clock):
    """What the new package names is there, and nothing else."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, OLD)

    died = 0
    for cluster in killed_clusters(
        lcm.change, prepare, new_cluster, clock, NEW
    ):
        died += 1
        run_operation(lcm.change, cluster, clock, NEW)
        assert ["one", "same", f"things.{GROUP}", "two"] == owned_objects(
            cluster
        )
        one = cluster.get(ObjectRef(GROUP, "Thing", "default", "one"))
        assert "xl" == one["spec"]["size"]
        assert [] == orphaned_chunks(cluster)

        run_operation(lcm.terminate, cluster, clock)

        assert [] == owned_objects(cluster)
        assert [] == record_objects(cluster)
    assert died > 15


def test_terminate_is_resumed_wherever_it_died(new_cluster, clock):
    """The second run removes what the first one left."""

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, OLD)

    died = 0
    for cluster in killed_clusters(lcm.terminate, prepare, new_cluster, clock):
        died += 1
        with contextlib.suppress(
            errors.InstanceNotFound
        ):  # it died when all was done
            run_operation(lcm.terminate, cluster, clock)
        assert [] == owned_objects(cluster)
        assert [] == record_objects(cluster)
    assert died > 10


def test_an_adopted_object_is_released_wherever_the_operation_died(
    new_cluster, clock
):
    """It stays, without the instance's label."""
    ref = ObjectRef("", "ConfigMap", "default", "old")
    theirs = manifests.config_map("old", "default", other="theirs")

    def prepare(cluster):
        cluster.create(theirs, "other-manager")

    died = 0
    adopting = Options(adopt=frozenset([ref]))
    for cluster in killed_clusters(
        lcm.instantiate, prepare, new_cluster, clock, OLD, options=adopting
    ):
        died += 1
        with contextlib.suppress(errors.InstanceNotFound):
            run_operation(lcm.terminate, cluster, clock)
        assert [] == owned_objects(cluster)
        assert "theirs" == cluster.get(ref)["data"]["other"]
        assert [] == record_objects(cluster)
    assert died > 15


HOME = ObjectRef("", "Namespace", "", "home")


@pytest.mark.parametrize("finish", [True, False])
def test_the_record_namespace_is_created_and_deleted_wherever_it_died(
    new_cluster, clock, finish
):
    """It holds the record and the lock, and goes with the instance."""
    given = make_package(
        manifests.namespace("home"), manifests.config_map("a")
    )

    def life(operation, cluster, *args):
        run_operation(operation, cluster, clock, *args, namespace="home")

    died = 0
    for cluster in killed_clusters(
        lcm.instantiate,
        leave_unchanged,
        new_cluster,
        clock,
        given,
        namespace="home",
    ):
        died += 1
        if finish:
            with contextlib.suppress(errors.InstanceExists):
                life(lcm.instantiate, cluster, given)
            assert ["a", "home"] == owned_objects(cluster)
        with contextlib.suppress(errors.InstanceNotFound):
            life(lcm.terminate, cluster)
        assert [] == owned_objects(cluster)
        assert [] == record_objects(cluster)
        assert cluster.get(HOME) is None
    assert died > 15


def test_the_deletion_of_such_a_namespace_resumes_wherever_it_died(
    new_cluster, clock
):
    """The record is deleted with it, maybe before the next try begins."""
    given = make_package(
        manifests.namespace("home"), manifests.config_map("a")
    )

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, given, namespace="home")

    died = 0
    for cluster in killed_clusters(
        lcm.terminate, prepare, new_cluster, clock, namespace="home"
    ):
        died += 1
        with contextlib.suppress(errors.InstanceNotFound):
            run_operation(lcm.terminate, cluster, clock, namespace="home")
        assert [] == owned_objects(cluster)
        assert [] == record_objects(cluster)
        assert cluster.get(HOME) is None
    assert died > 10


@pytest.mark.requirement("P21")
def test_a_lock_whose_holder_died_is_taken_after_its_term(new_cluster, clock):
    """And not before: the holder might only be slow."""
    cluster = new_cluster()
    died = fail_after(cluster, 1, True)  # it has the Lease, and no more
    with (
        pytest.raises(Killed),
        lock.locked(died, "one", "default", Deadline.after(300, clock)),
    ):
        raise Killed
    begun = clock.now

    with lock.locked(cluster, "one", "default", Deadline.after(300, clock)):
        pass

    assert begun + leases.TERM <= clock.now + 0.01
