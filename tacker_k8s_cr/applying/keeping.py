"""Numbers that objects keep when a package is applied again."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr import objects
from tacker_k8s_cr import ownership
from tacker_k8s_cr.applying import replicas
from tacker_k8s_cr.applying.bounds import HPA
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.kinds import scaling
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.entries import Entry
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Path
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.planning.plan import Live

_WITHIN = (entries.CLUSTER, HPA)
"""Kinds that have numbers, but none of their own."""


def carried(
    cluster: Cluster,
    items: Sequence[Placed],
    registry: Registry,
    live: Mapping[ObjectRef, Live],
    subresources: Mapping[GroupKind, frozenset[str]],
    settled: Collection[ObjectRef] = (),
    givers: Mapping[ObjectRef, str] | None = None,
) -> tuple[Placed, ...]:
    """The manifests with the numbers that objects which exist have now.

    A number that our Apply entry owns is sent as it is; one that somebody
    else owns by now, after a scale or by an autoscaler, is left out. So
    applying a package again never changes a number, nor does a package that
    no longer names it. Bounds of autoscalers that a scale has moved are
    left out too.

    :param settled: numbers that stay as the manifests have them.
    :param givers: other instances whose fields become ours, by object.
    """
    concerned = [
        *_numbered(items, registry, live, subresources),
        *(
            item
            for item in items
            if item.ref in live and item.ref.group_kind in _WITHIN
        ),
    ]
    found: dict[ObjectRef, Placed] = {}
    for item, obj in raised(
        cluster.each(lambda item: cluster.get(item.ref), concerned)
    ):
        if obj is None:
            continue
        if giver := (givers or {}).get(item.ref):
            # As it will be when it is sent.
            metadata = obj["metadata"]
            fields = ownership.renamed(
                metadata["managedFields"],
                objects.MANAGER + giver,
                _manager(item),
            )
            metadata = {**metadata, "managedFields": fields}
            obj = {**obj, "metadata": metadata}
        found[item.ref] = _numbered_as(item, obj, registry, settled)
    return tuple(found.get(item.ref, item) for item in items)


def kept(
    item: Placed,
    obj: Manifest,
    registry: Registry,
    subresources: Mapping[GroupKind, frozenset[str]],
    settled: Collection[ObjectRef] = (),
) -> Placed:
    """Return one manifest with the numbers of its object, as ``carried``."""
    kind = item.ref.group_kind
    if kind in _WITHIN or _has_number(kind, registry, subresources):
        return _numbered_as(item, obj, registry, settled)
    return item


def _manager(item: Placed) -> str:
    labels = objects.labels(item.manifest)
    return objects.MANAGER + labels.get(objects.INSTANCE, "")


def _numbered_as(
    item: Placed,
    obj: Manifest,
    registry: Registry,
    settled: Collection[ObjectRef],
) -> Placed:
    manager = _manager(item)
    manifest = _unmoved(item.manifest, obj, manager)
    if item.ref.group_kind not in _WITHIN and item.ref not in settled:
        path = replicas.path_of(registry, item.ref.group_kind)
        owned = ownership.owns(obj, manager, path)
        number = objects.field(obj, path) if owned else None
        manifest = placing.set_field(manifest, path, number)
    for entry in entries.of(manifest):
        if entry.ref not in settled:
            manifest = _kept(manifest, obj, entry, manager)
    return dataclasses.replace(item, manifest=manifest)


def _kept(
    manifest: Manifest, obj: Manifest, entry: Entry, manager: str
) -> Manifest:
    """With the number that an entry of a topology has."""
    if entries.content(obj, entry) is None or replicas.autoscaled(
        manifest, entry
    ):
        return manifest
    owned = ownership.owns(obj, manager, entry.owned("replicas"))
    number = entries.number(obj, entry) if owned else None
    return entries.with_number(manifest, entry, number)


def _unmoved(manifest: Manifest, obj: Manifest, manager: str) -> Manifest:
    """Without the bounds of an autoscaler that a scale has moved."""
    paths: list[Path] = [
        ("metadata", "annotations", b) for b in scaling.BOUNDS
    ]
    if GroupKind.of(manifest) == HPA:
        paths.extend(scaling.HPA_BOUNDS)
    for path in paths:
        named = objects.field(manifest, path) is not None
        if named and ownership.owns(obj, manager, path, "Update"):
            manifest = placing.set_field(manifest, path, None)
    for entry in entries.of(manifest):
        moved = {
            name: None
            for name in scaling.BOUNDS
            if name in entries.notes_of(manifest, entry)
            and ownership.owns(
                obj,
                manager,
                entry.owned("metadata", "annotations", name),
                "Update",
            )
        }
        if moved:
            manifest = entries.with_notes(manifest, entry, moved)
    return manifest


def counted(
    items: Sequence[Placed],
    registry: Registry,
    live: Mapping[ObjectRef, Live],
    subresources: Mapping[GroupKind, frozenset[str]],
) -> dict[ObjectRef, Live]:
    """With the places of numbers that are sent as the objects have them.

    By the time that is done, an autoscaler may have moved them.
    """
    found = dict(live)
    for item in _numbered(items, registry, live, subresources):
        path = replicas.path_of(registry, item.ref.group_kind)
        if objects.field(item.manifest, path) is not None:
            found[item.ref] = dataclasses.replace(live[item.ref], count=path)
    return found


def _numbered(
    items: Sequence[Placed],
    registry: Registry,
    live: Mapping[ObjectRef, Live],
    subresources: Mapping[GroupKind, frozenset[str]],
) -> list[Placed]:
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
