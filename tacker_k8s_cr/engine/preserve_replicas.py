"""Preserve live replica counts when a package is applied again."""

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
from tacker_k8s_cr.plan.steps import LiveObject

_INDIRECT = (topology_replicas.CLUSTER, HPA)
"""Kinds that contain the replica counts of other objects."""


def with_live_replicas(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    registry: Registry,
    live: Mapping[ObjectRef, LiveObject],
    subresources: Mapping[GroupKind, frozenset[str]],
    fixed: Collection[ObjectRef] = (),
    transfer_sources: Mapping[ObjectRef, str] | None = None,
) -> tuple[PlacedManifest, ...]:
    """Return the manifests with the replica counts of existing objects.

    A count that this instance's Apply entry owns is sent unchanged; a count
    that another field manager owns, after a scale or by an autoscaler, is left
    out. So applying a package again never changes a replica count, nor does a
    package that no longer sets it. Limits of autoscalers that a scale has
    changed are left out too.

    :param fixed: counts that are taken from the manifests.
    :param transfer_sources: source instances whose fields are transferred, by
        object.
    """
    concerned = [
        *_scalable_items(items, registry, live, subresources),
        *(
            item
            for item in items
            if item.ref in live and item.ref.group_kind in _INDIRECT
        ),
    ]
    found: dict[ObjectRef, PlacedManifest] = {}
    for item, obj in results_or_raise(
        cluster.map_parallel(lambda item: cluster.get(item.ref), concerned)
    ):
        if obj is None:
            continue
        if transfer_source := (transfer_sources or {}).get(item.ref):
            # As it will be after the transfer.
            metadata = obj["metadata"]
            fields = ownership.rename_manager(
                metadata["managedFields"],
                objects.MANAGER + transfer_source,
                _manager(item),
            )
            metadata = {**metadata, "managedFields": fields}
            obj = {**obj, "metadata": metadata}
        found[item.ref] = _with_counts_of(item, obj, registry, fixed)
    return tuple(found.get(item.ref, item) for item in items)


def preserve_replicas(
    item: PlacedManifest,
    obj: Manifest,
    registry: Registry,
    subresources: Mapping[GroupKind, frozenset[str]],
    fixed: Collection[ObjectRef] = (),
) -> PlacedManifest:
    """Return a manifest with the live counts, as ``with_live_replicas``."""
    kind = item.ref.group_kind
    if kind in _INDIRECT or _has_replicas(kind, registry, subresources):
        return _with_counts_of(item, obj, registry, fixed)
    return item


def _manager(item: PlacedManifest) -> str:
    labels = objects.labels(item.manifest)
    return objects.MANAGER + labels.get(objects.INSTANCE, "")


def _with_counts_of(
    item: PlacedManifest,
    obj: Manifest,
    registry: Registry,
    fixed: Collection[ObjectRef],
) -> PlacedManifest:
    manager = _manager(item)
    manifest = _without_changed_limits(item.manifest, obj, manager)
    if item.ref.group_kind not in _INDIRECT and item.ref not in fixed:
        path = replicas.replicas_path(registry, item.ref.group_kind)
        owned = ownership.is_field_manager(obj, manager, path)
        number = objects.field(obj, path) if owned else None
        manifest = placement.set_field(manifest, path, number)
    for entry in topology_replicas.list_entries(manifest):
        if entry.ref not in fixed:
            manifest = _with_entry_count_of(manifest, obj, entry, manager)
    return dataclasses.replace(item, manifest=manifest)


def _with_entry_count_of(
    manifest: Manifest, obj: Manifest, entry: TopologyReplicas, manager: str
) -> Manifest:
    """Return the manifest with the live count of an entry of a topology."""
    if topology_replicas.get_entry(
        obj, entry
    ) is None or replicas.is_autoscaled(manifest, entry):
        return manifest
    owned = ownership.is_field_manager(
        obj, manager, entry.managed_path("replicas")
    )
    number = topology_replicas.replicas(obj, entry) if owned else None
    return topology_replicas.with_replicas(manifest, entry, number)


def _without_changed_limits(
    manifest: Manifest, obj: Manifest, manager: str
) -> Manifest:
    """Return the manifest without limits that a scale has changed."""
    paths: list[Path] = [
        ("metadata", "annotations", b) for b in autoscaling.NODE_GROUP_LIMITS
    ]
    if GroupKind.of(manifest) == HPA:
        paths.extend(autoscaling.HPA_LIMITS)
    for path in paths:
        is_set = objects.field(manifest, path) is not None
        if is_set and ownership.is_field_manager(obj, manager, path, "Update"):
            manifest = placement.set_field(manifest, path, None)
    for entry in topology_replicas.list_entries(manifest):
        changed = {
            name: None
            for name in autoscaling.NODE_GROUP_LIMITS
            if name in topology_replicas.annotations_of(manifest, entry)
            and ownership.is_field_manager(
                obj,
                manager,
                entry.managed_path("metadata", "annotations", name),
                "Update",
            )
        }
        if changed:
            manifest = topology_replicas.with_annotations(
                manifest, entry, changed
            )
    return manifest


def with_replica_paths(
    items: Sequence[PlacedManifest],
    registry: Registry,
    live: Mapping[ObjectRef, LiveObject],
    subresources: Mapping[GroupKind, frozenset[str]],
) -> dict[ObjectRef, LiveObject]:
    """Return the live objects with the paths of counts sent unchanged.

    An autoscaler may have changed them by the time they are sent.
    """
    found = dict(live)
    for item in _scalable_items(items, registry, live, subresources):
        path = replicas.replicas_path(registry, item.ref.group_kind)
        if objects.field(item.manifest, path) is not None:
            found[item.ref] = dataclasses.replace(
                live[item.ref], replicas_path=path
            )
    return found


def _scalable_items(
    items: Sequence[PlacedManifest],
    registry: Registry,
    live: Mapping[ObjectRef, LiveObject],
    subresources: Mapping[GroupKind, frozenset[str]],
) -> list[PlacedManifest]:
    """Return the items with an existing object of a scalable kind."""
    return [
        item
        for item in items
        if item.ref in live
        and _has_replicas(item.ref.group_kind, registry, subresources)
    ]


def _has_replicas(
    kind: GroupKind,
    registry: Registry,
    subresources: Mapping[GroupKind, frozenset[str]],
) -> bool:
    return registry[kind].replicas is not None or "scale" in subresources.get(
        kind, ()
    )
