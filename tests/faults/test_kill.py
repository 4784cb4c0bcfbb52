"""An operation that is killed at any request is finished by the next one.

The process is ended by SIGKILL from outside, on a real API server; nothing
of ours is changed. Each trial is looked at object by object.
"""

from __future__ import annotations

import dataclasses
import functools
import time

import pytest

from tests.faults import ground as grounds
from tests.faults import story
from tests.faults import trials

pytestmark = pytest.mark.plane

HEAD = r"^PUT [^?]*/secrets/tacker-k8s-cr\.[^./?]+(\?|$)"
"""A write of the record's head: the boundary of two stages."""

CLUSTERS = 6
"""At a time: each has machines, and controllers that look after them."""


@pytest.fixture(scope="module")
def ground(cluster, kubeconfig):
    with grounds.prepared(cluster, str(kubeconfig), trials.AT_ONCE) as made:
        yield made


@pytest.mark.parametrize("operation", ["instantiate", "change", "terminate"])
def test_killed_at_every_request(ground, table, operation):
    """Nothing is lost, doubled or left (P21, M7, H1).

    What dies before a request is finished by the same operation; what dies
    after its answer is taken back. A termination is always finished.
    """
    begun = time.monotonic()
    count = trials.requests(ground.ground, operation, ground.namespaces[0])

    verdicts = trials.all_of(
        trials.every_death(operation, count),
        ground.namespaces,
        functools.partial(trials.tried, ground.ground),
    )

    table.append(trials.row(f"{operation} killed", verdicts, count, begun))
    assert [] == [str(v) for v in verdicts if not v.good]
    # Requests in parallel: not each run sends as many as another.
    assert sum(not v.struck for v in verdicts) <= 6
    assert [] == ground.left()


def test_a_termination_with_claims_killed_at_every_request(ground, table):
    """No claim, and no volume that is bound to one, remains (P21, M7)."""
    begun = time.monotonic()
    with_claims = dataclasses.replace(ground.ground, tell=story.with_claims)
    count = trials.requests(with_claims, "terminate", ground.namespaces[0])

    verdicts = trials.all_of(
        trials.every_death("terminate", count),
        ground.namespaces,
        functools.partial(trials.tried, with_claims),
    )

    name = "terminate of claims killed"
    table.append(trials.row(name, verdicts, count, begun))
    assert [] == [str(v) for v in verdicts if not v.good]
    assert [] == ground.left()


@pytest.mark.capi
@pytest.mark.parametrize("operation", ["instantiate", "change", "terminate"])
def test_a_cluster_killed_at_every_stage(ground, table, operation):
    """Its machines are neither doubled nor left (P21, M7, P16)."""
    begun = time.monotonic()
    of_clusters = dataclasses.replace(
        ground.ground, tell=story.workload_cluster
    )
    count = trials.requests(of_clusters, operation, ground.namespaces[0], HEAD)

    verdicts = trials.all_of(
        trials.every_death(operation, count, HEAD),
        ground.namespaces[:CLUSTERS],
        functools.partial(trials.tried, of_clusters),
    )

    table.append(
        trials.row(f"Cluster, {operation} killed", verdicts, count, begun)
    )
    assert [] == [str(v) for v in verdicts if not v.good]
    assert [] == ground.left()
