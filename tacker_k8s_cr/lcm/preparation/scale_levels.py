"""The target size of an instance: scale levels and VDU replica counts."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.package import replica_counts
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.placement import PlacedManifest


@dataclasses.dataclass(frozen=True)
class Size:
    """The target size of an instance.

    :param levels: by aspect, its scale level.
    :param counts: by VDU id, its replica count; an omitted VDU has the count
        of its manifest.
    """

    levels: Mapping[str, int] = dataclasses.field(default_factory=dict)
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)


def at_instantiate(
    vnfd: Vnfd | None,
    level: str = "",
    scale_levels: Mapping[str, int] | None = None,
) -> Size:
    """Return the size at an instantiation level, or at given scale levels.

    :param scale_levels: as in Tacker's v1 API, which counts from the initial
        delta and does not read VduInstantiationLevels.
    :raises RequestInvalid: no such level or aspect.
    """
    if vnfd is None:
        return Size(dict(scale_levels or {}))
    if scale_levels:
        return Size(
            scale_levels, replica_counts.replicas_of_deltas(vnfd, scale_levels)
        )
    return Size(*replica_counts.at_instantiation_level(vnfd, level))


def at_change(vnfd: Vnfd | None, before: Inventory) -> Size:
    """Return the size with another package, as before for known VDUs.

    A new VDU has the replica count of the default level, and is scaled from
    there.
    """
    if vnfd is None:
        return Size(before.scale_levels)
    first, initial_counts = dict.fromkeys(vnfd.aspects, 0), vnfd.initial
    if vnfd.default_level in vnfd.levels:
        first, initial_counts = replica_counts.at_instantiation_level(vnfd)
    levels = {
        aspect: min(
            before.scale_levels.get(aspect, level),
            vnfd.aspects[aspect].max_level,
        )
        for aspect, level in first.items()
    }
    new_counts = replica_counts.replicas(
        replica_counts.with_base(vnfd, first, initial_counts), levels
    )
    former_counts: Mapping[str, int] = {}
    if before.vnfd:
        former_counts = replica_counts.replicas(
            before.vnfd, before.scale_levels
        )
    known_vdus = before.vdus.keys() & vnfd.vdus.keys() & former_counts.keys()
    return Size(
        levels,
        {**new_counts, **{vdu: former_counts[vdu] for vdu in known_vdus}},
    )


def unmatched_vdu_warnings(vnfd: Vnfd, vdus: Collection[str]) -> Iterator[str]:
    """Yield a warning for each VDU without an object, maybe due to a typo."""
    for vdu in vnfd.vdus.values():
        if vdu.id not in vdus:
            yield (
                f"VDU {vdu.id}: no workload of the selected manifests is "
                f"named {vdu.name}; the VDU has no VNFC and is not scaled"
            )


def with_initial_counts(
    vnfd: Vnfd,
    size: Size,
    targets: Mapping[str, ObjectRef],
    items: Sequence[PlacedManifest],
    registry: Registry,
) -> Vnfd:
    """Return the descriptor with the initial replica counts of VDUs.

    VDUs that the size does not include begin with the counts in manifests.
    """
    scaled = {vdu for aspect in vnfd.aspects.values() for vdu in aspect.steps}
    unsized = {
        vdu: ref
        for vdu, ref in targets.items()
        if vdu in scaled and vdu not in size.counts
    }
    manifest_counts = replicas.manifest_replicas(
        items, registry, unsized.values()
    )
    initial = {
        vdu: manifest_counts[ref]
        for vdu, ref in unsized.items()
        if ref in manifest_counts
    }
    return replica_counts.with_base(
        vnfd, size.levels, {**initial, **size.counts}
    )
