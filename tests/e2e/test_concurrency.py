"""Many operations on one conductor at once."""

from __future__ import annotations

from concurrent import futures
import itertools
from typing import NamedTuple

import pytest

from tacker_k8s_cr.state import leases
from tests.e2e import held_vnf
from tests.e2e.held_vnf import CROWD
from tools.tacker import rest_api
from tools.tacker.rest_api import Api

pytestmark = pytest.mark.plane

SECONDS = 300.0
"""For the whole crowd: Tacker works on one after another for a while."""


class Begun(NamedTuple):
    """An operation that was asked for."""

    api: Api
    instance: str
    occurrence: str


def found(kubectl, kind: str, crowd: str) -> list[dict]:
    """The objects of a kind in the namespaces of the crowd."""
    items = kubectl.json("get", kind, "--all-namespaces")["items"]
    return [
        item
        for item in items
        if item["metadata"]["namespace"].startswith(f"{crowd}-")
    ]


def ended(outcomes) -> dict[str, int]:
    """How many operations came to which end."""
    counted: dict[str, int] = {}
    for outcome in outcomes:
        state = outcome["operationState"]
        counted[state] = counted.get(state, 0) + 1
    return counted


def test_64_operations_are_carried_out_at_once(
    host, v1, v2, vim, kubectl, namespaces, unique_name, thread_pool, tmp_path
):
    """All run at the same time, all are completed, nothing exists twice.

    Half of them came through each API. Each instance has its one Deployment,
    with the one ReplicaSet of a template that never changed and one pod, and
    Tacker's VNFC is that pod; afterwards nothing is left.
    """
    csar = held_vnf.build_csar(tmp_path)
    v1.upload(csar.path)

    def begun(place):
        api, namespace = place
        instance = api.create(csar.vnfd)
        body = rest_api.instantiation(
            api, vim, csar.files, namespace=namespace
        )
        return Begun(api, instance, api.start(instance, "instantiate", body))

    places = zip(itertools.cycle((v1, v2)), namespaces, strict=False)
    started = list(thread_pool.map(begun, places))
    held_vnf.wait_for(
        "all Deployments",
        lambda: CROWD == len(found(kubectl, "deployments", unique_name)),
        SECONDS,
    )
    held = [
        lease
        for lease in found(kubectl, "leases", unique_name)
        if leases.holder(lease)
    ]
    assert CROWD == len(held)
    assert {"PROCESSING": CROWD} == ended(
        thread_pool.map(lambda one: one.api.operation(one.occurrence), started)
    )

    kubectl(
        *("annotate", "deployments", "--all-namespaces"),
        *(
            "-l",
            f"k8s-cr.tacker.openstack.org/instance in "
            f"({','.join(one.instance for one in started)})",
        ),
        "state=released",
    )
    done = thread_pool.map(
        lambda one: one.api.wait(one.occurrence, SECONDS), started
    )
    assert {"COMPLETED": CROWD} == ended(done)

    deployments = found(kubectl, "deployments", unique_name)
    pods = found(kubectl, "pods", unique_name)
    assert CROWD == len(deployments)
    assert CROWD == len(found(kubectl, "replicasets", unique_name))
    assert sorted(namespaces) == sorted(
        pod["metadata"]["namespace"] for pod in pods
    )
    known = thread_pool.map(lambda one: one.api.vnfcs(one.instance), started)
    assert sorted(pod["metadata"]["name"] for pod in pods) == sorted(
        vnfc["computeResource"]["resourceId"]
        for vnfcs in known
        for vnfc in vnfcs
    )

    def terminated(one):
        outcome = one.api.run(
            one.instance, "terminate", rest_api.FORCEFUL, SECONDS
        )
        one.api.delete(one.instance)
        return outcome

    with futures.ThreadPoolExecutor(CROWD) as all_of_them:
        outcomes = list(all_of_them.map(terminated, started))
    assert {"COMPLETED": CROWD} == ended(outcomes)
    for kind in ("deployments", "configmaps", "secrets", "leases"):
        assert [] == [
            item["metadata"]["name"]
            for item in found(kubectl, kind, unique_name)
            if item["metadata"]["name"] != "kube-root-ca.crt"
        ]
