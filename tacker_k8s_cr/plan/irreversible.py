"""What a change does that no rollback can undo."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds import storage
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.kinds.capi import versions
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.plan import placement

_STORAGE: Path = ("spec", "resources", "requests", "storage")

MADE_ANEW = "it is made anew: what the former object held is lost"


def may_be_irreversible(group_kind: GroupKind) -> bool:
    """Return whether an update of such an object may be irreversible."""
    return versions.is_control_plane_kind(group_kind) or group_kind in (
        rollouts.CLUSTER,
        placement.DEFINITION,
        storage.CLAIM,
    )


def irreversible_update(before: Manifest, after: Manifest) -> tuple[str, ...]:
    """Return what of an object's update is irreversible."""
    kind = GroupKind.of(after)
    found = []
    old, new = versions.of(before), versions.of(after)
    if versions.is_control_plane_kind(kind) and old and new and old != new:
        found.append(f"{old} -> {new}: {versions.LOWERED}")
    if kind == storage.CLAIM:
        sizes = [objects.field(obj, _STORAGE) for obj in (before, after)]
        if sizes[0] != sizes[1]:
            found.append(f"{sizes[0]} -> {sizes[1]}: a claim cannot shrink")
    if kind == placement.DEFINITION:
        found += _of_definition(before, after)
    if kind == rollouts.CLUSTER:
        after_ = rollouts.workers(after)
        found += [
            f"the workers {name} go: their machines, and what runs on them"
            for name in rollouts.workers(before)
            if name not in after_
        ]
    return tuple(found)


def irreversible_delete(ref: ObjectRef, registry: Registry) -> tuple[str, ...]:
    """Return what is lost with an object and not restored with it."""
    kind = ref.group_kind
    if kind == placement.DEFINITION:
        return ("all objects of its kind go with it",)
    if kind == placement.NAMESPACE:
        return ("all that lies in it goes with it",)
    if kind == storage.CLAIM:
        return ("what the volume holds goes with it, unless it is retained",)
    if registry[kind].delete_exclusively or kind in (
        rollouts.DEPLOYMENT,
        rollouts.POOL,
    ):
        return ("its machines go with it, and what runs on them",)
    return ()


def _of_definition(before: Manifest, after: Manifest) -> list[str]:
    """Versions and fields that a definition no longer has.

    Of a field that is left out of the schema the server drops the value
    with the next write of an object.
    """
    found = []
    old, new = _versions(before), _versions(after)
    for name, version in old.items():
        if name not in new:
            found.append(f"the version {name} is no longer defined")
            continue
        if version.get("served") and not new[name].get("served"):
            found.append(f"the version {name} is no longer served")
        gone = [
            ".".join(path)
            for path in _lost(_schema(version), _schema(new[name]), ())
        ]
        if gone:
            found.append(
                f"in {name} objects lose what they have in {', '.join(gone)}"
            )
    return found


def _versions(definition: Manifest) -> dict[str, Mapping[str, Any]]:
    return {
        str(version.get("name")): version
        for version in fields.mappings(definition, ("spec", "versions"))
    }


def _schema(version: Mapping[str, Any]) -> Mapping[str, Any]:
    return fields.mapping(version, ("schema", "openAPIV3Schema"))


def _lost(old: Any, new: Any, path: Sequence[str]) -> Iterator[Sequence[str]]:
    """Fields that the one schema has and the other drops, outermost only."""
    if fields.is_true(new, ("x-kubernetes-preserve-unknown-fields",)):
        return
    properties = fields.mapping(new, ("properties",))
    for name, below in fields.mapping(old, ("properties",)).items():
        here = (*path, name)
        if name in properties:
            yield from _lost(below, properties[name], here)
        elif not fields.mapping(new, ("additionalProperties",)):
            yield here
    if items := fields.mapping(old, ("items",)):
        yield from _lost(items, fields.mapping(new, ("items",)), path)
