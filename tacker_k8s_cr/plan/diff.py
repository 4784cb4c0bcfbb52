"""Which fields of an object differ, and how; no secret is in it."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
from typing import Any

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import redaction
from tacker_k8s_cr.model.objects import Manifest

LONGEST = 80
"""Characters of a value that are shown."""

Step = str | int
Where = tuple[Step, ...]
"""Where a field stands; an item of a list by its name, or by its number."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """A field that differs.

    :param where: the steps of the path.
    :param before: its value as JSON, cut short and without secrets; None where
        it did not exist.
    :param after: likewise.
    """

    path: str
    before: str | None
    after: str | None
    where: Where = dataclasses.field(default=(), repr=False)

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.path}: new: {self.after}"
        if self.after is None:
            return f"{self.path}: was {self.before}, goes"
        return f"{self.path}: {self.before} -> {self.after}"

    def as_dict(self) -> dict[str, str | None]:
        return {"path": self.path, "before": self.before, "after": self.after}


def diff(before: Manifest, after: Manifest) -> tuple[Difference, ...]:
    """How an object differs from what it is to be.

    What the server or a controller writes is left out.
    """
    kind = str(after.get("kind") or before.get("kind") or "")
    raw = tuple(_differing(_own(before), _own(after), ()))
    if not raw:
        return ()
    secrets = redaction.known_secrets(kind, before, after)

    def shown(value: Any) -> str | None:
        if value is _ABSENT:
            return None
        text = redaction.remove_secrets(_text(value), secrets)
        if len(text) > LONGEST:
            return f"{text[:LONGEST]}... ({len(text)} characters)"
        return text

    return tuple(
        Difference(_path(where), shown(old), shown(new), where)
        for where, old, new in raw
    )


_ABSENT = object()


def _own(obj: Manifest) -> dict[str, Any]:
    """An object without what is not its author's."""
    found = {key: value for key, value in obj.items() if key != "status"}
    metadata = found.get("metadata")
    if isinstance(metadata, Mapping):
        found["metadata"] = {
            key: value
            for key, value in metadata.items()
            if key not in objects.SERVER_SET
            and not (
                # It holds a whole manifest, which other fields show.
                key == "annotations"
                and isinstance(value, Mapping)
                and set(value) <= {redaction.LAST_APPLIED}
            )
        }
    return found


def _differing(
    before: Any, after: Any, where: Where
) -> Iterator[tuple[Where, Any, Any]]:
    """The smallest parts that differ, in the order of their names."""
    if before == after:
        return
    if before is _ABSENT and isinstance(after, Mapping) and after:
        before = {}
    if after is _ABSENT and isinstance(before, Mapping) and before:
        after = {}
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}, key=str):
            if key == redaction.LAST_APPLIED:
                continue
            yield from _differing(
                before.get(key, _ABSENT),
                after.get(key, _ABSENT),
                (*where, str(key)),
            )
        return
    if _is_list(before) and _is_list(after):
        old, new = _named(before), _named(after)
        if old is not None and new is not None:
            for step in sorted({*old, *new}, key=str):
                yield from _differing(
                    old.get(step, _ABSENT),
                    new.get(step, _ABSENT),
                    (*where, step),
                )
            return
    yield where, before, after


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _named(items: Sequence[Any]) -> dict[Step, Any] | None:
    """The items of a list of mappings by name or class, or else by number.

    None for a list of plain values, which is one value.
    """
    if not all(isinstance(item, Mapping) for item in items):
        return None
    for key in KEYS:
        names = [item.get(key) for item in items]
        if len(set(map(str, names))) == len(names) and all(
            isinstance(name, str) for name in names
        ):
            return {
                to_item(key, name): item
                for name, item in zip(names, items, strict=True)
            }
    return dict(enumerate(items))


KEYS = ("name", "class")
"""Keys that identify the items of a list; the second identifies the workers of
a ClusterClass."""


def to_item(key: str, name: object) -> str:
    """The step of a path to the item of a list that bears a name."""
    return f"[{key}={json.dumps(name)}]"


def _path(where: Where) -> str:
    text = ""
    for step in where:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.startswith(tuple(f"[{key}=" for key in KEYS)):
            text += step
        else:
            # A name with dots in it would look like several.
            quoted = "." in step or "/" in step
            text += f"[{json.dumps(step)}]" if quoted else f".{step}"
    return text.lstrip(".")


def _text(value: Any) -> str:
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, default=str
    ).strip('"')


def merge_locally(obj: Any, manifest: Any) -> Any:
    """Merge a manifest into an object locally, when no dry run is available.

    Fields that only another manager has set stay; none is removed.
    """
    if isinstance(obj, Mapping) and isinstance(manifest, Mapping):
        return {
            **obj,
            **{
                key: merge_locally(obj.get(key), value)
                for key, value in manifest.items()
            },
        }
    if _is_list(obj) and _is_list(manifest):
        old, new = _named(obj), _named(manifest)
        if old and new:
            both = {
                **old,
                **{k: merge_locally(old.get(k), new[k]) for k in new},
            }
            return list(both.values())
    return manifest
