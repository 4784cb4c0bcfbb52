"""An operation killed at any request is finished by the next one.

The process is ended by SIGKILL from outside, on a real API server; our code is
not changed. Each trial is checked object by object.
"""

from __future__ import annotations

import dataclasses
import functools
import time

import pytest

from tests.faults import kill_and_retry
from tests.faults import scenario
from tests.faults import trial_namespaces as grounds

pytestmark = pytest.mark.plane

HEAD = r"^PUT [^?]*/secrets/tacker-k8s-cr\.[^./?]+(\?|$)"
"""A write of the record's head: the boundary of two stages."""

CLUSTERS = 6
"""At a time: each has machines, and controllers that look after them."""


@pytest.fixture(scope="module")
def trial_environment(cluster, kubeconfig):
    with grounds.prepare(
        cluster, str(kubeconfig), kill_and_retry.AT_ONCE
    ) as made:
        yield made


@pytest.mark.parametrize("operation", ["instantiate", "change", "terminate"])
@pytest.mark.requirement("P21", "M7")
def test_killed_at_every_request(trial_environment, table, operation):
    """Nothing is lost, doubled or left.

    What dies before a request is finished by the same operation; what dies
    after its answer is rolled back. A termination is always finished.
    """
    begun = time.monotonic()
    count = kill_and_retry.count_requests(
        trial_environment.ground, operation, trial_environment.namespaces[0]
    )

    verdicts = kill_and_retry.run_trials(
        kill_and_retry.kill_points(operation, count),
        trial_environment.namespaces,
        functools.partial(kill_and_retry.run_trial, trial_environment.ground),
    )

    table.append(
        kill_and_retry.result_row(
            f"{operation} killed", verdicts, count, begun
        )
    )
    assert [] == [str(v) for v in verdicts if not v.good]
    # Requests in parallel: not each run sends as many as another.
    assert sum(not v.struck for v in verdicts) <= 6
    assert [] == trial_environment.find_leftovers()


@pytest.mark.requirement("P21", "M7")
def test_a_termination_with_claims_killed_at_every_request(
    trial_environment, table
):
    """No claim, and no volume that is bound to one, remains."""
    begun = time.monotonic()
    with_claims = dataclasses.replace(
        trial_environment.ground, tell=scenario.stateful_set_with_claims
    )
    count = kill_and_retry.count_requests(
        with_claims, "terminate", trial_environment.namespaces[0]
    )

    verdicts = kill_and_retry.run_trials(
        kill_and_retry.kill_points("terminate", count),
        trial_environment.namespaces,
        functools.partial(kill_and_retry.run_trial, with_claims),
    )

    name = "terminate of claims killed"
    table.append(kill_and_retry.result_row(name, verdicts, count, begun))
    assert [] == [str(v) for v in verdicts if not v.good]
    assert [] == trial_environment.find_leftovers()


@pytest.mark.capi
@pytest.mark.parametrize("operation", ["instantiate", "change", "terminate"])
@pytest.mark.requirement("P21", "M7")
def test_a_cluster_killed_at_every_stage(trial_environment, table, operation):
    """Its machines are neither doubled nor left."""
    begun = time.monotonic()
    of_clusters = dataclasses.replace(
        trial_environment.ground, tell=scenario.workload_cluster
    )
    count = kill_and_retry.count_requests(
        of_clusters, operation, trial_environment.namespaces[0], HEAD
    )

    verdicts = kill_and_retry.run_trials(
        kill_and_retry.kill_points(operation, count, HEAD),
        trial_environment.namespaces[:CLUSTERS],
        functools.partial(kill_and_retry.run_trial, of_clusters),
    )

    table.append(
        kill_and_retry.result_row(
            f"Cluster, {operation} killed", verdicts, count, begun
        )
    )
    assert [] == [str(v) for v in verdicts if not v.good]
    assert [] == trial_environment.find_leftovers()
