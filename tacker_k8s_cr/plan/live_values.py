"""Adjust a manifest so that applying it does not change the live object.

An object that another manager created and changed may differ from its
manifest. To own it without changing it, differing values are copied from it.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr.model.objects import Manifest

_NOT_COMPARED = ("apiVersion", "kind", "metadata", "status")
_MISSING = object()


def with_live_values(
    manifest: Manifest, obj: Manifest, instance_labels: Collection[str] = ()
) -> tuple[Manifest, tuple[str, ...]]:
    """Return the manifest with live values, and the paths that differed.

    Fields that the object does not have are left out. A list whose live
    counterpart has a different length or different item names is replaced.

    :param instance_labels: labels whose values are those of the manifest.
    """
    paths: list[str] = []
    found: dict[str, Any] = {}
    for key, value in manifest.items():
        if key in _NOT_COMPARED:
            found[key] = value
            continue
        live_value = _live_value(value, obj.get(key, _MISSING), key, paths)
        if live_value is not _MISSING:
            found[key] = live_value
    metadata = dict(manifest["metadata"])
    for part in ("labels", "annotations"):
        live = dict(obj["metadata"].get(part) or {})
        if authored := metadata.get(part):
            live.update(
                {
                    key: authored[key]
                    for key in instance_labels
                    if key in authored
                }
            )
            metadata[part] = _live_value(
                authored, live, f"metadata.{part}", paths
            )
    return {**found, "metadata": metadata}, tuple(paths)


def _live_value(value: Any, live: Any, path: str, paths: list[str]) -> Any:
    if value == live:
        return live
    if live is _MISSING:
        paths.append(path)
        return _MISSING
    if isinstance(value, Mapping) and isinstance(live, Mapping):
        found = {
            key: _live_value(
                item, live.get(key, _MISSING), f"{path}.{key}", paths
            )
            for key, item in value.items()
        }
        return {k: v for k, v in found.items() if v is not _MISSING}
    if isinstance(value, list) and isinstance(live, list):
        pairs = _pairs(value, live)
        if pairs is None:
            paths.append(path)
            return live
        return [
            _live_value(item, live_item, f"{path}[{key}]", paths)
            for key, item, live_item in pairs
        ]
    if value != live:
        paths.append(path)
    return live


def _pairs(
    items: list[Any], live: list[Any]
) -> list[tuple[str, Any, Any]] | None:
    """Pair the items of two lists; None if the pairs are ambiguous.

    Items are paired by name if all have one, otherwise by index.
    """
    if len(items) != len(live):
        return None
    names = [_name(item) for item in items]
    live_items = {_name(item): item for item in live}
    if all(names) and set(names) == live_items.keys():
        return [
            (name, item, live_items[name])
            for name, item in zip(names, items, strict=True)
        ]
    if any(names) or any(live_items):
        return None
    numbered = enumerate(zip(items, live, strict=True))
    return [(str(key), item, live_item) for key, (item, live_item) in numbered]


def _name(item: Any) -> str:
    name = item.get("name") if isinstance(item, Mapping) else ""
    return name if isinstance(name, str) else ""
