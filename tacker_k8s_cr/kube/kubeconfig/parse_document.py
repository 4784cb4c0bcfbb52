"""Parse the text of a kubeconfig; no error contains a value of it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import os
from typing import Any

import yaml

from tacker_k8s_cr.model.errors import KubeconfigInvalid

Reader = Callable[[str], bytes]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

FILES = ("certificate-authority", "client-certificate", "client-key")


def read_text(read: Reader, path: str) -> str:
    return read(path).decode()


def describe_read_error(error: Exception) -> str:
    """Return why a file could not be read, without any of its content."""
    if isinstance(error, OSError):
        return f"{error.filename or 'file'}: {error.strerror}"
    return "it is not text"


def parse_document(text: str, where: str, directory: str) -> dict[str, Any]:
    """Parse the text, and make its file names absolute."""
    try:
        document = yaml.load(text, Loader=_LOADER)  # noqa: S506  safe
    except (yaml.YAMLError, ValueError) as error:
        # The parser's message would contain the invalid line.
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        raise KubeconfigInvalid(where, f"it is not YAML{line}") from None
    if not isinstance(document, dict) or not document.get("clusters"):
        raise KubeconfigInvalid(where, "it is not a kubeconfig with clusters")
    for part, key in (("clusters", "cluster"), ("users", "user")):
        for item in items_by_name(document, part, where).values():
            fields = fields_of(item, key, where, part)
            for name in ("tokenFile", *FILES):
                if isinstance(fields.get(name), str):
                    fields[name] = os.path.join(directory, fields[name])
    return document


def items_by_name(
    document: Mapping[str, Any], part: str, where: str
) -> dict[str, Mapping[str, Any]]:
    items = document.get(part) or []
    if not isinstance(items, list) or not all(
        isinstance(item, dict) and isinstance(item.get("name"), str)
        for item in items
    ):
        raise KubeconfigInvalid(where, f"{part}: not a list of named items")
    return {item["name"]: item for item in reversed(items)}


def fields_of(
    item: Mapping[str, Any], key: str, where: str, subject: str
) -> dict[str, Any]:
    fields = item.get(key) or {}
    if not isinstance(fields, dict):
        raise KubeconfigInvalid(where, f"{subject}: {key} is not a mapping")
    return fields
