"""Replica counts of a package, of its scale levels and of live objects."""

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


def map_vdus(
    package: Package,
    items: Sequence[PlacedManifest],
    registry: Registry,
    subresources: Subresources,
    mapping: Mapping[str, str] | None = None,
) -> dict[str, ObjectRef]:
    """Return the object of each VDU, with its namespace.

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
    """Whether objects of the kind have a replica count."""
    has_path = registry[kind].replicas is not None
    return has_path or "scale" in subresources.get(kind, ())


def scale_targets(
    vdus: Mapping[str, ObjectRef],
    registry: Registry,
    subresources: Subresources,
) -> dict[str, ObjectRef]:
    """Return the VDUs whose objects have a replica count."""
    return {
        vdu: ref
        for vdu, ref in vdus.items()
        if topology_replicas.parse_ref(ref)
        or is_scalable(ref.group_kind, registry, subresources)
    }


def manifest_replicas(
    items: Sequence[PlacedManifest],
    registry: Registry,
    refs: Iterable[ObjectRef],
) -> dict[ObjectRef, int]:
    """Return the replica counts of manifests, by scale target.

    A workload whose manifest sets none has one replica: the server's default.
    """
    found: dict[ObjectRef, int] = {}
    by_ref = {item.ref: item.manifest for item in items}
    for ref in refs:
        if entry := topology_replicas.parse_ref(ref):
            manifest = by_ref.get(topology_replicas.cluster_ref(ref), {})
            number = topology_replicas.replicas(manifest, entry)
        else:
            path = replicas_path(registry, ref.group_kind)
            number = objects.field(by_ref.get(ref), path, 1)
        if isinstance(number, int):
            found[ref] = number
    return found


def with_level_replicas(
    items: Sequence[PlacedManifest],
    registry: Registry,
    wanted: Mapping[ObjectRef, int],
) -> tuple[PlacedManifest, ...]:
    """Return the manifests with the counts of the VNFD's scale levels.

    They take precedence over the manifests, at instantiate and at scale.
    """
    in_topologies = {
        topology_replicas.parse_ref(ref): n for ref, n in wanted.items()
    }
    found = []
    for item in items:
        manifest = item.manifest
        if item.ref in wanted:
            path = replicas_path(registry, item.ref.group_kind)
            number = wanted[item.ref]
            manifest = placement.set_field(manifest, path, number)
        for entry in topology_replicas.list_entries(manifest):
            # A topology must not set a count that an autoscaler manages.
            if entry in in_topologies and not is_autoscaled(manifest, entry):
                number = in_topologies[entry]
                manifest = topology_replicas.with_replicas(
                    manifest, entry, number
                )
        found.append(dataclasses.replace(item, manifest=manifest))
    return tuple(found)


def is_autoscaled(manifest: Manifest, entry: TopologyReplicas) -> bool:
    """Whether the cluster autoscaler manages the count of an entry."""
    notes = topology_replicas.annotations_of(manifest, entry)
    return autoscaling.annotated_limits(notes) is not None


def replicas_path(registry: Registry, kind: GroupKind) -> Path:
    """Return the path of the replica count in objects of the kind."""
    return registry[kind].replicas or REPLICAS


def desired_replicas(inventory: Inventory) -> dict[ObjectRef, int]:
    """Return the counts that the instance last requested."""
    found: dict[ObjectRef, int] = {}
    if vnfd := inventory.vnfd:
        by_vdu = replica_counts.replicas(vnfd, inventory.scale_levels)
        found = {
            ref: by_vdu[vdu]
            for vdu, ref in inventory.vdus.items()
            if vdu in by_vdu
        }
    return {**found, **inventory.replica_overrides}


def replicas_for_aspect(
    inventory: Inventory, aspect: str, steps: int, level: int | None
) -> tuple[dict[str, int], dict[ObjectRef, int]]:
    """Return the scale levels after scaling an aspect, and the new counts.

    A VDU of the aspect without an object in the instance is left out.

    :raises RequestInvalid: the aspect does not exist or scales no object, or
        its level or a count would be out of range.
    """
    vnfd = inventory.vnfd
    if vnfd is None:
        raise errors.RequestInvalid(
            f"scale: the package of {inventory.instance} has no VNFD, so no "
            f"aspect {aspect}; name an object and its number of replicas"
        )
    current_levels = dict(inventory.scale_levels)
    if level is not None:
        steps = level - current_levels.get(aspect, 0)
    levels = dict(
        replica_counts.levels_after(vnfd, current_levels, aspect, steps)
    )
    steps_by_vdu = vnfd.aspects[aspect].steps
    after = {
        vdu: number
        for vdu, number in replica_counts.scaled_replicas(vnfd, levels).items()
        if vdu in steps_by_vdu and vdu in inventory.vdus
    }
    if not after:
        vdu_names = ", ".join(steps_by_vdu) or "no VDU"
        raise errors.RequestInvalid(
            f"aspect {aspect}: it scales {vdu_names}, and the instance "
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
    counts: dict[str, int | None] = {}
    for vdu, ref, obj in topology_targets.scale_targets_by_vdu(
        cluster, inventory
    ):
        if obj is None:
            counts[vdu] = None
        elif entry := topology_replicas.parse_ref(ref):
            counts[vdu] = topology_replicas.replicas(obj, entry)
            if counts[vdu] is None:
                generated = topology_targets.scale_target_of(
                    cluster, obj, entry
                )
                counts[vdu] = objects.field(generated, REPLICAS)
        else:
            path = replicas_path(registry, ref.group_kind)
            counts[vdu] = objects.field(obj, path)
    return counts
