"""An operation that is killed at any request is finished by the next one.

The process is ended by SIGKILL from outside, on a real API server; nothing
of ours is changed. Each trial is looked at object by object.
"""

from __future__ import annotations

import functools
import time

import pytest

from tests.faults import ground as grounds
from tests.faults import trials

pytestmark = pytest.mark.plane


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
