"""Strategies for fields of other managers: fail, force or ignore."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import json
import re
from typing import Any, TypeVar

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest

FAIL, FORCE, IGNORE = "fail", "force", "ignore"
STRATEGIES = (FAIL, FORCE, IGNORE)

Sent = TypeVar("Sent")


def strategy_for(manifest: Manifest, default: str) -> str:
    """Return the strategy in an object's annotation, or else the default."""
    return objects.annotation(manifest, "field-conflicts") or default


def apply_with_strategy(
    send: Callable[[Manifest, bool], Sent],
    manifest: Manifest,
    strategy: str,
    count: str = "",
    on_ignored: Callable[[Mapping[str, str]], None] = lambda fields: None,
) -> Sent:
    """Send a manifest; with ``ignore`` without fields of other managers.

    :param send: accepts the manifest, and whether to force conflicts.
    :param count: path of a replica count that is sent as last read. If
        another field manager owns it by now, an autoscaler has changed it,
        and it is left out with every strategy.
    :param on_ignored: called with the fields that are left out, and their
        managers.

    Raises FieldConflict if the conflict cannot be resolved in this way.
    """
    while True:
        try:
            return send(manifest, strategy == FORCE and not count)
        except errors.FieldConflict as error:
            if count:
                managed_elsewhere, count = {count} & error.fields.keys(), ""
                if managed_elsewhere or strategy == FORCE:
                    manifest = drop_fields(manifest, managed_elsewhere)
                    on_ignored(
                        {
                            path: error.fields[path]
                            for path in managed_elsewhere
                        }
                    )
                    continue
            reduced = drop_fields(manifest, error.fields)
            if strategy != IGNORE or reduced == manifest:
                raise
            on_ignored(error.fields)
            manifest = reduced


def drop_fields(manifest: Manifest, paths: Iterable[str]) -> Manifest:
    """Return the manifest without these fields, as the server names them.

    A path is written ``spec.containers[name="a"].image``. A name may contain
    dots: the manifest determines where it ends. Missing fields are skipped.
    """
    changed: Any = manifest
    for path in paths:
        changed = _without_path(
            changed, path if path[:1] == "[" else f".{path}"
        )
    found: Manifest = changed
    return found


def _without_path(value: Any, path: str) -> Any:
    """Return a part of a manifest without the field at a path."""
    if path.startswith(".") and isinstance(value, Mapping):
        for key in sorted(value, key=len, reverse=True):
            remainder = path[1 + len(key) :]
            if path[1:].startswith(key) and remainder[:1] in ("", ".", "["):
                other_fields = {k: v for k, v in value.items() if k != key}
                if not remainder:
                    return other_fields
                return {**value, key: _without_path(value[key], remainder)}
        return value
    if path.startswith("[") and isinstance(value, list | tuple):
        is_selected, remainder = _item_selector(path)
        return [
            item
            if not is_selected(item, index)
            else _without_path(item, remainder)
            for index, item in enumerate(value)
            if remainder or not is_selected(item, index)
        ]
    return value


def _item_selector(path: str) -> tuple[Callable[[Any, int], bool], str]:
    """Return a predicate for the selected list items, and the rest path."""
    if found := re.match(r"\[(\d+)\]", path):
        number = int(found[1])
        return lambda _, index: index == number, path[found.end() :]
    keys: dict[str, Any] = {}
    position = 1
    decoder = json.JSONDecoder()
    while found := re.compile(r"([^=\]]*)=").match(path, position):
        try:
            keys[found[1]], position = decoder.raw_decode(path, found.end())
        except ValueError:
            break
        position += path[position : position + 1] == ","
    remainder = path[position + 1 :]
    if path[position : position + 1] != "]" or not keys:
        return lambda *_: False, path

    def is_selected(item: Any, _: int) -> bool:
        if "" in keys:
            return bool(item == keys[""])
        return isinstance(item, Mapping) and all(
            # The server fills in a key that the manifest leaves out.
            item.get(key, value) == value
            for key, value in keys.items()
        )

    return is_selected, remainder
