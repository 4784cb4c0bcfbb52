"""A clock for the fake cluster, and what operations on it are given.

A module that needs another cluster has one of its own.
"""

from __future__ import annotations

from typing import Any

import pytest

from tacker_k8s_cr.model.deadline import Deadline
from tests.fakes import FakeCluster
from tests.fakes.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cluster(clock: Clock) -> FakeCluster:
    return FakeCluster(idle=clock.idle)


@pytest.fixture
def operation_args(clock: Clock) -> dict[str, Any]:
    return {"deadline": Deadline.after(600, clock)}
