"""How a change reaches the machines of a pool of workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.objects import Path

PLACES: tuple[Path, ...] = (
    ("rollout", "strategy", "type"),
    ("strategy", "type"),
)
"""Where it is said, in v1beta2 and in v1beta1."""

ON_DELETE = "OnDelete"


def when_deleted(workers: Mapping[str, Any]) -> bool:
    """Whether machines take a change only when somebody deletes them.

    :param workers: the spec of a MachineDeployment, or what a topology or a
        class says on one.
    """
    return any(reading.text(workers, path) == ON_DELETE for path in PLACES)
