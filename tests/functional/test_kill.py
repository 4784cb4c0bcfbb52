"""Operations that are killed at a few of their requests, drawn each time.

The room of faults tries every request; here the draw of one seed is tried
on each change, and the seed is told.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import random

import pytest

from tests.faults import ground as grounds
from tests.faults import story
from tests.faults import trials

pytestmark = pytest.mark.plane

DEATHS = 20

CLAIMED = 12
"""Deaths of a termination that deletes claims."""

OPERATIONS = ("instantiate", "change", "terminate")


def drawn():
    """A seed, and what it draws."""
    seed = os.environ.get("TACKER_K8S_CR_SEED") or str(random.getrandbits(32))
    return seed, random.Random(seed)  # noqa: S311


def test_killed_at_some_requests(cluster, kubeconfig):
    """What died is finished or taken back, and nothing is left (P21, M7).

    Set TACKER_K8S_CR_SEED to try the requests of a run that failed.
    """
    seed, draw = drawn()
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


def test_a_termination_that_died_leaves_no_claim(cluster, kubeconfig):
    """Nor a volume that is bound to one, wherever it died (P21, M7)."""
    seed, draw = drawn()
    with grounds.prepared(cluster, str(kubeconfig), CLAIMED) as ground:
        trial = dataclasses.replace(ground.ground, tell=story.with_claims)
        count = trials.requests(trial, "terminate", ground.namespaces[0])
        every = trials.every_death("terminate", count)

        verdicts = trials.all_of(
            draw.sample(every, CLAIMED),
            ground.namespaces,
            functools.partial(trials.tried, trial),
        )

        assert [] == [f"seed {seed}: {v}" for v in verdicts if not v.good]
        assert [] == ground.left(), f"seed {seed}"
