"""Find effects of a change that no rollback can undo."""

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

RECREATED = "it is recreated: the data of the former object is lost"


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
    effects = []
    old, new = versions.version_of(before), versions.version_of(after)
    if versions.is_control_plane_kind(kind) and old and new and old != new:
        effects.append(f"{old} -> {new}: {versions.DOWNGRADE_REASON}")
    if kind == storage.CLAIM:
        sizes = [objects.field(obj, _STORAGE) for obj in (before, after)]
        if sizes[0] != sizes[1]:
            effects.append(f"{sizes[0]} -> {sizes[1]}: a claim cannot shrink")
    if kind == placement.DEFINITION:
        effects += _definition_losses(before, after)
    if kind == rollouts.CLUSTER:
        new_workers = rollouts.worker_group_names(after)
        effects += [
            f"the workers {name} are deleted, with machines and workloads"
            for name in rollouts.worker_group_names(before)
            if name not in new_workers
        ]
    return tuple(effects)


def irreversible_delete(ref: ObjectRef, registry: Registry) -> tuple[str, ...]:
    """Return what is lost with an object and not restored with it."""
    kind = ref.group_kind
    if kind == placement.DEFINITION:
        return ("all objects of its kind are deleted with it",)
    if kind == placement.NAMESPACE:
        return ("all objects in it are deleted with it",)
    if kind == storage.CLAIM:
        return ("the data of its volume is deleted with it, unless retained",)
    if registry[kind].delete_exclusively or kind in (
        rollouts.DEPLOYMENT,
        rollouts.POOL,
    ):
        return ("its machines and their workloads are deleted with it",)
    return ()


def _definition_losses(before: Manifest, after: Manifest) -> list[str]:
    """Return what objects lose by the versions and fields that are removed.

    The server drops a field that is no longer in the schema with the next
    write of an object.
    """
    effects = []
    old, new = _versions(before), _versions(after)
    for name, version in old.items():
        if name not in new:
            effects.append(f"the version {name} is no longer defined")
            continue
        if version.get("served") and not new[name].get("served"):
            effects.append(f"the version {name} is no longer served")
        lost_fields = [
            ".".join(path)
            for path in _removed_fields(
                _schema(version), _schema(new[name]), ()
            )
        ]
        if lost_fields:
            effects.append(
                f"objects of {name} lose the fields {', '.join(lost_fields)}"
            )
    return effects


def _versions(definition: Manifest) -> dict[str, Mapping[str, Any]]:
    return {
        str(version.get("name")): version
        for version in fields.mappings(definition, ("spec", "versions"))
    }


def _schema(version: Mapping[str, Any]) -> Mapping[str, Any]:
    return fields.mapping(version, ("schema", "openAPIV3Schema"))


def _removed_fields(
    old: Any, new: Any, path: Sequence[str]
) -> Iterator[Sequence[str]]:
    """Yield the outermost fields that the new schema drops."""
    if fields.is_true(new, ("x-kubernetes-preserve-unknown-fields",)):
        return
    properties = fields.mapping(new, ("properties",))
    for name, below in fields.mapping(old, ("properties",)).items():
        field_path = (*path, name)
        if name in properties:
            yield from _removed_fields(below, properties[name], field_path)
        elif not fields.mapping(new, ("additionalProperties",)):
            yield field_path
    if items := fields.mapping(old, ("items",)):
        yield from _removed_fields(
            items, fields.mapping(new, ("items",)), path
        )
