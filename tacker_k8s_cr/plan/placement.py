"""Target namespaces of manifests, and the kinds that a package defines."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.plan import namespace_override


@dataclasses.dataclass(frozen=True)
class PlacedManifest:
    """A manifest with its target namespace and its location in the package."""

    ref: ObjectRef
    manifest: Manifest
    where: str


@dataclasses.dataclass(frozen=True)
class PackagedKind:
    """A kind that a CustomResourceDefinition of the package defines."""

    versions: tuple[str, ...]
    namespaced: bool
    subresources: frozenset[str]


def packaged_kinds(
    manifests: Iterable[Manifest],
) -> dict[GroupKind, PackagedKind]:
    """Return the kinds that the manifests define."""
    return {
        kind: found
        for manifest in manifests
        if _is_definition(manifest)
        for kind, found in (_defined(manifest),)
    }


def _is_definition(manifest: Manifest) -> bool:
    # Few are; comparing the kind first is faster.
    return (
        manifest["kind"] == DEFINITION.kind
        and GroupKind.of(manifest) == DEFINITION
    )


def _defined(definition: Manifest) -> tuple[GroupKind, PackagedKind]:
    """Return the kind that a definition defines.

    A malformed definition defines none; the server reports its errors.
    """
    listed = objects.field(definition, ("spec", "versions"), ())
    versions = [
        version
        for version in (listed if isinstance(listed, list | tuple) else ())
        if isinstance(version, Mapping) and version.get("served")
    ]
    subresources: set[str] = set()
    for version in versions:
        found = version.get("subresources")
        subresources |= set(found if isinstance(found, Mapping) else ())
    return GroupKind(
        str(objects.field(definition, ("spec", "group"), "")),
        str(objects.field(definition, ("spec", "names", "kind"), "")),
    ), PackagedKind(
        tuple(str(version.get("name", "")) for version in versions),
        objects.field(definition, ("spec", "scope")) == "Namespaced",
        frozenset(subresources),
    )


def kinds_by_crd(manifests: Iterable[Manifest]) -> dict[ObjectRef, GroupKind]:
    """Return by CustomResourceDefinition the kind that it defines."""
    return {
        ObjectRef.of(manifest): _defined(manifest)[0]
        for manifest in manifests
        if _is_definition(manifest)
    }


DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
NAMESPACE = GroupKind("", "Namespace")


def place_manifests(
    documents: Sequence[Document],
    namespaced: Mapping[GroupKind, bool],
    instance: str,
    namespace: str,
    namespace_mode: str = "default",
    labels: Mapping[str, str] | None = None,
) -> tuple[PlacedManifest, ...]:
    """Return each manifest with its namespace and the instance label.

    :param namespace_mode: the handling of a manifest with another namespace,
        as in ``policy.Policy``.
    :param labels: further labels for every object.

    Raises PackageInvalid if two documents describe one object with different
    content, or if the mode forbids the namespace of a manifest.
    """
    items: dict[ObjectRef, PlacedManifest] = {}
    problems = []
    authored_metadata = [
        document.manifest["metadata"] for document in documents
    ]
    source_namespaces: dict[ObjectRef, str] = {}
    if namespace_mode == "force":
        documents = namespace_override.override_namespace(
            documents, namespaced, namespace
        )
    for document, metadata_ in zip(documents, authored_metadata, strict=True):
        manifest = document.manifest
        # The server drops an empty mapping, and would treat each further
        # apply of it as a change.
        metadata = {
            key: value
            for key, value in manifest["metadata"].items()
            if key != "namespace" and (value or key != "annotations")
        }
        if namespaced[GroupKind.of(manifest)]:
            named = manifest["metadata"].get("namespace") or namespace
            if namespace_mode == "strict" and named != namespace:
                problems.append(
                    Problem(
                        document.where,
                        f"{ObjectRef.of(manifest)} names the namespace "
                        f"{named}; all objects of this package have to be in "
                        f"{namespace}",
                    )
                )
            metadata["namespace"] = named
        metadata["labels"] = {
            **(metadata.get("labels") or {}),
            **(labels or {}),
            objects.INSTANCE: instance,
        }
        manifest = {**manifest, "metadata": metadata}
        item = PlacedManifest(ObjectRef.of(manifest), manifest, document.where)
        duplicate = items.get(item.ref)
        # Manifests that name different namespaces are two objects.
        source_namespace = metadata_.get("namespace") or namespace
        is_same_source = source_namespace == source_namespaces.setdefault(
            item.ref, source_namespace
        )
        if (
            duplicate
            and is_same_source
            and duplicate.manifest == item.manifest
        ):
            continue
        if duplicate:
            problems.append(
                Problem(
                    item.where, f"{item.ref} is already in {duplicate.where}"
                )
            )
        items[item.ref] = item
    if problems:
        raise errors.PackageInvalid(problems)
    return tuple(items.values())


def place_create_only(
    documents: Sequence[Document],
    namespaced: Mapping[GroupKind, bool],
    namespace: str,
    namespace_mode: str = "default",
) -> tuple[PlacedManifest, ...]:
    """Return manifests of objects that are not stored, with namespaces.

    They get no label: the server refuses reviews with any metadata.

    :param namespace_mode: as for ``place_manifests``, except that ``strict``
        has no effect: no object is stored in the namespace.
    """
    if namespace_mode == "force":
        documents = namespace_override.override_namespace(
            documents, namespaced, namespace
        )
    found = []
    for document in documents:
        manifest = document.manifest
        metadata = dict(manifest["metadata"])
        named = metadata.pop("namespace", None)
        if namespaced[GroupKind.of(manifest)]:
            metadata["namespace"] = named or namespace
        manifest = {**manifest, "metadata": metadata}
        found.append(
            PlacedManifest(ObjectRef.of(manifest), manifest, document.where)
        )
    return tuple(found)


def with_replicas(
    item: PlacedManifest, path: Path, number: int | None
) -> PlacedManifest:
    """Return the item with this replica count; with None, without one."""
    return dataclasses.replace(
        item, manifest=set_field(item.manifest, path, number)
    )


def set_field(obj: Manifest, path: Path, value: Any) -> Manifest:
    """Return the object with a value at a path; with None, without it."""
    key, *rest = path
    changed = dict(obj)
    if rest:
        below = obj.get(key)
        if not isinstance(below, Mapping):
            below = {}
        changed[key] = set_field(below, tuple(rest), value)
    elif value is None:
        changed.pop(key, None)
    else:
        changed[key] = value
    return changed


def namespace_ref(name: str) -> ObjectRef:
    """Return the reference to a namespace."""
    return ObjectRef("", "Namespace", "", name)
