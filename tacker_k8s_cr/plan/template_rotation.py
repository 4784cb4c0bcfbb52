"""New names for Cluster API templates that changed.

A template is immutable, or editing it in place starts no rollout. If its
manifest differs from the last applied one, it gets a name derived from its
content, and references to it are updated.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.kinds.capi import references
from tacker_k8s_cr.kinds.capi import template_names
from tacker_k8s_cr.kinds.capi import templates
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.placement import PlacedManifest


@dataclasses.dataclass(frozen=True)
class RotationResult:
    """The manifests with live names, and those names by authored object."""

    items: tuple[PlacedManifest, ...]
    live_names: dict[ObjectRef, str]


def rotate(
    items: Sequence[PlacedManifest], before: Inventory
) -> RotationResult:
    """Rename the templates that differ from what the instance last applied.

    Raises PackageInvalid for a changed template to which nothing in the
    package refers: the change would never reach a machine.
    """
    inventories = [before]
    if before.phase is Phase.CHANGING and before.previous_package:
        # Another change may revert one that ended early.
        inventories.append(before.previous_package)
    last = {ObjectRef.of(manifest): manifest for manifest in before.manifests}
    names: dict[ObjectRef, str] = {}
    changed = []
    for item in items:
        if not templates.is_template(item.ref.group_kind):
            continue
        former = last.get(item.ref)
        if former is None:
            continue
        if _spec(former) != _spec(item.manifest):
            changed.append(item)
        name = _known_name(item, inventories) or template_names.hashed_name(
            item.manifest
        )
        if name != item.ref.name:
            names[item.ref] = name
    used = {
        (item.ref.namespace, kind, name)
        for item in items
        for _, kind, name in references.template_refs(item.manifest)
    }
    unused = [
        Problem(
            item.where,
            f"{item.ref} changed, but no object of the package refers to it",
        )
        for item in changed
        if (item.ref.namespace, item.ref.group_kind, item.ref.name) not in used
    ]
    if unused:
        raise errors.PackageInvalid(unused)
    return RotationResult(
        tuple(_renamed(item, names) for item in items), names
    )


def with_live_names(
    items: Sequence[PlacedManifest], live_names: Mapping[ObjectRef, str]
) -> tuple[PlacedManifest, ...]:
    """Return the manifests with the live names of their objects."""
    return tuple(_renamed(item, live_names) for item in items)


def _renamed(
    item: PlacedManifest, names: Mapping[ObjectRef, str]
) -> PlacedManifest:
    new_names: dict[tuple[GroupKind, str], str] = {
        (ref.group_kind, ref.name): name
        for ref, name in names.items()
        if ref.namespace == item.ref.namespace
    }
    if not new_names:
        return item
    manifest: Manifest = references.with_renamed(item.manifest, new_names)
    if name := names.get(item.ref):
        manifest = {
            **manifest,
            "metadata": {**manifest["metadata"], "name": name},
        }
    return PlacedManifest(ObjectRef.of(manifest), manifest, item.where)


def _known_name(item: PlacedManifest, inventories: Sequence[Inventory]) -> str:
    """Return the live name of a known template; empty if it is new."""
    for inventory in inventories:
        for manifest in inventory.manifests:
            if ObjectRef.of(manifest) == item.ref and _spec(manifest) == _spec(
                item.manifest
            ):
                return inventory.live_names.get(item.ref, item.ref.name)
    return ""


def _spec(manifest: Manifest) -> object:
    return manifest.get("spec")
