"""Operations that are killed at a few of their requests, drawn each time.

The room of faults tries every request; here the draw of one seed is tried
on each change, and the seed is told.
"""

from __future__ import annotations

import functools
import os
import random

import pytest

from tests.faults import ground as grounds
from tests.faults import trials

pytestmark = pytest.mark.plane

DEATHS = 20

OPERATIONS = ("instantiate", "change", "terminate")


def test_killed_at_some_requests(cluster, kubeconfig):
    """What died is finished or taken back, and nothing is left (P21, M7).

    Set TACKER_K8S_CR_SEED to try the requests of a run that failed.
    """
    seed = os.environ.get("TACKER_K8S_CR_SEED") or str(random.getrandbits(32))
    draw = random.Random(seed)  # noqa: S311
    with grounds.prepared(cluster, str(kubeconfig), DEATHS) as ground:
        counts = trials.all_of(
            OPERATIONS,
            ground.namespaces,
            functools.partial(trials.requests, ground.ground),
        )
        every = [
            death
            for operation, count in zip(OPERATIONS, counts, strict=True)
            for death in trials.every_death(operation, count)
        ]

        verdicts = trials.all_of(
            draw.sample(every, DEATHS),
            ground.namespaces,
            functools.partial(trials.tried, ground.ground),
        )

        assert [] == [f"seed {seed}: {v}" for v in verdicts if not v.good]
        assert [] == ground.left(), f"seed {seed}"
