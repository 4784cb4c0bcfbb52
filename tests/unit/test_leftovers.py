"""Leftovers did not exist before, and no test owns them."""

from __future__ import annotations

from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tests.fakes.cluster import FakeCluster
from tools import leftovers
from tools.leftovers import Snapshot

LEASE = GroupKind("coordination.k8s.io", "Lease")
A = ObjectRef("", "ConfigMap", "default", "a")
COMPONENT = ObjectRef(LEASE.group, LEASE.kind, "kube-system", "scheduler")
OURS = ObjectRef(LEASE.group, LEASE.kind, "default", "tacker-k8s-cr.demo")


def config_map(name):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
    }


def test_objects_are_compared_by_their_uid():
    """One that was created again under the same name is another one."""
    before = Snapshot({"1": A})

    assert [] == leftovers.find_new(before, Snapshot({"1": A}))
    assert [A] == leftovers.find_new(before, Snapshot({"2": A}))


def test_leases_of_components_do_not_count_and_locks_do():
    """Components renew their Leases; a lock of an instance must be deleted."""
    after = Snapshot({"1": COMPONENT, "2": OURS})

    assert [OURS] == leftovers.find_new(Snapshot({}), after)


def test_what_is_collected_in_time_is_not_left():
    """It is polled until nothing is left, or until the deadline."""
    cluster = FakeCluster()
    before = leftovers.take_snapshot(cluster)
    made = cluster.apply(config_map("a"), "m").obj
    cluster.apply(config_map("b"), "m")
    clock = [0.0]
    pauses = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock[0] += seconds
        cluster.delete(A, made["metadata"]["uid"])

    def look(matters):
        return leftovers.find_leftovers(
            cluster,
            before,
            Deadline(clock[0] + 1.0, lambda: clock[0]),
            matters,
            sleep,
        )

    assert [] == look(lambda ref: ref.name == "a")
    assert 1 == len(pauses)
    assert ["b"] == [ref.name for ref in look(lambda ref: True)]
    assert 1.0 < clock[0] <= 2.0
