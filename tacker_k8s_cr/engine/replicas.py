"""The numbers of replicas that a package asks for, and those that stay."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses

from tacker_k8s_cr.engine import replicas_paths
from tacker_k8s_cr.engine import topology_targets
from tacker_k8s_cr.kinds import autoscaling
from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.topology_replicas import TopologyReplicas
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.package import replica_counts
from tacker_k8s_cr.package import vdu_mapping
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.placement import PlacedManifest

REPLICAS: Path = ("spec", "replicas")
"""Default path of the replica count, for kinds whose handler and definition do
not specify one."""


Subresources = Mapping[GroupKind, frozenset[str]]


def vdus(
    package: Package,
    items: Sequence[PlacedManifest],
    registry: Registry,
    subresources: Subresources,
    mapping: Mapping[str, str] | None = None,
) -> dict[str, ObjectRef]:
    """The object that each VDU is, as it is placed.

    A VDU without an object among the items is left out.
    """

    def assess(manifest: Manifest) -> vdu_mapping.Fitness:
        kind = GroupKind.of(manifest)
        if is_scalable(kind, registry, subresources):
            return vdu_mapping.Fitness.REPLICAS
        if kind in vdu_mapping.WORKLOADS:
            return vdu_mapping.Fitness.WORKLOAD
        if registry[kind].child_selectors:
            return vdu_mapping.Fitness.DEPENDANTS
        return vdu_mapping.Fitness.NONE

    documents = tuple(Document(item.manifest, item.where) for item in items)
    placed = dataclasses.replace(package, documents=documents)
    return vdu_mapping.map_vdus(placed, assess, mapping)


def is_scalable(
    kind: GroupKind, registry: Registry, subresources: Subresources
) -> bool:
    """Whether objects of the kind have a number of replicas."""
    known = registry[kind].replicas is not None
    return known or "scale" in subresources.get(kind, ())


def scale_targets(
    vdus: Mapping[str, ObjectRef],
    registry: Registry,
    subresources: Subresources,
) -> dict[str, ObjectRef]:
    """Those of the VDUs that have a number of replicas."""
    return {
        vdu: ref
        for vdu, ref in vdus.items()
        if topology_replicas.parse_ref(ref)
        or is_scalable(ref.group_kind, registry, subresources)
    }


def in_manifests(
    items: Sequence[PlacedManifest],
    registry: Registry,
    refs: Iterable[ObjectRef],
) -> dict[ObjectRef, int]:
    """The numbers of replicas that manifests ask for, by scale target.

    A workload whose manifest names none has one: the server's default.
    """
    found: dict[ObjectRef, int] = {}
    by_ref = {item.ref: item.manifest for item in items}
    for ref in refs:
        if entry := topology_replicas.parse_ref(ref):
            manifest = by_ref.get(topology_replicas.cluster_ref(ref), {})
            number = topology_replicas.number(manifest, entry)
        else:
            path = path_of(registry, ref.group_kind)
            number = objects.field(by_ref.get(ref), path, 1)
        if isinstance(number, int):
            found[ref] = number
    return found


def with_level_replicas(
    items: Sequence[PlacedManifest],
    registry: Registry,
    wanted: Mapping[ObjectRef, int],
) -> tuple[PlacedManifest, ...]:
    """The manifests with the numbers that the VNFD's levels give.

    They win over those in the manifests, at instantiate as at scale.
    """
    in_topologies = {
        topology_replicas.parse_ref(ref): n for ref, n in wanted.items()
    }
    found = []
    for item in items:
        manifest = item.manifest
        if item.ref in wanted:
            path = path_of(registry, item.ref.group_kind)
            number = wanted[item.ref]
            manifest = placement.set_field(manifest, path, number)
        for entry in topology_replicas.of(manifest):
            # A topology may not name a number that an autoscaler keeps.
            if entry in in_topologies and not is_autoscaled(manifest, entry):
                number = in_topologies[entry]
                manifest = topology_replicas.with_number(
                    manifest, entry, number
                )
        found.append(dataclasses.replace(item, manifest=manifest))
    return tuple(found)


def is_autoscaled(manifest: Manifest, entry: TopologyReplicas) -> bool:
    """Whether the cluster autoscaler keeps an entry's number."""
    notes = topology_replicas.notes_of(manifest, entry)
    return autoscaling.annotated_bounds(notes) is not None


def path_of(registry: Registry, kind: GroupKind) -> Path:
    """Where an object of the kind has its number."""
    return registry[kind].replicas or REPLICAS


def desired_replicas(inventory: Inventory) -> dict[ObjectRef, int]:
    """The numbers that the instance last asked for, where it did."""
    found: dict[ObjectRef, int] = {}
    if vnfd := inventory.vnfd:
        asked = replica_counts.replicas(vnfd, inventory.scale_levels)
        found = {
            ref: asked[vdu]
            for vdu, ref in inventory.vdus.items()
            if vdu in asked
        }
    return {**found, **inventory.replica_overrides}


def replicas_for_aspect(
    inventory: Inventory, aspect: str, steps: int, level: int | None
) -> tuple[dict[str, int], dict[ObjectRef, int]]:
    """Scale levels after scaling an aspect, and the objects' numbers then.

    A VDU of the aspect without an object in the instance is left out.

    :raises RequestInvalid: the aspect is not known or scales no object, its
        level leaves its bounds, or a number those of its VDU's profile.
    """
    vnfd = inventory.vnfd
    if vnfd is None:
        raise errors.RequestInvalid(
            f"scale: the package of {inventory.instance} has no VNFD, so no "
            f"aspect {aspect}; name an object and its number of replicas"
        )
    now = dict(inventory.scale_levels)
    if level is not None:
        steps = level - now.get(aspect, 0)
    levels = dict(replica_counts.levels_after(vnfd, now, aspect, steps))
    moved = vnfd.aspects[aspect].steps
    after = {
        vdu: number
        for vdu, number in replica_counts.scaled(vnfd, levels).items()
        if vdu in moved and vdu in inventory.vdus
    }
    if not after:
        named = ", ".join(moved) or "no VDU"
        raise errors.RequestInvalid(
            f"aspect {aspect}: it scales {named}, and the instance "
            f"{inventory.instance} has no object with replicas for that"
        )
    replica_counts.check_profiles(vnfd, after)
    return levels, {inventory.vdus[vdu]: n for vdu, n in after.items()}


def live_replicas(
    cluster: Cluster, registry: Registry, inventory: Inventory
) -> dict[str, int | None]:
    """Return by VDU the replica count of its object, whichever client set it.

    None for an object that was deleted or recreated, or has no count.
    """
    subresources = {}
    for ref in inventory.vdus.values():
        with contextlib.suppress(errors.KindNotServed):
            kind = ref.group_kind
            subresources[kind] = cluster.resource(kind).subresources
    registry = replicas_paths.with_scale_paths(
        cluster, registry, subresources, inventory.manifests
    )
    numbers_: dict[str, int | None] = {}
    for vdu, ref, obj in topology_targets.scale_targets_by_vdu(
        cluster, inventory
    ):
        if obj is None:
            numbers_[vdu] = None
        elif entry := topology_replicas.parse_ref(ref):
            numbers_[vdu] = topology_replicas.number(obj, entry)
            if numbers_[vdu] is None:
                made = topology_targets.scale_target_of(cluster, obj, entry)
                numbers_[vdu] = objects.field(made, REPLICAS)
        else:
            path = path_of(registry, ref.group_kind)
            numbers_[vdu] = objects.field(obj, path)
    return numbers_
