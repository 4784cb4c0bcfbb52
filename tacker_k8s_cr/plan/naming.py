"""Names for objects whose manifests have only ``generateName``.

The server would give such an object another name at every request. An instance
finds its objects again by name, so the name is chosen before the first request
and kept in the record, by the content of the manifest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import json

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.package import Document

LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""Of which Kubernetes makes the end of a name: no vowels, so no words."""

RANDOM = 5
LONGEST = 63 - RANDOM
"""Characters of the end, and of a prefix; the rest of a longer prefix is cut,
as Kubernetes does (its package apiserver, storage/names)."""


def named(
    documents: Sequence[Document],
    known: Mapping[str, str],
    fresh: Callable[[], str],
) -> tuple[tuple[Document, ...], dict[str, str]]:
    """Return the documents, all with names, and the names by their keys.

    Documents with the same content are distinguished by their order.

    :param known: names that were given before, by key. A manifest that is the
        same again has the same name.
    :param fresh: returns the suffix of a new name.
    """
    found: list[Document] = []
    names: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for document in documents:
        metadata = document.manifest["metadata"]
        prefix = metadata.get("generateName")
        if metadata.get("name") or not prefix:
            found.append(document)
            continue
        digest = _digest(document.manifest)
        key = f"{digest}.{seen[digest]}"
        seen[digest] += 1
        names[key] = known.get(key) or f"{prefix[:LONGEST]}{fresh()}"
        manifest = _with_name(document.manifest, names[key])
        found.append(dataclasses.replace(document, manifest=manifest))
    return tuple(found), names


def _digest(manifest: Manifest) -> str:
    text = json.dumps(manifest, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _with_name(manifest: Manifest, name: str) -> Manifest:
    metadata = {
        key: value
        for key, value in manifest["metadata"].items()
        if key != "generateName"
    }
    return {**manifest, "metadata": {**metadata, "name": name}}


def nameless(documents: Sequence[Document]) -> list[Document]:
    """Those that have neither a name nor a prefix of one."""
    return [
        document
        for document in documents
        if not objects.field(document.manifest, ("metadata", "name"))
        and not objects.field(document.manifest, ("metadata", "generateName"))
    ]
