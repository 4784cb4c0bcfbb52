"""Move the objects of a package, and references to them, to a namespace."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import re
from typing import Any

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document

DEPENDS_ON = "depends-on"
"""Annotation with objects that have to be current before this one."""

NamedReference = tuple[str, str, str]
"""Kind, namespace and name, as references between objects name them."""


def override_namespace(
    documents: Sequence[Document],
    namespaced: Mapping[GroupKind, bool],
    namespace: str,
) -> tuple[Document, ...]:
    """Return the documents with all namespaced objects in the namespace.

    References to a moved object are updated: a mapping with kind, namespace
    and name, such as a subject of a RoleBinding or a reference of a Cluster,
    and a ``service`` with namespace and name, such as that of a webhook.
    References to objects outside the package do not change, nor do names
    within a text.
    """
    moved_refs = {
        (kind.kind, old_namespace, ObjectRef.of(document.manifest).name)
        for document in documents
        for kind in (GroupKind.of(document.manifest),)
        for old_namespace in (document.manifest["metadata"].get("namespace"),)
        if old_namespace and old_namespace != namespace and namespaced[kind]
    }
    return tuple(
        dataclasses.replace(
            document,
            manifest=_with_namespace(
                document.manifest, namespaced, moved_refs, namespace
            ),
        )
        for document in documents
    )


def _with_namespace(
    manifest: Manifest,
    namespaced: Mapping[GroupKind, bool],
    moved_refs: Collection[NamedReference],
    namespace: str,
) -> Manifest:
    changed = {
        key: value
        if key == "metadata" or not moved_refs
        else _update_references(value, key, moved_refs, namespace)
        for key, value in manifest.items()
    }
    metadata = dict(manifest["metadata"])
    if namespaced[GroupKind.of(manifest)]:
        metadata["namespace"] = namespace
    if needs := objects.annotation(manifest, DEPENDS_ON):
        metadata["annotations"] = {
            **metadata["annotations"],
            objects.PREFIX + DEPENDS_ON: _update_annotation(
                needs, moved_refs, namespace
            ),
        }
    return {**changed, "metadata": metadata}


def _update_annotation(
    text: str, moved_refs: Collection[NamedReference], namespace: str
) -> str:
    """Return an annotation with the new namespaces of the objects in it."""

    def replacement(match: re.Match[str]) -> str:
        kind, group, old_namespace, name = match.groups("")
        if (kind, old_namespace, name) not in moved_refs:
            return match[0]
        return f"{kind}{group}/{namespace}/{name}"

    return _OBJECT.sub(replacement, text)


_OBJECT = re.compile(r"([^\s,./]+)(\.[^\s,/]+)?/([^\s,/]+)/([^\s,/]+)")


def _update_references(
    value: Any,
    key: str,
    moved_refs: Collection[NamedReference],
    namespace: str,
) -> Any:
    """Return a part of a manifest with updated references."""
    if isinstance(value, list | tuple):
        return [
            _update_references(item, key, moved_refs, namespace)
            for item in value
        ]
    if not isinstance(value, Mapping):
        return value
    changed = {
        name: _update_references(item, name, moved_refs, namespace)
        for name, item in value.items()
    }
    kind = value.get("kind", "Service" if key == "service" else None)
    reference = (kind, value.get("namespace"), value.get("name"))
    # In a schema, fields of these names may have any meaning and type.
    if (
        all(isinstance(part, str) for part in reference)
        and reference in moved_refs
    ):
        changed["namespace"] = namespace
    return changed
