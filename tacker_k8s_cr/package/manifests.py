"""From the documents of files to the manifests of a package, all checked.

Errors are collected, never raised: they are reported together.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import re
from typing import Any

from tacker_k8s_cr import kinds
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.package.documents import ParsedDocument
from tacker_k8s_cr.package.yaml_text import Written

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_API_VERSION = re.compile(rf"({_LABEL}(\.{_LABEL})*/)?{_LABEL}")
_NAMESPACE = re.compile(rf"{_LABEL}")
_KIND = re.compile(r"[A-Za-z0-9]+")

_NAMES: dict[type, str] = {
    bool: "a boolean",
    dict: "a mapping",
    float: "a number",
    int: "a number",
    list: "a sequence",
    str: "a string",
    type(None): "empty",
}


@dataclasses.dataclass
class Checked:
    """Documents, their faults, and warnings for their author.

    A warning does not stop an operation.
    """

    documents: list[Document] = dataclasses.field(default_factory=list)
    problems: list[Problem] = dataclasses.field(default_factory=list)
    warnings: list[Problem] = dataclasses.field(default_factory=list)


def read(found: Sequence[ParsedDocument], file: str) -> Checked:
    """The manifests of a file's documents, lists taken apart."""
    checked = Checked()
    several = len(found) > 1
    for item in found:
        where = f"{file}, document {item.number}" if several else file
        for value, place in _items(item.value, where):
            faults = _faults(value, item.written)
            checked.problems += [Problem(place, fault) for fault in faults]
            if not faults:
                checked.documents.append(
                    Document(_without_server_fields(value), place)
                )
                warnings = _server_set_fields(value.get("metadata") or {})
                checked.warnings += [Problem(place, w) for w in warnings]
    return checked


def without_duplicates(documents: Iterable[Document]) -> Checked:
    """Every object once; of the same manifest twice, the first.

    An object without a namespace, and one in the namespace that the first
    will get, can only be compared where that namespace is known.
    """
    first: dict[ObjectRef, Document] = {}
    checked = Checked()
    for document in documents:
        ref = ObjectRef.of(document.manifest)
        twin = first.get(ref) if ref.name else None
        if twin is None:
            first[ref] = document
            checked.documents.append(document)
            continue
        what = f"{ref} is there twice; the first is in {twin.where}"
        if document.manifest == twin.manifest:
            warning = f"{what}, with the same content"
            checked.warnings.append(Problem(document.where, warning))
        else:
            what = f"{what}, with different content; remove one of them"
            checked.problems.append(Problem(document.where, what))
    return checked


# -- Lists --------------------------------------------------------------------


def _items(value: Any, where: str) -> Iterator[tuple[Any, str]]:
    """The value, or the items of it where it is a list such as kubectl's.

    The items of a typed list need not repeat its kind: a ConfigMapList
    holds ConfigMaps of the same apiVersion.
    """
    if not _is_list(value):
        yield value, where
        return
    kind = value["kind"].removesuffix("List")
    implied = (
        {"apiVersion": value.get("apiVersion"), "kind": kind} if kind else {}
    )
    for number, item in enumerate(value["items"] or (), 1):
        whole = {**implied, **item} if isinstance(item, dict) else item
        yield from _items(whole, f"{where}, item {number}")


def _is_list(value: Any) -> bool:
    if not isinstance(value, dict) or "items" not in value:
        return False
    kind, metadata = value.get("kind"), value.get("metadata")
    return (
        isinstance(kind, str)
        and kind.endswith("List")
        and isinstance(value["items"], list | None)
        and not (isinstance(metadata, dict) and metadata.get("name"))
    )


# -- Checks -------------------------------------------------------------------


def _faults(value: Any, written: Written) -> list[str]:
    if not isinstance(value, dict):
        return [f"is {_name(value)}, wanted a mapping with kind and name"]
    metadata = value.get("metadata")
    if not isinstance(metadata, dict | None):
        return [f"metadata is {_name(metadata)}, wanted a mapping"]
    metadata = metadata or {}
    identity = {
        "apiVersion": value.get("apiVersion"),
        "kind": value.get("kind"),
        "metadata.name": metadata.get("name"),
        "metadata.generateName": metadata.get("generateName"),
        "metadata.namespace": metadata.get("namespace"),
    }
    return [
        *_missing_fields(identity, metadata),
        *(
            fault
            for item in identity.items()
            for fault in _malformed_reason(*item)
        ),
        *_text_problems(metadata, "labels", written),
        *_text_problems(metadata, "annotations", written),
    ]


def _missing_fields(
    identity: Mapping[str, Any], metadata: Mapping[str, Any]
) -> Iterator[str]:
    missing = [
        field
        for field, value in identity.items()
        if value in (None, "") and field not in _OPTIONAL
    ]
    named = (identity["metadata.name"], metadata.get("generateName"))
    # What an object of another kind needs, only a server can say.
    if not any(named) and (missing or _is_built_in(identity)):
        missing.append("metadata.name")
    if missing:
        yield f"missing {', '.join(missing)}"


_OPTIONAL = (
    "metadata.name",
    "metadata.generateName",
    "metadata.namespace",
)


def _is_built_in(identity: Mapping[str, Any]) -> bool:
    """Whether it is a kind of which we know that its objects have names."""
    group, _ = objects.split_api_version(str(identity["apiVersion"]))
    kind = objects.GroupKind(group, str(identity["kind"]))
    return kinds.BUILT_IN.find(kind) is not None


def _malformed_reason(field: str, value: Any) -> Iterator[str]:
    """What would not be sent as it is meant, or would not fit into a URL."""
    if value is None or value == "":
        return
    if not isinstance(value, str):
        hint = "" if isinstance(value, dict | list) else "; put it in quotes"
        yield f"{field} is {_name(value)}, wanted a string{hint}"
    elif field == "apiVersion" and not _API_VERSION.fullmatch(value):
        yield f"apiVersion {value!r} is neither version nor group/version"
    elif field == "kind" and not _KIND.fullmatch(value):
        yield f"kind {value!r} is not a word of letters and digits"
    elif field in ("metadata.name", "metadata.generateName") and (
        value in (".", "..") or "/" in value or "%" in value
    ):
        yield f"{field} {value!r}: no object can have this name"
    elif field == "metadata.namespace" and (
        len(value) > 63 or not _NAMESPACE.fullmatch(value)
    ):
        yield f"metadata.namespace {value!r}: no namespace can have this name"


def _text_problems(
    metadata: Mapping[str, Any], field: str, written: Written
) -> Iterator[str]:
    """Labels and annotations are strings; 1.0 and yes without quotes not."""
    texts = metadata.get(field)
    if not isinstance(texts, dict | None):
        yield f"metadata.{field} is {_name(texts)}, wanted a mapping"
        return
    for name, value in (texts or {}).items():
        if not isinstance(value, str | None):
            shown = written.get((id(texts), name), name)
            key = f", and the key, which is read as {name!r}"
            yield (
                f"metadata.{field}.{shown} is {_name(value)}, expected a "
                f"string; put it in quotes{key if shown != name else ''}"
            )


def _server_set_fields(metadata: Mapping[str, Any]) -> Iterator[str]:
    found = [name for name in objects.SERVER_SET if metadata.get(name)]
    if found:
        yield (
            f"metadata.{', metadata.'.join(found)}: ignored, since only a "
            "server sets it; the manifest was read from a cluster"
        )


def _name(value: Any) -> str:
    return _NAMES.get(type(value), type(value).__name__)


def _without_server_fields(value: Mapping[str, Any]) -> Manifest:
    """Without what a server sets: the status, and fields of metadata.

    Code generators write ``creationTimestamp: null``, and what ``kubectl
    get`` prints has a status and a UID; the server ignores most of these
    fields when it creates an object.
    """
    metadata = {
        name: content
        for name, content in (value.get("metadata") or {}).items()
        if name not in objects.SERVER_SET
    }
    manifest = {**value, "metadata": metadata}
    manifest.pop("status", None)
    return manifest
