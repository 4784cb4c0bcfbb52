"""Numbers that objects keep when a package is applied again."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.engine.autoscalers import HPA
from tacker_k8s_cr.kinds import autoscaling
from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.topology_replicas import TopologyReplicas
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.placement import PlacedManifest
from tacker_k8s_cr.plan.plan import LiveObject

_WITHIN = (topology_replicas.CLUSTER, HPA)
"""Kinds that have numbers, but none of their own."""


def with_live_replicas(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    registry: Registry,
    live: Mapping[ObjectRef, LiveObject],
    subresources: Mapping[GroupKind, frozenset[str]],
    settled: Collection[ObjectRef] = (),
    givers: Mapping[ObjectRef, str] | None = None,
) -> tuple[PlacedManifest, ...]:
    """Return the manifests with the replica counts of existing objects.

    A count that this instance's Apply entry owns is sent unchanged; a count
    that another field manager owns, after a scale or by an autoscaler, is left
    out. So applying a package again never changes a replica count, nor does a
    package that no longer sets it. Limits of autoscalers that a scale has
    changed are left out too.

    :param settled: counts that stay as the manifests have them.
    :param givers: source instances whose fields are transferred, by object.
    """
    concerned = [
        *_numbered(items, registry, live, subresources),
        *(
            item
            for item in items
            if item.ref in live and item.ref.group_kind in _WITHIN
        ),
    ]
    found: dict[ObjectRef, PlacedManifest] = {}
    for item, obj in results_or_raise(
        cluster.map_parallel(lambda item: cluster.get(item.ref), concerned)
    ):
        if obj is None:
            continue
        if giver := (givers or {}).get(item.ref):
            # As it will be when it is sent.
            metadata = obj["metadata"]
            fields = ownership.rename_manager(
                metadata["managedFields"],
                objects.MANAGER + giver,
                _manager(item),
            )
            metadata = {**metadata, "managedFields": fields}
            obj = {**obj, "metadata": metadata}
        found[item.ref] = _numbered_as(item, obj, registry, settled)
    return tuple(found.get(item.ref, item) for item in items)


def kept(
    item: PlacedManifest,
    obj: Manifest,
    registry: Registry,
    subresources: Mapping[GroupKind, frozenset[str]],
    settled: Collection[ObjectRef] = (),
) -> PlacedManifest:
    """Return one manifest with the numbers of its object, as ``carried``."""
    kind = item.ref.group_kind
    if kind in _WITHIN or _has_number(kind, registry, subresources):
        return _numbered_as(item, obj, registry, settled)
    return item


def _manager(item: PlacedManifest) -> str:
    labels = objects.labels(item.manifest)
    return objects.MANAGER + labels.get(objects.INSTANCE, "")


def _numbered_as(
    item: PlacedManifest,
    obj: Manifest,
    registry: Registry,
    settled: Collection[ObjectRef],
) -> PlacedManifest:
    manager = _manager(item)
    manifest = _unmoved(item.manifest, obj, manager)
    if item.ref.group_kind not in _WITHIN and item.ref not in settled:
        path = replicas.path_of(registry, item.ref.group_kind)
        owned = ownership.owns(obj, manager, path)
        number = objects.field(obj, path) if owned else None
        manifest = placement.set_field(manifest, path, number)
    for entry in topology_replicas.of(manifest):
        if entry.ref not in settled:
            manifest = _kept(manifest, obj, entry, manager)
    return dataclasses.replace(item, manifest=manifest)


def _kept(
    manifest: Manifest, obj: Manifest, entry: TopologyReplicas, manager: str
) -> Manifest:
    """With the number that an entry of a topology has."""
    if topology_replicas.get_entry(
        obj, entry
    ) is None or replicas.is_autoscaled(manifest, entry):
        return manifest
    owned = ownership.owns(obj, manager, entry.owned("replicas"))
    number = topology_replicas.number(obj, entry) if owned else None
    return topology_replicas.with_number(manifest, entry, number)


def _unmoved(manifest: Manifest, obj: Manifest, manager: str) -> Manifest:
    """Without the bounds of an autoscaler that a scale has moved."""
    paths: list[Path] = [
        ("metadata", "annotations", b) for b in autoscaling.BOUNDS
    ]
    if GroupKind.of(manifest) == HPA:
        paths.extend(autoscaling.HPA_BOUNDS)
    for path in paths:
        named = objects.field(manifest, path) is not None
        if named and ownership.owns(obj, manager, path, "Update"):
            manifest = placement.set_field(manifest, path, None)
    for entry in topology_replicas.of(manifest):
        moved = {
            name: None
            for name in autoscaling.BOUNDS
            if name in topology_replicas.notes_of(manifest, entry)
            and ownership.owns(
                obj,
                manager,
                entry.owned("metadata", "annotations", name),
                "Update",
            )
        }
        if moved:
            manifest = topology_replicas.with_notes(manifest, entry, moved)
    return manifest


def with_replica_paths(
    items: Sequence[PlacedManifest],
    registry: Registry,
    live: Mapping[ObjectRef, LiveObject],
    subresources: Mapping[GroupKind, frozenset[str]],
) -> dict[ObjectRef, LiveObject]:
    """With the places of numbers that are sent as the objects have them.

    By the time that is done, an autoscaler may have moved them.
    """
    found = dict(live)
    for item in _numbered(items, registry, live, subresources):
        path = replicas.path_of(registry, item.ref.group_kind)
        if objects.field(item.manifest, path) is not None:
            found[item.ref] = dataclasses.replace(
                live[item.ref], replicas_path=path
            )
    return found


def _numbered(
    items: Sequence[PlacedManifest],
    registry: Registry,
    live: Mapping[ObjectRef, LiveObject],
    subresources: Mapping[GroupKind, frozenset[str]],
) -> list[PlacedManifest]:
    """Those that are there, and are of a kind that has such a number."""
    return [
        item
        for item in items
        if item.ref in live
        and _has_number(item.ref.group_kind, registry, subresources)
    ]


def _has_number(
    kind: GroupKind,
    registry: Registry,
    subresources: Mapping[GroupKind, frozenset[str]],
) -> bool:
    return registry[kind].replicas is not None or "scale" in subresources.get(
        kind, ()
    )
