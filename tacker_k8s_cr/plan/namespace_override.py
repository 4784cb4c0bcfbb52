"""Move the objects of a package into one namespace, with what names them."""

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

Place = tuple[str, str, str]
"""Kind, namespace and name, as references between objects name them."""


def override_namespace(
    documents: Sequence[Document],
    namespaced: Mapping[GroupKind, bool],
    namespace: str,
) -> tuple[Document, ...]:
    """The documents, all of whose namespaced objects go to the namespace.

    A reference to an object that moves, moves with it: a mapping that has
    kind, namespace and name, such as a subject of a RoleBinding or what a
    Cluster refers to, and a ``service`` that has namespace and name, such
    as that of a webhook. What names an object that is not of the package
    stays, and so does a name within a text.
    """
    leaving = {
        (kind.kind, found, ObjectRef.of(document.manifest).name)
        for document in documents
        for kind in (GroupKind.of(document.manifest),)
        for found in (document.manifest["metadata"].get("namespace"),)
        if found and found != namespace and namespaced[kind]
    }
    return tuple(
        dataclasses.replace(
            document,
            manifest=_moved(document.manifest, namespaced, leaving, namespace),
        )
        for document in documents
    )


def _moved(
    manifest: Manifest,
    namespaced: Mapping[GroupKind, bool],
    leaving: Collection[Place],
    namespace: str,
) -> Manifest:
    changed = {
        key: value
        if key == "metadata" or not leaving
        else _followed(value, key, leaving, namespace)
        for key, value in manifest.items()
    }
    metadata = dict(manifest["metadata"])
    if namespaced[GroupKind.of(manifest)]:
        metadata["namespace"] = namespace
    if needs := objects.annotation(manifest, DEPENDS_ON):
        metadata["annotations"] = {
            **metadata["annotations"],
            objects.PREFIX + DEPENDS_ON: _renamed(needs, leaving, namespace),
        }
    return {**changed, "metadata": metadata}


def _renamed(text: str, leaving: Collection[Place], namespace: str) -> str:
    """Objects that an annotation names, where they are now."""

    def now(found: re.Match[str]) -> str:
        kind, group, place, name = found.groups("")
        if (kind, place, name) not in leaving:
            return found[0]
        return f"{kind}{group}/{namespace}/{name}"

    return _OBJECT.sub(now, text)


_OBJECT = re.compile(r"([^\s,./]+)(\.[^\s,/]+)?/([^\s,/]+)/([^\s,/]+)")


def _followed(
    value: Any, key: str, leaving: Collection[Place], namespace: str
) -> Any:
    """A part of a manifest, with references to what moves."""
    if isinstance(value, list | tuple):
        return [_followed(item, key, leaving, namespace) for item in value]
    if not isinstance(value, Mapping):
        return value
    changed = {
        name: _followed(item, name, leaving, namespace)
        for name, item in value.items()
    }
    kind = value.get("kind", "Service" if key == "service" else None)
    place = (kind, value.get("namespace"), value.get("name"))
    # In a schema such names may stand for anything.
    if all(isinstance(part, str) for part in place) and place in leaving:
        changed["namespace"] = namespace
    return changed
