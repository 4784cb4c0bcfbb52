"""Where a manifest goes, and which kinds a package brings."""

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
    """A manifest with its target namespace, and its place in the package."""

    ref: ObjectRef
    manifest: Manifest
    where: str


@dataclasses.dataclass(frozen=True)
class PackagedKind:
    """A kind that a CustomResourceDefinition of the package brings."""

    versions: tuple[str, ...]
    namespaced: bool
    subresources: frozenset[str]


def packaged_kinds(
    manifests: Iterable[Manifest],
) -> dict[GroupKind, PackagedKind]:
    """Kinds that the manifests themselves bring."""
    return {
        kind: found
        for manifest in manifests
        if _is_definition(manifest)
        for kind, found in (_defined(manifest),)
    }


def _is_definition(manifest: Manifest) -> bool:
    # Nearly none is, and the kind alone shows it.
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
    """By definition among the manifests, the kind that it defines."""
    return {
        ObjectRef.of(manifest): _defined(manifest)[0]
        for manifest in manifests
        if _is_definition(manifest)
    }


DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
NAMESPACE = GroupKind("", "Namespace")


def place(
    documents: Sequence[Document],
    namespaced: Mapping[GroupKind, bool],
    instance: str,
    namespace: str,
    namespace_mode: str = "default",
    labels: Mapping[str, str] | None = None,
) -> tuple[PlacedManifest, ...]:
    """Every manifest with its namespace and the label of the instance.

    :param namespace_mode: what to do about a manifest that names another, as
        in ``policy.Policy``.
    :param labels: that every object gets beside ours.

    Raises PackageInvalid when two documents turn out to be one object with
    different content, or a manifest names a namespace that it may not.
    """
    items: dict[ObjectRef, PlacedManifest] = {}
    problems = []
    meant = [document.manifest["metadata"] for document in documents]
    origin: dict[ObjectRef, str] = {}
    if namespace_mode == "force":
        documents = namespace_override.override_namespace(
            documents, namespaced, namespace
        )
    for document, written in zip(documents, meant, strict=True):
        manifest = document.manifest
        # The server drops a mapping that is empty, and would take each
        # further apply of it for a change.
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
                        f"{named}; all of this package has to go to "
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
        twin = items.get(item.ref)
        # Manifests that name different namespaces are two objects.
        source = written.get("namespace") or namespace
        same = source == origin.setdefault(item.ref, source)
        if twin and same and twin.manifest == item.manifest:
            continue
        if twin:
            problems.append(
                Problem(item.where, f"{item.ref} is already in {twin.where}")
            )
        items[item.ref] = item
    if problems:
        raise errors.PackageInvalid(problems)
    return tuple(items.values())


def addressed(
    documents: Sequence[Document],
    namespaced: Mapping[GroupKind, bool],
    namespace: str,
    namespace_mode: str = "default",
) -> tuple[PlacedManifest, ...]:
    """Manifests that the server answers and does not keep, with a namespace.

    They get no label: the server refuses reviews with any metadata.

    :param namespace_mode: as for ``place``, except ``strict``: no object is
        stored in the namespace that one names.
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
    """Asking for so many replicas, or with None not saying how many."""
    return dataclasses.replace(
        item, manifest=set_field(item.manifest, path, number)
    )


def set_field(obj: Manifest, path: Path, value: Any) -> Manifest:
    """The object with the value at the path; with None without the field."""
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
