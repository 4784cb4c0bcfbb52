"""What becomes of fields that other managers own: fail, take or leave."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import json
import re
from typing import Any, TypeVar

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.objects import Manifest

FAIL, TAKE, LEAVE = "fail", "take", "leave"
WAYS = (FAIL, TAKE, LEAVE)

Sent = TypeVar("Sent")


def way(manifest: Manifest, usual: str) -> str:
    """What an object's annotation says, or else what is usual."""
    return objects.annotation(manifest, "conflict") or usual


def sent(
    send: Callable[[Manifest, bool], Sent],
    manifest: Manifest,
    way: str,
    count: str = "",
    left: Callable[[Mapping[str, str]], None] = lambda fields: None,
) -> Sent:
    """Send a manifest; with ``leave`` without what turns out to be others'.

    :param send: takes the manifest, and whether to take fields from others.
    :param count: a number that is sent as it was last seen. If it is not
        ours any more, an autoscaler has moved it, and it is left out
        whatever else is asked for.
    :param left: told which fields are left out, and to whom they are left.

    Raises Conflict where that does not help.
    """
    while True:
        try:
            return send(manifest, way == TAKE and not count)
        except errors.Conflict as error:
            if count:
                moved, count = {count} & error.fields.keys(), ""
                if moved or way == TAKE:
                    manifest = without(manifest, moved)
                    left({path: error.fields[path] for path in moved})
                    continue
            less = without(manifest, error.fields)
            if way != LEAVE or less == manifest:
                raise
            left(error.fields)
            manifest = less


def without(manifest: Manifest, paths: Iterable[str]) -> Manifest:
    """The manifest without these fields, as the server names them.

    A path is written ``spec.containers[name="a"].image``. A name may hold
    dots: the manifest tells where it ends. What is not there is passed over.
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
