"""Determine what a synchronization stores in Tacker's database: pure."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.driver.instances import InstanceView
from tacker_k8s_cr.package import replica_counts
from tacker_k8s_cr.plan.journal import Phase

NO_LEVEL = (
    "%s: replica counts match no scale level; scaleStatus is not changed"
)
"""Log line for an instance."""


def busy_reason(seen: InstanceView) -> str:
    """Return why an instance is not at rest; empty if it is."""
    if seen.inventory.phase is not Phase.INSTANTIATED:
        return f"the phase in its record is {seen.inventory.phase.value}"
    return f"operation in progress by {seen.holder}" if seen.holder else ""


def live_levels(
    stored: Mapping[str, int], seen: InstanceView
) -> dict[str, int] | None:
    """Return the scale levels that the live replica counts match.

    None if they match no level. An aspect without a count keeps its level.

    :param stored: the scale levels in Tacker's database.
    """
    vnfd = seen.inventory.vnfd
    if vnfd is None:
        return dict(stored)
    numbers = {vdu: n for vdu, n in seen.numbers.items() if n is not None}
    levels = replica_counts.infer_levels(vnfd, stored, numbers)
    if levels is None:
        return None
    return {
        aspect: levels.get(aspect, level) for aspect, level in stored.items()
    }


def is_level_changed(stored: Mapping[str, int], seen: InstanceView) -> bool:
    """Return whether the live replica counts match other scale levels."""
    return live_levels(stored, seen) not in (None, dict(stored))
