"""Marks of operations that died, on Machines of a real Cluster API."""

from __future__ import annotations

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.lcm.machines import machine_annotations
from tacker_k8s_cr.model.objects import ObjectRef
from tests.failing_cluster import Killed
from tests.functional.test_cluster_api import CAPI
from tests.functional.test_cluster_api import MACHINE
from tests.functional.test_cluster_api import SAMPLE

pytestmark = [pytest.mark.plane, pytest.mark.capi]

WORKERS = f"{CAPI}/deployment-name=workload-workers"


class Marking:
    """A cluster that is lost to its caller once that has marked a Machine."""

    def __init__(self, cluster):
        self._cluster = cluster

    def __getattr__(self, name):
        return getattr(self._cluster, name)

    def with_deadline(self, deadline):
        return Marking(self._cluster.with_deadline(deadline))

    def patch(self, ref, *args, **more):
        found = self._cluster.patch(ref, *args, **more)
        if ref.group_kind == MACHINE:
            raise Killed
        return found


def test_the_annotation_of_an_interrupted_scale_is_removed(
    cluster, namespace, unique_name, leftover_objects, make_request
):
    """By a rollback, and by a scale with another choice."""
    workers = ObjectRef(
        CAPI, "MachineDeployment", namespace, "workload-workers"
    )

    def found():
        return {
            machine["metadata"]["name"]: machine["metadata"]["annotations"]
            for machine in cluster.list_objects(MACHINE, namespace, WORKERS)
        }

    def marked():
        return {
            name
            for name, notes in found().items()
            if machine_annotations.DELETE_MACHINE in notes
        }

    def scale(connection, number, machines_to_delete=()):
        k8s_cr.scale(
            make_request(connection),
            {workers: number},
            machines_to_delete=machines_to_delete,
        )

    k8s_cr.instantiate(make_request(), k8s_cr.load(SAMPLE))
    scale(cluster, 3)
    three = sorted(found())
    for _ in range(2):
        with pytest.raises(Killed):
            scale(Marking(cluster), 2, machines_to_delete=[three[0]])
        assert {three[0]} == marked()

        k8s_cr.roll_back(make_request())

        assert set() == marked()
        assert three == sorted(found())
    with pytest.raises(Killed):
        scale(Marking(cluster), 2, machines_to_delete=[three[0]])

    scale(cluster, 2, machines_to_delete=[three[1]])

    assert [three[0], three[2]] == sorted(found())
    assert set() == marked()
    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)
