"""Operations that are killed at a few of their requests, drawn each time.

The suite of faults tries every request; here the draw of one seed is tried on
each change, and the seed is printed.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import random

import pytest

from tests.faults import kill_and_retry
from tests.faults import scenario
from tests.faults import trial_namespaces as grounds

pytestmark = pytest.mark.plane

DEATHS = 20

CLAIMED = 12
"""Deaths of a termination that deletes claims."""

OPERATIONS = ("instantiate", "change", "terminate")


def drawn():
    """A seed, and what it draws."""
    seed = os.environ.get("TACKER_K8S_CR_SEED") or str(random.getrandbits(32))
    return seed, random.Random(seed)  # noqa: S311


@pytest.mark.requirement("P21", "M7")
def test_killed_at_some_requests(cluster, kubeconfig):
    """A killed operation is finished or rolled back, and nothing is left.

    Set TACKER_K8S_CR_SEED to try the requests of a run that failed.
    """
    seed, draw = drawn()
    with grounds.prepare(cluster, str(kubeconfig), DEATHS) as ground:
        counts = kill_and_retry.run_trials(
            OPERATIONS,
            ground.namespaces,
            functools.partial(kill_and_retry.count_requests, ground.ground),
        )
        every = [
            death
            for operation, count in zip(OPERATIONS, counts, strict=True)
            for death in kill_and_retry.kill_points(operation, count)
        ]

        verdicts = kill_and_retry.run_trials(
            draw.sample(every, DEATHS),
            ground.namespaces,
            functools.partial(kill_and_retry.run_trial, ground.ground),
        )

        assert [] == [f"seed {seed}: {v}" for v in verdicts if not v.good]
        assert [] == ground.find_leftovers(), f"seed {seed}"


@pytest.mark.requirement("M7")
def test_an_interrupted_termination_leaves_no_claim(cluster, kubeconfig):
    """Nor a volume that is bound to one, wherever it died."""
    seed, draw = drawn()
    with grounds.prepare(cluster, str(kubeconfig), CLAIMED) as ground:
        trial = dataclasses.replace(
            ground.ground, tell=scenario.stateful_set_with_claims
        )
        count = kill_and_retry.count_requests(
            trial, "terminate", ground.namespaces[0]
        )
        every = kill_and_retry.kill_points("terminate", count)

        verdicts = kill_and_retry.run_trials(
            draw.sample(every, CLAIMED),
            ground.namespaces,
            functools.partial(kill_and_retry.run_trial, trial),
        )

        assert [] == [f"seed {seed}: {v}" for v in verdicts if not v.good]
        assert [] == ground.find_leftovers(), f"seed {seed}"
