"""The differences between two versions of an object, without secrets."""

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

MAX_LENGTH = 80
"""Maximum number of characters of a value."""

Step = str | int
Where = tuple[Step, ...]
"""Path of a field; a list item is identified by name or by index."""


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
            return f"{self.path}: was {self.before}, removed"
        return f"{self.path}: {self.before} -> {self.after}"

    def as_dict(self) -> dict[str, str | None]:
        return {"path": self.path, "before": self.before, "after": self.after}


def diff(before: Manifest, after: Manifest) -> tuple[Difference, ...]:
    """Return the differences between an object and its desired state.

    Fields that the server or a controller writes are left out.
    """
    kind = str(after.get("kind") or before.get("kind") or "")
    raw = tuple(
        _differing(
            _without_server_fields(before), _without_server_fields(after), ()
        )
    )
    if not raw:
        return ()
    secrets = redaction.known_secrets(kind, before, after)

    def format_value(value: Any) -> str | None:
        if value is _ABSENT:
            return None
        text = redaction.remove_secrets(_text(value), secrets)
        if len(text) > MAX_LENGTH:
            return f"{text[:MAX_LENGTH]}... ({len(text)} characters)"
        return text

    return tuple(
        Difference(_path(where), format_value(old), format_value(new), where)
        for where, old, new in raw
    )


_ABSENT = object()


def _without_server_fields(obj: Manifest) -> dict[str, Any]:
    """Return an object without the fields that the server sets."""
    found = {key: value for key, value in obj.items() if key != "status"}
    metadata = found.get("metadata")
    if isinstance(metadata, Mapping):
        found["metadata"] = {
            key: value
            for key, value in metadata.items()
            if key not in objects.SERVER_SET
            and not (
                # It contains the whole manifest: the same differences again.
                key == "annotations"
                and isinstance(value, Mapping)
                and set(value) <= {redaction.LAST_APPLIED}
            )
        }
    return found


def _differing(
    before: Any, after: Any, where: Where
) -> Iterator[tuple[Where, Any, Any]]:
    """Yield the smallest parts that differ, in the order of their names."""
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
        old, new = _items_by_name(before), _items_by_name(after)
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


def _items_by_name(items: Sequence[Any]) -> dict[Step, Any] | None:
    """Return the items of a list of mappings by name, class or index.

    Returns None for a list of scalars, which is compared as one value.
    """
    if not all(isinstance(item, Mapping) for item in items):
        return None
    for key in KEYS:
        names = [item.get(key) for item in items]
        if len(set(map(str, names))) == len(names) and all(
            isinstance(name, str) for name in names
        ):
            return {
                item_step(key, name): item
                for name, item in zip(names, items, strict=True)
            }
    return dict(enumerate(items))


KEYS = ("name", "class")
"""Keys that identify the items of a list; the second identifies the workers of
a ClusterClass."""


def item_step(key: str, name: object) -> str:
    """Return the step of a path to a list item with a name."""
    return f"[{key}={json.dumps(name)}]"


def _path(where: Where) -> str:
    text = ""
    for step in where:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.startswith(tuple(f"[{key}=" for key in KEYS)):
            text += step
        else:
            # A name with dots in it would look like several steps.
            quoted = "." in step or "/" in step
            text += f"[{json.dumps(step)}]" if quoted else f".{step}"
    return text.lstrip(".")


def _text(value: Any) -> str:
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, default=str
    ).strip('"')


def merge_locally(obj: Any, manifest: Any) -> Any:
    """Merge a manifest into an object locally, when no dry run is available.

    Fields that only another manager has set are retained.
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
        old, new = _items_by_name(obj), _items_by_name(manifest)
        if old and new:
            merged = {
                **old,
                **{k: merge_locally(old.get(k), new[k]) for k in new},
            }
            return list(merged.values())
    return manifest
