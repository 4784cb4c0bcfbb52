"""How objects differ from what an instance has made of them: a value."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
from typing import Any

from tacker_k8s_cr import objects
from tacker_k8s_cr import ownership
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning.differences import KEYS
from tacker_k8s_cr.planning.differences import Difference
from tacker_k8s_cr.planning.differences import to_item


class Drift(enum.Enum):
    """In what way an object is not as the instance has made it."""

    MISSING = "missing"
    REPLACED = "replaced"
    GOING = "going"
    TAKEN = "taken"
    UNLABELLED = "unlabelled"
    CHANGED = "changed"
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True)
class Drifted:
    """An object that is not as it should be.

    :param uid: that the instance has of it.
    :param reason: a sentence for each of the ways that has one.
    :param differences: what would be taken back, as it is and as it should be.
    """

    ref: ObjectRef
    uid: str
    ways: tuple[Drift, ...]
    reason: str = ""
    differences: tuple[Difference, ...] = ()

    def differing(self, found: tuple[Difference, ...]) -> Drifted:
        if not found:
            return self
        ways = (*self.ways, Drift.CHANGED)
        return dataclasses.replace(self, ways=ways, differences=found)

    def as_dict(self) -> Mapping[str, Any]:
        return {
            "group": self.ref.group,
            "kind": self.ref.kind,
            "namespace": self.ref.namespace,
            "name": self.ref.name,
            "uid": self.uid,
            "drift": [way.value for way in self.ways],
            "reason": self.reason,
            "differences": [found.as_dict() for found in self.differences],
        }


@dataclasses.dataclass(frozen=True)
class Drifts:
    """What has drifted of an instance; nothing, where there are no rows.

    :param looked: how many objects were looked at.
    """

    instance: str
    namespace: str
    phase: str
    rows: tuple[Drifted, ...]
    looked: int = 0
    seconds: float = 0.0
    requests: int = 0

    def as_dict(self) -> Mapping[str, Any]:
        """Plain values for JSON; no secret is among them."""
        return {
            "instance": self.instance,
            "namespace": self.namespace,
            "operation": "drift",
            "phase": self.phase,
            "seconds": round(self.seconds, 3),
            "requests": self.requests,
            "looked": self.looked,
            "objects": [row.as_dict() for row in self.rows],
        }


def at_sight(
    ref: ObjectRef, uid: str, instance: str, obj: Manifest | None
) -> Drifted:
    """What the metadata of an object tells, as the server has it now.

    :param uid: of the instance's object; empty if it has none.
    """
    if obj is None:
        return Drifted(ref, uid, (Drift.MISSING,))
    if objects.uid(obj) != uid:
        whose = ownership.owner(obj)
        why = f"it has the UID {objects.uid(obj)} and belongs to {whose}"
        return Drifted(ref, uid, (Drift.REPLACED,), why)
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        return Drifted(ref, uid, (Drift.GOING,), "somebody asked it to go")
    label = objects.labels(obj).get(objects.INSTANCE, "")
    if label == instance:
        return Drifted(ref, uid, ())
    if label and ownership.applied_by(obj, objects.MANAGER + label):
        why = f"it belongs to the instance {label}"
        return Drifted(ref, uid, (Drift.TAKEN,), why)
    why = f"its label names {label}" if label else "our label is gone"
    return Drifted(ref, uid, (Drift.UNLABELLED,), why)


def ours(
    manifest: Manifest, differences: Collection[Difference]
) -> tuple[Difference, ...]:
    """Those of the differences that are in fields of the manifest.

    What a webhook would fill in on the way is nobody's drift. Texts of a
    Secret are stored with its data.
    """
    if manifest.get("kind") == "Secret":
        texts = manifest.get("stringData") or {}
        data = {**(manifest.get("data") or {}), **texts}
        manifest = {**manifest, "data": data}
    return tuple(
        difference
        for difference in differences
        if _holds(manifest, difference.where)
    )


def _holds(value: Any, where: Sequence[str | int]) -> bool:
    """Whether a value has something at a path, or at a part of it."""
    for step in where:
        if isinstance(value, Mapping):
            if step not in value:
                return False
            value = value[step]
        elif isinstance(value, list | tuple):
            item = _item(value, step)
            if item is None:
                return False
            value = item
        else:
            return True
    return True


def _item(items: Sequence[Any], step: str | int) -> Any:
    if isinstance(step, int):
        return items[step] if step < len(items) else None
    for item in items:
        if isinstance(item, Mapping) and any(
            step == to_item(key, item.get(key)) for key in KEYS
        ):
            return item
    return None
