"""The numbers of replicas that a package asks for, and those that stay."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.applying import bearers
from tacker_k8s_cr.applying import paths
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.kinds import scaling
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.entries import Entry
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Path
from tacker_k8s_cr.package import numbers
from tacker_k8s_cr.package import targets
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning.placing import Placed

REPLICAS: Path = ("spec", "replicas")
"""Where a kind has its number of which neither a handler nor a definition
tells."""


Subresources = Mapping[GroupKind, frozenset[str]]


def vdus(
    package: Package,
    items: Sequence[Placed],
    registry: Registry,
    subresources: Subresources,
    mapping: Mapping[str, str] | None = None,
) -> dict[str, ObjectRef]:
    """The object that each VDU is, as it is placed.

    A VDU without an object among the items is left out.
    """

    def assess(manifest: Manifest) -> targets.Fitness:
        kind = GroupKind.of(manifest)
        if is_scalable(kind, registry, subresources):
            return targets.Fitness.REPLICAS
        if kind in targets.WORKLOADS:
            return targets.Fitness.WORKLOAD
        if registry[kind].made:
            return targets.Fitness.DEPENDANTS
        return targets.Fitness.NONE

    documents = tuple(Document(item.manifest, item.where) for item in items)
    placed = dataclasses.replace(package, documents=documents)
    return targets.by_vdu(placed, assess, mapping)


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
        if entries.named(ref)
        or is_scalable(ref.group_kind, registry, subresources)
    }


def in_manifests(
    items: Sequence[Placed],
    registry: Registry,
    refs: Iterable[ObjectRef],
) -> dict[ObjectRef, int]:
    """The numbers of replicas that manifests ask for, by scale target.

    A workload whose manifest names none has one: the server's default.
    """
    found: dict[ObjectRef, int] = {}
    by_ref = {item.ref: item.manifest for item in items}
    for ref in refs:
        if entry := entries.named(ref):
            manifest = by_ref.get(entries.owner(ref), {})
            number = entries.number(manifest, entry)
        else:
            path = path_of(registry, ref.group_kind)
            number = objects.field(by_ref.get(ref), path, 1)
        if isinstance(number, int):
            found[ref] = number
    return found


def numbered(
    items: Sequence[Placed],
    registry: Registry,
    wanted: Mapping[ObjectRef, int],
) -> tuple[Placed, ...]:
    """The manifests with the numbers that the VNFD's levels give.

    They win over those in the manifests, at instantiate as at scale.
    """
    in_topologies = {entries.named(ref): n for ref, n in wanted.items()}
    found = []
    for item in items:
        manifest = item.manifest
        if item.ref in wanted:
            path = path_of(registry, item.ref.group_kind)
            number = wanted[item.ref]
            manifest = placing.set_field(manifest, path, number)
        for entry in entries.of(manifest):
            # A topology may not name a number that an autoscaler keeps.
            if entry in in_topologies and not autoscaled(manifest, entry):
                number = in_topologies[entry]
                manifest = entries.with_number(manifest, entry, number)
        found.append(dataclasses.replace(item, manifest=manifest))
    return tuple(found)


def autoscaled(manifest: Manifest, entry: Entry) -> bool:
    """Whether the cluster autoscaler keeps an entry's number."""
    notes = entries.notes_of(manifest, entry)
    return scaling.annotated_bounds(notes) is not None


def path_of(registry: Registry, kind: GroupKind) -> Path:
    """Where an object of the kind has its number."""
    return registry[kind].replicas or REPLICAS


def recorded(inventory: Inventory) -> dict[ObjectRef, int]:
    """The numbers that the instance last asked for, where it did."""
    found: dict[ObjectRef, int] = {}
    if vnfd := inventory.vnfd:
        asked = numbers.replicas(vnfd, inventory.scale_levels)
        found = {
            ref: asked[vdu]
            for vdu, ref in inventory.vdus.items()
            if vdu in asked
        }
    return {**found, **inventory.numbers}


def of_aspect(
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
    levels = dict(numbers.stepped(vnfd, now, aspect, steps))
    moved = vnfd.aspects[aspect].steps
    after = {
        vdu: number
        for vdu, number in numbers.scaled(vnfd, levels).items()
        if vdu in moved and vdu in inventory.vdus
    }
    if not after:
        named = ", ".join(moved) or "no VDU"
        raise errors.RequestInvalid(
            f"aspect {aspect}: it scales {named}, and the instance "
            f"{inventory.instance} has no object with replicas for that"
        )
    numbers.check_profiles(vnfd, after)
    return levels, {inventory.vdus[vdu]: n for vdu, n in after.items()}


def found(
    cluster: Cluster, registry: Registry, inventory: Inventory
) -> dict[str, int | None]:
    """By VDU, the number that its object asks for now, whoever set it.

    None for an object that is gone, is another by now, or names none.
    """
    subresources = {}
    for ref in inventory.vdus.values():
        with contextlib.suppress(errors.KindUnknown):
            kind = ref.group_kind
            subresources[kind] = cluster.resource(kind).subresources
    registry = paths.known(
        cluster, registry, subresources, inventory.manifests
    )
    numbers_: dict[str, int | None] = {}
    for vdu, ref, obj in bearers.of_vdus(cluster, inventory):
        if obj is None:
            numbers_[vdu] = None
        elif entry := entries.named(ref):
            numbers_[vdu] = entries.number(obj, entry)
            if numbers_[vdu] is None:
                made = bearers.of(cluster, obj, entry)
                numbers_[vdu] = objects.field(made, REPLICAS)
        else:
            path = path_of(registry, ref.group_kind)
            numbers_[vdu] = objects.field(obj, path)
    return numbers_
