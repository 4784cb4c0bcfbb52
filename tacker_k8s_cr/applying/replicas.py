"""The numbers of replicas that a package asks for, and those that stay."""

from __future__ import annotations

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


def vdus(
    package: Package,
    items: Sequence[Placed],
    registry: Registry,
    subresources: Mapping[GroupKind, frozenset[str]],
    mapping: Mapping[str, str] | None = None,
) -> dict[str, ObjectRef]:
    """The object that bears the number of each VDU, as it is placed."""

    def scalable(manifest: Manifest) -> bool:
        kind = GroupKind.of(manifest)
        known = registry[kind].replicas is not None
        return known or "scale" in subresources.get(kind, ())

    documents = tuple(Document(item.manifest, item.where) for item in items)
    placed = dataclasses.replace(package, documents=documents)
    return targets.by_vdu(placed, scalable, mapping)


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
        levels = inventory.scale_levels
        if levels:
            asked = numbers.replicas(vnfd, levels)
        else:
            _, asked = numbers.at_level(vnfd, "")
        found = {
            ref: asked[vdu]
            for vdu, ref in inventory.vdus.items()
            if vdu in asked
        }
    return {**found, **inventory.numbers}


def of_aspect(
    inventory: Inventory, aspect: str, steps: int, level: int | None
) -> tuple[dict[str, int], dict[ObjectRef, int]]:
    """Scale levels after scaling an aspect, and the objects' numbers then."""
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
    after = numbers.replicas(vnfd, levels)
    moved = vnfd.aspects[aspect].steps
    return levels, {
        inventory.vdus[vdu]: after[vdu] for vdu in moved if vdu in after
    }


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
