"""A manifest that changes nothing of the object that exists.

An object that another manager created and changed may differ from its
manifest. To own it without changing it, what differs is taken from the object.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr.model.objects import Manifest

_APART = ("apiVersion", "kind", "metadata", "status")
_MISSING = object()


def with_live_values(
    manifest: Manifest, obj: Manifest, ours: Collection[str] = ()
) -> tuple[Manifest, tuple[str, ...]]:
    """The manifest with the object's values, and the paths that differed.

    What the object does not have is left out. A list of which the object has
    another number of items, or other names of items, is the object's.

    :param ours: labels that stay as the manifest has them.
    """
    paths: list[str] = []
    found: dict[str, Any] = {}
    for key, value in manifest.items():
        if key in _APART:
            found[key] = value
            continue
        taken = _taken(value, obj.get(key, _MISSING), key, paths)
        if taken is not _MISSING:
            found[key] = taken
    metadata = dict(manifest["metadata"])
    for part in ("labels", "annotations"):
        live = dict(obj["metadata"].get(part) or {})
        if said := metadata.get(part):
            live.update({key: said[key] for key in ours if key in said})
            metadata[part] = _taken(said, live, f"metadata.{part}", paths)
    return {**found, "metadata": metadata}, tuple(paths)


def _taken(value: Any, live: Any, path: str, paths: list[str]) -> Any:
    if value == live:
        return live
    if live is _MISSING:
        paths.append(path)
        return _MISSING
    if isinstance(value, Mapping) and isinstance(live, Mapping):
        found = {
            key: _taken(item, live.get(key, _MISSING), f"{path}.{key}", paths)
            for key, item in value.items()
        }
        return {k: v for k, v in found.items() if v is not _MISSING}
    if isinstance(value, list) and isinstance(live, list):
        pairs = _pairs(value, live)
        if pairs is None:
            paths.append(path)
            return live
        return [
            _taken(item, other, f"{path}[{at}]", paths)
            for at, item, other in pairs
        ]
    if value != live:
        paths.append(path)
    return live


def _pairs(
    items: list[Any], live: list[Any]
) -> list[tuple[str, Any, Any]] | None:
    """Items of two lists that belong together; None where that is not clear.

    By their names where all have one, else by their place.
    """
    if len(items) != len(live):
        return None
    names = [_name(item) for item in items]
    others = {_name(item): item for item in live}
    if all(names) and set(names) == others.keys():
        return [
            (name, item, others[name])
            for name, item in zip(names, items, strict=True)
        ]
    if any(names) or any(others):
        return None
    numbered = enumerate(zip(items, live, strict=True))
    return [(str(at), item, other) for at, (item, other) in numbered]


def _name(item: Any) -> str:
    name = item.get("name") if isinstance(item, Mapping) else ""
    return name if isinstance(name, str) else ""
