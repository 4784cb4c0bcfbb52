"""How a change reaches the machines of a pool of workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.model.objects import Path

PATHS: tuple[Path, ...] = (
    ("rollout", "strategy", "type"),
    ("strategy", "type"),
)
"""Where it is said, in v1beta2 and in v1beta1."""

ON_DELETE = "OnDelete"


def is_on_delete(workers: Mapping[str, Any]) -> bool:
    """Whether machines take a change only when they are deleted.

    :param workers: the spec of a MachineDeployment, or its entry in a
        topology or class.
    """
    return any(fields.text(workers, path) == ON_DELETE for path in PATHS)
