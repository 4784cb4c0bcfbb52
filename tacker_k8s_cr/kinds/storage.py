"""Volumes, and claims for them."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from fractions import Fraction
import re

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.model.objects import Verdict

CLAIM = GroupKind("", "PersistentVolumeClaim")

REQUESTED: Path = ("spec", "resources", "requests", "storage")
CAPACITY: Path = ("status", "capacity", "storage")

PROVISIONING_STARTED = (
    "volume.kubernetes.io/selected-node",
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
)
"""Annotations that a claim gets when a volume is being made for it.

The scheduler sets the first when a pod that uses the claim has a node. The
volume controller sets the others when it calls a provisioner: at once for a
class that binds immediately, after the first for one that binds late
(kubernetes pkg/controller/volume/persistentvolume, syncUnboundClaim).
"""

_UNITS = {
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}


def claim(
    obj: Manifest, late_binding: frozenset[str] | None = None
) -> Verdict:
    """A PersistentVolumeClaim.

    The claim does not say whether its class binds late, when a first pod
    uses it. With ``late`` given, the names of the classes that do, that is
    known. Without, a claim that names a class and for which no provisioner
    has begun to create a volume counts as waiting for its first pod: if a
    pod of the package uses it, that pod's own verdict shows when this was
    wrong.
    """
    if verdict := base.common_verdict(obj):
        return verdict
    phase = fields.text(obj, ("status", "phase"))
    if phase == "Bound":
        return _bound_verdict(obj)
    if phase == "Lost":
        volume = fields.text(obj, ("spec", "volumeName"))
        return base.failed(f"Lost: the volume {volume} no longer exists")
    if fields.text(obj, ("spec", "volumeName")):
        return base.in_progress("Pending: not bound to its volume yet")
    name = fields.text(obj, ("spec", "storageClassName"))
    is_started = [
        mark
        for mark in PROVISIONING_STARTED
        if mark in fields.annotations_of(obj)
    ]
    if is_started:
        return base.in_progress("Pending: a volume is being made for it")
    if not name:
        return base.in_progress("Pending: no class, and no volume that fits")
    if phase == "Pending" and (late_binding is None or name in late_binding):
        return base.current(
            f"Pending: the class {name} is to make a volume when a pod uses it"
        )
    return base.in_progress(f"Pending: no volume of the class {name} yet")


def _bound_verdict(obj: Manifest) -> Verdict:
    found = fields.conditions(obj)
    for name in ("ControllerResizeError", "NodeResizeError"):
        if name in found and found[name].is_true:
            return base.in_progress(str(found[name]), found[name].as_error)
    if "ModifyVolumeError" in found and found["ModifyVolumeError"].is_true:
        trouble = found["ModifyVolumeError"]
        return base.in_progress(str(trouble), trouble.as_error)
    pending = found.get("FileSystemResizePending")
    if pending and pending.is_true:
        return base.current(
            "Bound; its file system grows when a pod mounts it"
        )
    requested, capacity = (
        objects.field(obj, REQUESTED),
        objects.field(obj, CAPACITY),
    )
    desired, actual = parse_quantity(requested), parse_quantity(capacity)
    if desired is not None and actual is not None and actual < desired:
        return base.in_progress(f"Bound, with {capacity} of {requested}")
    volume = fields.text(obj, ("spec", "volumeName"))
    return base.current(f"Bound to {volume}")


def volume(obj: Manifest) -> Verdict:
    """A PersistentVolume."""
    if verdict := base.common_verdict(obj):
        return verdict
    phase = fields.text(obj, ("status", "phase"))
    if phase == "Failed":
        parts = [
            fields.text(obj, ("status", k)) for k in ("reason", "message")
        ]
        line = fields.one_line(": ".join(part for part in parts if part))
        return base.failed(f"Failed: {line}" if line else "Failed")
    if phase in ("Available", "Bound"):
        return base.current(phase)
    if phase == "Released":
        return base.current(
            "Released: its claim is deleted, the volume is retained"
        )
    return base.in_progress(f"phase {phase}" if phase else "no phase yet")


def parse_quantity(value: object) -> Fraction | None:
    """The number that a Kubernetes quantity stands for; None for no such."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    if not isinstance(value, str):
        return None
    found = re.fullmatch(
        r"(\d{1,40}(?:\.\d{0,40})?)(?:([KMGTPE]i)|([kMGTPE]?)|[eE](\d{1,2}))",
        value,
    )
    if not found:
        return None
    digits, binary, decimal, exponent = found.groups()
    number = Fraction(digits)
    if binary:
        return number * (1 << 10 * ("KMGTPE".index(binary[0]) + 1))
    power = int(exponent) if exponent else _UNITS[decimal or ""]
    return number * int(f"1{'0' * power}")


def claim_handler(classes: Iterable[Manifest]) -> Mapping[GroupKind, Handler]:
    """Return a handler of claims for the StorageClasses of a cluster.

    For a registry to be extended with, by a caller that has listed them.
    """
    late_binding = frozenset(
        fields.text(obj, ("metadata", "name"))
        for obj in classes
        if obj.get("volumeBindingMode") == "WaitForFirstConsumer"
    )
    handler = HANDLERS[CLAIM]
    return {
        CLAIM: dataclasses.replace(
            handler, assess=lambda obj: claim(obj, late_binding)
        )
    }


def _volume_of(obj: Manifest) -> tuple[ObjectRef, ...]:
    name = fields.text(obj, ("spec", "volumeName"))
    return (ObjectRef("", "PersistentVolume", "", name),) if name else ()


HANDLERS: Mapping[GroupKind, Handler] = {
    CLAIM: Handler(
        claim, ApplyOrder.CONFIG, prune_protected=True, references=_volume_of
    ),
    GroupKind("", "PersistentVolume"): Handler(volume, ApplyOrder.POLICY),
}
