"""Remove fields from manifests that the server does not accept.

A server-side apply refuses a field that the schema of the kind does not have.
A create, which Tacker's own driver uses, leaves it out. The same applies to a
repeated variable of a container, of which the last one counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import json
import re
from typing import Any

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import Manifest

UNDECLARED = "field not declared in schema"
_REPEATED = re.compile(r"duplicate entries for key (\[.*\])", re.DOTALL)
_VARIABLES = "env"
"""The list of which a kubelet uses the last entry of each name."""

_ENTRY = re.compile(r"\[((?:[^\"\]]|\"(?:[^\"\\]|\\.)*\")*)\]")
_KEY = re.compile(r"(\w+)=(\"(?:[^\"\\]|\\.)*\"|[^,\"]+)")


def without_fields(
    manifest: Manifest, fields: Iterable[tuple[str, str]]
) -> tuple[Manifest, tuple[str, ...]]:
    """Return the manifest without fields, and a sentence on each of them.

    :param fields: paths as the server writes them, each with the reason.
        Fields with another reason, or that are not found, are retained.
    """
    changed: Any = _copy(manifest)
    warnings = []
    for path, reason in fields:
        if reason == UNDECLARED and _drop_field(changed, path):
            warnings.append(f"unknown field {path[1:]}, which is left out")
        elif (found := _REPEATED.fullmatch(reason)) and _drop_repeated(
            changed, path, found[1]
        ):
            warnings.append(
                f"field {path[1:]} has several entries {found[1]}, of which "
                "the last one counts"
            )
    return changed, tuple(warnings)


def is_removable(field: tuple[str, str]) -> bool:
    """Return whether a field may be left out, by its path and reason."""
    path, reason = field
    repeated = _REPEATED.fullmatch(reason) is not None
    return reason == UNDECLARED or (repeated and path.endswith(_VARIABLES))


def is_refused(error: errors.Error) -> bool:
    """Return whether a server refused a field that may be left out."""
    refusals = (
        error.refusals if isinstance(error, errors.DryRunFailed) else [error]
    )
    return any(
        is_removable(field)
        for refusal in refusals
        if isinstance(refusal, errors.Rejected)
        for field in refusal.fields
    )


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item) for item in value]
    return value


def _drop_field(manifest: Any, path: str) -> bool:
    """Remove a field; return whether it existed."""
    above, name = _resolve_path(manifest, path)
    for mapping in above:
        del mapping[name]
    return bool(above)


def _drop_repeated(manifest: Any, path: str, key: str) -> bool:
    """Keep the last of several variables with the same name."""
    above, name = _resolve_path(manifest, path)
    if name != _VARIABLES:
        return False
    for mapping in above:
        entries = mapping[name]
        same = [entry for entry in entries if _matches(entry, key)]
        mapping[name] = [
            entry
            for entry in entries
            if not any(entry is other for other in same[:-1])
        ]
    return bool(above)


def _resolve_path(manifest: Any, path: str) -> tuple[list[Any], str]:
    """Return the mappings that have the last field of a path, and its name."""
    found: list[tuple[Any, str]] = []
    _walk(manifest, path, found)
    names = {name for _, name in found}
    if len(names) != 1:
        return [], ""
    return [mapping for mapping, _ in found], names.pop()


def _walk(value: Any, path: str, found: list[tuple[Any, str]]) -> None:
    """Follow a path; a name may contain dots, so the longest one counts."""
    if path.startswith("["):
        entry = _ENTRY.match(path)
        if entry and isinstance(value, list):
            for item in _select_items(value, entry[0]):
                _walk(item, path[entry.end() :], found)
        return
    if not isinstance(value, dict) or not path.startswith("."):
        return
    rest = path[1:]
    names = [
        n for n in value if rest == n or rest.startswith((f"{n}.", f"{n}["))
    ]
    if not names:
        return
    name = max(names, key=len)
    if rest == name:
        found.append((value, name))
    else:
        _walk(value[name], rest[len(name) :], found)


def _select_items(items: Sequence[Any], entry: str) -> Iterator[Any]:
    """Return the items that a path selects, by number or by keys."""
    inner = entry[1:-1]
    if inner.isdecimal():
        yield from items[int(inner) : int(inner) + 1]
        return
    yield from (item for item in items if _matches(item, entry))


def _matches(item: Any, entry: str) -> bool:
    """Return whether an item has the keys; a missing one has its default."""
    keys = _KEY.findall(entry[1:-1])
    if not isinstance(item, dict) or not keys:
        return False
    wanted = {name: _value(text) for name, text in keys}
    return all(
        item.get(name, value) == value for name, value in wanted.items()
    )


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
