"""What becomes of fields that other managers own: fail, force or ignore."""

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


def strategy_for(manifest: Manifest, usual: str) -> str:
    """Return the strategy in an object's annotation, or else the default."""
    return objects.annotation(manifest, "field-conflicts") or usual


def apply_with_strategy(
    send: Callable[[Manifest, bool], Sent],
    manifest: Manifest,
    way: str,
    count: str = "",
    left: Callable[[Mapping[str, str]], None] = lambda fields: None,
) -> Sent:
    """Send a manifest; with ``ignore`` without fields of other managers.

    :param send: accepts the manifest, and whether to force conflicts.
    :param count: a replica count that is sent as it was last seen. If another
        field manager owns it by now, an autoscaler has changed it, and it is
        left out with every strategy.
    :param left: called with the fields that are left out, and their managers.

    Raises FieldConflict where that does not help.
    """
    while True:
        try:
            return send(manifest, way == FORCE and not count)
        except errors.FieldConflict as error:
            if count:
                moved, count = {count} & error.fields.keys(), ""
                if moved or way == FORCE:
                    manifest = drop_fields(manifest, moved)
                    left({path: error.fields[path] for path in moved})
                    continue
            less = drop_fields(manifest, error.fields)
            if way != IGNORE or less == manifest:
                raise
            left(error.fields)
            manifest = less


def drop_fields(manifest: Manifest, paths: Iterable[str]) -> Manifest:
    """Return the manifest without these fields, as the server names them.

    A path is written ``spec.containers[name="a"].image``. A name may contain
    dots: the manifest determines where it ends. Missing fields are skipped.
    """
    changed: Any = manifest
    for path in paths:
        changed = _cut(changed, path if path[:1] == "[" else f".{path}")
    found: Manifest = changed
    return found


def _cut(value: Any, path: str) -> Any:
    """A part of a manifest without the field at the path below it."""
    if path.startswith(".") and isinstance(value, Mapping):
        for key in sorted(value, key=len, reverse=True):
            rest = path[1 + len(key) :]
            if path[1:].startswith(key) and rest[:1] in ("", ".", "["):
                others = {k: v for k, v in value.items() if k != key}
                if not rest:
                    return others
                return {**value, key: _cut(value[key], rest)}
        return value
    if path.startswith("[") and isinstance(value, list | tuple):
        wanted, rest = _selected(path)
        return [
            item if not wanted(item, index) else _cut(item, rest)
            for index, item in enumerate(value)
            if rest or not wanted(item, index)
        ]
    return value


def _selected(path: str) -> tuple[Callable[[Any, int], bool], str]:
    """Which items of a list the path begins with, and the path below."""
    if found := re.match(r"\[(\d+)\]", path):
        number = int(found[1])
        return lambda _, index: index == number, path[found.end() :]
    keys: dict[str, Any] = {}
    at = 1
    decoder = json.JSONDecoder()
    while found := re.compile(r"([^=\]]*)=").match(path, at):
        try:
            keys[found[1]], at = decoder.raw_decode(path, found.end())
        except ValueError:
            break
        at += path[at : at + 1] == ","
    rest = path[at + 1 :]
    if path[at : at + 1] != "]" or not keys:
        return lambda *_: False, path

    def wanted(item: Any, _: int) -> bool:
        if "" in keys:
            return bool(item == keys[""])
        return isinstance(item, Mapping) and all(
            # The server fills in a key that the manifest leaves out.
            item.get(key, value) == value
            for key, value in keys.items()
        )

    return wanted, rest
