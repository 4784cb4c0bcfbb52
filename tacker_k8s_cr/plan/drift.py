"""The drift of objects from what an instance has applied."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
from typing import Any

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.diff import KEYS
from tacker_k8s_cr.plan.diff import Difference
from tacker_k8s_cr.plan.diff import item_step


class Drift(enum.Enum):
    """How an object deviates from what the instance has applied."""

    MISSING = "missing"
    UID_CHANGED = "uid-changed"
    TERMINATING = "terminating"
    OWNED_BY_OTHER = "owned-by-other"
    LABEL_MISSING = "label-missing"
    CHANGED = "changed"
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True)
class DriftRow:
    """An object that differs from its expected state.

    :param uid: in the instance's record.
    :param reason: a sentence for each kind of drift that has one.
    :param differences: what a heal would restore, as it is and as it should
        be.
    """

    ref: ObjectRef
    uid: str
    drifts: tuple[Drift, ...]
    reason: str = ""
    differences: tuple[Difference, ...] = ()

    def with_differences(self, found: tuple[Difference, ...]) -> DriftRow:
        if not found:
            return self
        drifts = (*self.drifts, Drift.CHANGED)
        return dataclasses.replace(self, drifts=drifts, differences=found)

    def as_dict(self) -> Mapping[str, Any]:
        return {
            "group": self.ref.group,
            "kind": self.ref.kind,
            "namespace": self.ref.namespace,
            "name": self.ref.name,
            "uid": self.uid,
            "drift": [drift.value for drift in self.drifts],
            "reason": self.reason,
            "differences": [found.as_dict() for found in self.differences],
        }


@dataclasses.dataclass(frozen=True)
class DriftReport:
    """The drifted objects of an instance; no rows if there is no drift.

    :param compared: how many objects were compared.
    """

    instance: str
    namespace: str
    phase: str
    objects: tuple[DriftRow, ...]
    compared: int = 0
    seconds: float = 0.0
    requests: int = 0

    def as_dict(self) -> Mapping[str, Any]:
        """Return plain values for JSON, without secrets."""
        return {
            "instance": self.instance,
            "namespace": self.namespace,
            "operation": "drift",
            "phase": self.phase,
            "seconds": round(self.seconds, 3),
            "requests": self.requests,
            "looked": self.compared,
            "objects": [row.as_dict() for row in self.objects],
        }


def metadata_drift(
    ref: ObjectRef, uid: str, instance: str, obj: Manifest | None
) -> DriftRow:
    """Return the drift in the metadata of an object on the server.

    :param uid: of the instance's object; empty if it has none.
    """
    if obj is None:
        return DriftRow(ref, uid, (Drift.MISSING,))
    if objects.uid(obj) != uid:
        owner = ownership.foreign_owner(obj)
        reason = f"it has the UID {objects.uid(obj)} and belongs to {owner}"
        return DriftRow(ref, uid, (Drift.UID_CHANGED,), reason)
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        return DriftRow(
            ref, uid, (Drift.TERMINATING,), "its deletion was requested"
        )
    label = objects.labels(obj).get(objects.INSTANCE, "")
    if label == instance:
        return DriftRow(ref, uid, ())
    if label and ownership.applied_by(obj, objects.MANAGER + label):
        reason = f"it belongs to the instance {label}"
        return DriftRow(ref, uid, (Drift.OWNED_BY_OTHER,), reason)
    reason = (
        f"its label names {label}"
        if label
        else "its instance label is missing"
    )
    return DriftRow(ref, uid, (Drift.LABEL_MISSING,), reason)


def authored_only(
    manifest: Manifest, differences: Collection[Difference]
) -> tuple[Difference, ...]:
    """Return those of the differences that are in fields of the manifest.

    Fields that a webhook would fill in are not drift. The stringData of a
    Secret is stored in its data.
    """
    if manifest.get("kind") == "Secret":
        texts = manifest.get("stringData") or {}
        data = {**(manifest.get("data") or {}), **texts}
        manifest = {**manifest, "data": data}
    return tuple(
        difference
        for difference in differences
        if _has_path(manifest, difference.where)
    )


def _has_path(value: Any, where: Sequence[str | int]) -> bool:
    """Return whether a value exists at a path, or at a parent of it."""
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
            step == item_step(key, item.get(key)) for key in KEYS
        ):
            return item
    return None
