"""Objects with their versions and owners."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
from typing import Any

from tacker_k8s_cr.model.errors import FieldConflict
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import field
from tests.fakes import field_ownership

Owner = tuple[str, str, str]
"""Manager, operation and sub-resource."""


@dataclasses.dataclass(frozen=True)
class Stored:
    """One object; each write makes another of these.

    :param times: when each owner wrote last.
    :param writer: who made this one out of the one before.
    """

    obj: Mapping[str, Any]
    owned: Mapping[Owner, frozenset[field_ownership.Path]]
    times: Mapping[Owner, str] = dataclasses.field(default_factory=dict)
    writer: Owner | None = None

    def shown(self) -> dict[str, Any]:
        obj: dict[str, Any] = field_ownership.with_copied_fields(self.obj)
        obj["metadata"]["managedFields"] = [
            {
                "manager": owner[0],
                "operation": owner[1],
                "apiVersion": obj["apiVersion"],
                "fieldsType": "FieldsV1",
                "fieldsV1": field_ownership.fields_v1(paths),
                **({"time": self.times[owner]} if owner in self.times else {}),
                **({"subresource": owner[2]} if owner[2] else {}),
            }
            for owner, paths in self.owned.items()
            if paths
        ]
        return obj

    def applied(self, manifest: Manifest, manager: str, force: bool) -> Stored:
        """Raises FieldConflict where others own fields with other values."""
        owner = (manager, "Apply", "")
        wanted = field_ownership.leaf_paths(manifest)
        live = field_ownership.leaf_paths(self.obj)
        others = {
            path: other
            for other, paths in self.owned.items()
            for path in paths
            if other != owner
            and path in wanted
            and path in live
            and live[path] != wanted[path]
        }
        if others and not force:
            named = {
                field_ownership.format_path(p): o[0] for p, o in others.items()
            }
            raise FieldConflict(ObjectRef.of(self.obj), named)
        owned = {
            other: paths - others.keys() if other != owner else paths
            for other, paths in self.owned.items()
        }
        given_up = {
            path
            for path in owned.pop(owner, frozenset()) - wanted.keys()
            # A mapping that was empty and is not any more stays.
            if not any(other[: len(path)] == path for other in wanted)
        }
        obj = field_ownership.merge(self.obj, dict(manifest))
        for path in given_up - frozenset().union(*owned.values()):
            obj = field_ownership.remove_fields(obj, path)
        owned = {**owned, owner: frozenset(wanted)}
        return Stored(obj, owned, self.times, owner)

    def updated(
        self, obj: Mapping[str, Any], manager: str, part: str = ""
    ) -> Stored:
        """The manager owns what it changed, and no other manager does."""
        before = field_ownership.leaf_paths(self.obj)
        after = field_ownership.leaf_paths(obj)
        changed = {
            path
            for path, value in after.items()
            if path not in before or before[path] != value
        }
        owner = (manager, "Update", part)
        owned = {
            other: frozenset(paths & after.keys() - changed)
            for other, paths in self.owned.items()
        }
        owned[owner] = owned.get(owner, frozenset()) | changed
        return Stored(obj, owned, self.times, owner)

    def managed(self, entries: Sequence[Mapping[str, Any]]) -> Stored:
        """As a client that writes managed fields sends them.

        Such a client removes entries, or transfers them; it creates none for
        fields without a manager.
        """
        known = {
            json.dumps(field_ownership.fields_v1(paths), sort_keys=True): owner
            for owner, paths in self.owned.items()
        }
        owned = {}
        times = {}
        for entry in entries:
            if entry:
                text = json.dumps(entry["fieldsV1"], sort_keys=True)
                former = known[text]
                sub = entry.get("subresource", "")
                owner = entry["manager"], entry["operation"], sub
                owned[owner] = self.owned[former]
                times[owner] = self.times.get(former, "")
        times = {owner: time for owner, time in times.items() if time}
        return dataclasses.replace(self, owned=owned, times=times)

    def at(self, moment: str) -> Stored:
        """As it is once it is stored, at this moment."""
        times = {
            owner: moment if owner == self.writer else time
            for owner, time in {self.writer: moment, **self.times}.items()
            if owner is not None
        }
        return dataclasses.replace(self, times=times, writer=None)


def generations(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """A change of anything but metadata and status makes a new one."""
    number = int(field(before, ("metadata", "generation"), 1))
    parts = (before.keys() | after.keys()) - {"metadata", "status"}
    changed = any(before.get(part) != after.get(part) for part in parts)
    return number + 1 if changed else number
