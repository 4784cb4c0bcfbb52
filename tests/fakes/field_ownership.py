"""Who owns which field: server-side apply, as far as the tests need it.

A path is a tuple of keys. A list of named mappings is one of items by
name, any other list is one value.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import json
from typing import Any

Path = tuple[str, ...]

_NOT_OWNED = {
    ("apiVersion",),
    ("kind",),
    ("metadata", "name"),
    ("metadata", "namespace"),
    ("metadata", "uid"),
    ("metadata", "resourceVersion"),
    ("metadata", "generation"),
    ("metadata", "creationTimestamp"),
    ("metadata", "deletionTimestamp"),
}


def with_copied_fields(value: Any) -> Any:
    """A copy of plain values, ten times faster than the general one."""
    if isinstance(value, Mapping):
        return {key: with_copied_fields(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_copied_fields(item) for item in value]
    return value


def leaf_paths(value: Any, path: Path = ()) -> dict[Path, Any]:
    """Every field that has a value, by path."""
    if path in _NOT_OWNED or path[:2] == ("metadata", "managedFields"):
        return {}
    if isinstance(value, Mapping) and value:
        items = list(value.items())
    elif _named(value):
        items = [(_key(item), item) for item in value]
    else:
        return {path: value}
    found: dict[Path, Any] = {}
    for key, item in items:
        found.update(leaf_paths(item, (*path, key)))
    return found


def merge(obj: Any, wanted: Any) -> Any:
    """The object with all that is applied in it."""
    if isinstance(obj, Mapping) and isinstance(wanted, Mapping):
        changed = {key: merge(obj.get(key), wanted[key]) for key in wanted}
        return {**obj, **changed}
    if _named(obj) and _named(wanted):
        items = {_key(item): item for item in obj}
        for item in wanted:
            items[_key(item)] = merge(items.get(_key(item)), item)
        return list(items.values())
    return with_copied_fields(wanted)


def remove_fields(obj: Any, path: Path) -> Any:
    """The object without one field, and without what that leaves empty."""
    key, *rest = path
    if isinstance(obj, list):
        if not _named(obj):
            # The list was replaced as one value; the item went with it.
            return obj
        items = {_key(item): item for item in obj}
        items[key] = (
            remove_fields(items.get(key, {}), tuple(rest)) if rest else {}
        )
        return [item for item in items.values() if item]
    if not isinstance(obj, Mapping) or key not in obj:
        return obj
    inner = remove_fields(obj[key], tuple(rest)) if rest else None
    kept = {name: value for name, value in obj.items() if name != key}
    return {**kept, key: inner} if inner else kept


def apply_patch(obj: Any, patch: Any) -> Any:
    """JSON merge patch (RFC 7396)."""
    if not isinstance(patch, Mapping):
        return with_copied_fields(patch)
    start = dict(obj) if isinstance(obj, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            start.pop(key, None)
        else:
            start[key] = apply_patch(start.get(key), value)
    return start


def format_path(path: Path) -> str:
    """As the server names a field: ``spec.containers[name="a"].image``."""
    text = ""
    for key in path:
        text += f'[name="{key[2:]}"]' if key.startswith("k:") else f".{key}"
    return text.removeprefix(".")


def fields_v1(paths: Iterable[Path]) -> dict[str, Any]:
    """As ``managedFields`` holds them."""
    root: dict[str, Any] = {}
    for path in sorted(paths):
        at = root
        for key in path:
            if key.startswith("k:"):
                item = {"name": key[2:]}
                name = "k:" + json.dumps(item, separators=(",", ":"))
                # The item itself is owned as well as what is in it.
                at = at.setdefault(name, {".": {}})
            else:
                at = at.setdefault(f"f:{key}", {})
    return root


def _named(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, Mapping) and "name" in item for item in value)
    )


def _key(item: Mapping[str, Any]) -> str:
    return f"k:{item['name']}"
