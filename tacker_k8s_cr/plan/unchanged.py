"""Decide whether applying a manifest again would change an object.

A server-side apply changes nothing if the manager's entry in managedFields
has exactly the fields of the manifest, and the object has the manifest's
values in them. Both are compared literally. A quantity in another notation,
a null, or a field that the server stores elsewhere is a difference here even
where the server would see none: such an object is sent, and the server
decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
from typing import Any

from tacker_k8s_cr.kinds.observation import Observation
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest

Fields = Mapping[str, Any]
"""A set of fields, as ``fieldsV1`` in managedFields holds it.

``f:`` is a field, ``k:`` an item of a list that is found by keys, ``v:`` an
item of a set. A dot is the containing value itself. An empty mapping is a
value that is owned as a whole.
"""

_NAMED = frozenset(("name", "namespace"))
"""Fields of metadata that identify an object and have no owner."""


@dataclasses.dataclass(frozen=True)
class Unchanged:
    """An object that an apply would not change, as it was last read.

    :param seen: its verdict.
    """

    generation: int
    seen: Observation


def is_unchanged(manifest: Manifest, obj: Manifest, manager: str) -> bool:
    """Return whether an apply of the manifest would change nothing.

    :param obj: the object with its managedFields.
    :param manager: the field manager of the apply.
    """
    return not difference(manifest, obj, manager)


def difference(manifest: Manifest, obj: Manifest, manager: str) -> str:
    """Return why the manifest has to be sent; empty if it need not be.

    The reason names a field and no value: it may be logged.
    """
    if any(
        manifest[key] != obj.get(key) for key in ("apiVersion", "kind")
    ) or any(
        manifest["metadata"].get(key) != obj["metadata"].get(key)
        for key in _NAMED
    ):
        return "it was read in another API version, or is another object"
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        return "its deletion was requested"
    fields = _owned(obj, manager, manifest["apiVersion"])
    if fields is None:
        return f"{manager} has not applied it at this version"
    path = _differing(fields, _bare(manifest), _bare(obj), "")
    return f"{path} differs" if path else ""


def _owned(obj: Manifest, manager: str, version: str) -> Fields | None:
    """Return the fields of the manager's one Apply entry, if it has one."""
    found = [
        entry
        for entry in objects.field(obj, ("metadata", "managedFields"), ())
        if entry.get("manager") == manager
        and entry.get("operation") == "Apply"
        and not entry.get("subresource")
    ]
    if len(found) != 1 or found[0].get("apiVersion") != version:
        return None
    fields = found[0].get("fieldsV1")
    return fields if isinstance(fields, Mapping) and fields else None


def _bare(obj: Manifest) -> Manifest:
    """Return the object without the fields that identify it."""
    metadata = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in _NAMED
    }
    rest = {k: v for k, v in obj.items() if k not in ("apiVersion", "kind")}
    return {**rest, "metadata": metadata}


def _differing(fields: Fields, wanted: Any, live: Any, path: str) -> str:
    """Return the first path at which the three differ."""
    if not fields:
        return "" if _equal(wanted, live) else path
    if isinstance(wanted, Mapping):
        return _in_mapping(fields, wanted, live, path)
    if isinstance(wanted, list | tuple):
        return _in_list(fields, wanted, live, path)
    return path


def _in_mapping(
    fields: Fields, wanted: Mapping[str, Any], live: Any, path: str
) -> str:
    names = {f"f:{name}" for name in wanted}
    if not names or not isinstance(live, Mapping):
        return path or "the object"
    if unmatched := names ^ (fields.keys() - {"."}):
        return f"{path}.{min(unmatched)[2:]}".lstrip(".")
    for name, value in wanted.items():
        key_path = f"{path}.{name}".lstrip(".")
        # A null counts as absent, too.
        if live.get(name) is None:
            return key_path
        if found := _differing(
            fields[f"f:{name}"], value, live[name], key_path
        ):
            return found
    return ""


def _in_list(
    fields: Fields, wanted: Sequence[Any], live: Any, path: str
) -> str:
    """Compare a list, each item of which has an owner.

    The items of other managers may stand between those of the manifest. The
    order of these has to be the same: an apply restores it.
    """
    if not isinstance(live, list | tuple) or len(fields) != len(wanted):
        return path
    try:
        pairs = _matched(fields, wanted, live)
    except ValueError:
        return path
    positions = [index for _, index in pairs]
    if positions != sorted(positions):
        return path
    for item, (entry, index) in zip(wanted, pairs, strict=True):
        below = fields[entry]
        if entry.startswith("v:"):
            continue
        if "." not in below:
            return path
        if found := _differing(below, item, live[index], f"{path}[]"):
            return found
    return ""


def _matched(
    fields: Fields, wanted: Sequence[Any], live: Sequence[Any]
) -> list[tuple[str, int]]:
    """Find each item of a manifest in the fields and in the object.

    Raises ValueError if one has not exactly one match in both.
    """
    keys = {entry: _key(entry) for entry in fields}
    first = next(iter(keys.values()))
    names = tuple(name for name, _ in first)
    if any(tuple(name for name, _ in key) != names for key in keys.values()):
        raise ValueError
    paths = {key: entry for entry, key in keys.items()}
    positions: dict[Any, int] = {}
    for index, item in enumerate(live):
        key = _key_of(item, names)
        if key in positions:
            raise ValueError
        positions[key] = index
    found = []
    for item in wanted:
        key = _key_of(item, names)
        if key not in paths:
            key = _completed(key, paths)
        found.append((paths.pop(key), positions.get(key, -1)))
    if any(index < 0 for _, index in found):
        raise ValueError
    return found


_Key = tuple[tuple[str, Any], ...]
"""Names with values, each with its type: in Python, 1 equals True and 1.0."""


def _key(entry: str) -> _Key:
    """Return the identification of an item, in the form of the fields."""
    value = json.loads(entry[2:])
    if entry.startswith("v:"):
        return (("", _typed(value)),)
    if entry.startswith("k:") and isinstance(value, dict) and value:
        return tuple((n, _typed(value[n])) for n in sorted(value))
    raise ValueError


def _key_of(item: Any, names: tuple[str, ...]) -> _Key:
    if names == ("",):
        return (("", _typed(item)),)
    if not isinstance(item, Mapping):
        raise ValueError
    return tuple((n, _typed(item.get(n))) for n in names)


def _completed(key: _Key, known: Iterable[_Key]) -> _Key:
    """Return the key with the server's defaults, such as a protocol."""
    none = _typed(None)
    found = [
        other
        for other in known
        if all(
            value in (none, its)
            for (_, value), (_, its) in zip(key, other, strict=True)
        )
    ]
    if len(found) != 1:
        raise ValueError
    return found[0]


def _typed(value: Any) -> Any:
    if isinstance(value, Mapping | list | tuple):
        raise ValueError
    return type(value), value


def _equal(wanted: Any, live: Any) -> bool:
    """Compare two values, and their types; a null equals nothing."""
    if isinstance(wanted, Mapping):
        return (
            isinstance(live, Mapping)
            and wanted.keys() == live.keys()
            and all(_equal(value, live[key]) for key, value in wanted.items())
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(live, list | tuple)
            and len(wanted) == len(live)
            and all(map(_equal, wanted, live))
        )
    return wanted is not None and type(wanted) is type(live) and wanted == live
