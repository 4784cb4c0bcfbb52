"""Names for objects whose manifests have only ``generateName``.

The server would give such an object another name at every request. An instance
finds its objects by name, so the name is chosen before the first request and
recorded, by the content of the manifest.
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
"""Characters of a generated suffix, as in Kubernetes: no vowels, no words."""

RANDOM = 5
LONGEST = 63 - RANDOM
"""Length of a suffix, and maximum length of a prefix; a longer one is cut, as
in Kubernetes (apiserver, storage/names)."""


def with_names(
    documents: Sequence[Document],
    known: Mapping[str, str],
    new_suffix: Callable[[], str],
) -> tuple[tuple[Document, ...], dict[str, str]]:
    """Return the documents, all with names, and the names by their keys.

    Documents with the same content are distinguished by their order.

    :param known: names that were chosen before, by key. An unchanged manifest
        keeps its name.
    :param new_suffix: returns the suffix of a new name.
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
        names[key] = known.get(key) or f"{prefix[:LONGEST]}{new_suffix()}"
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


def unnamed_documents(documents: Sequence[Document]) -> list[Document]:
    """Return the documents with neither a name nor a generateName."""
    return [
        document
        for document in documents
        if not objects.field(document.manifest, ("metadata", "name"))
        and not objects.field(document.manifest, ("metadata", "generateName"))
    ]
