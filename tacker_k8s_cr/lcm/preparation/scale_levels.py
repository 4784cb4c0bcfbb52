"""How large an instance is to be: its scale levels and its VDUs' numbers."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.package import replica_counts
from tacker_k8s_cr.plan.inventory import Inventory


@dataclasses.dataclass(frozen=True)
class Size:
    """How large an instance is to be.

    :param levels: by aspect, its scale level.
    :param numbers: by VDU id, its number; a VDU that is left out has that
        of its manifest.
    """

    levels: Mapping[str, int] = dataclasses.field(default_factory=dict)
    numbers: Mapping[str, int] = dataclasses.field(default_factory=dict)


def at_instantiate(
    vnfd: Vnfd | None,
    level: str = "",
    scale_levels: Mapping[str, int] | None = None,
) -> Size:
    """The size at an instantiation level, or at given scale levels.

    :param scale_levels: as Tacker's v1 API has them, which counts from the
        initial delta and does not read VduInstantiationLevels.
    :raises RequestInvalid: no such level or aspect.
    """
    if vnfd is None:
        return Size(dict(scale_levels or {}))
    if scale_levels:
        return Size(scale_levels, replica_counts.of_deltas(vnfd, scale_levels))
    return Size(*replica_counts.at_level(vnfd, level))


def at_change(vnfd: Vnfd | None, before: Inventory) -> Size:
    """The size with another package: as it is, where VDUs and aspects stay.

    A VDU that is new has the number that the default level gives it, and
    counts on from there like the others.
    """
    if vnfd is None:
        return Size(before.scale_levels)
    first, given = dict.fromkeys(vnfd.aspects, 0), vnfd.initial
    if vnfd.default_level in vnfd.levels:
        first, given = replica_counts.at_level(vnfd)
    levels = {
        aspect: min(
            before.scale_levels.get(aspect, level),
            vnfd.aspects[aspect].max_level,
        )
        for aspect, level in first.items()
    }
    new = replica_counts.replicas(
        replica_counts.based(vnfd, first, given), levels
    )
    so_far: Mapping[str, int] = {}
    if before.vnfd:
        so_far = replica_counts.replicas(before.vnfd, before.scale_levels)
    known = before.vdus.keys() & vnfd.vdus.keys() & so_far.keys()
    return Size(levels, {**new, **{vdu: so_far[vdu] for vdu in known}})
