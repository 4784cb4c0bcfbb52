"""Whether an object is current, judged apart from the product: pure.

The rules are those of the controllers that write the status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr.model.objects import Manifest


def explain_not_ready(obj: Manifest) -> str:
    """Return what is missing; empty if the object is current."""
    if obj["metadata"].get("deletionTimestamp"):
        return "is being deleted"
    return _RULES.get(obj["kind"], _any)(obj)


def _any(obj: Manifest) -> str:
    return ""


def _deployment(obj: Manifest) -> str:
    status = obj.get("status", {})
    keys = ("updatedReplicas", "availableReplicas", "replicas")
    return _counts(obj, [status.get(key, 0) for key in keys])


def _stateful_set(obj: Manifest) -> str:
    status = obj.get("status", {})
    keys = ("readyReplicas", "replicas")
    if status.get("currentRevision") != status.get("updateRevision"):
        return "has Pods of an earlier revision"
    return _counts(obj, [status.get(key, 0) for key in keys])


def _counts(obj: Manifest, found: list[int]) -> str:
    wanted = obj["spec"].get("replicas", 1)
    if not _observed(obj):
        return "was not observed by its controller"
    if any(count != wanted for count in found):
        return f"has counts {found}; expected {wanted} each"
    return ""


def _widget(obj: Manifest) -> str:
    if not _observed(obj):
        return "was not observed by its controller"
    return "" if _is_true(obj, "Ready") else "is not Ready"


def _definition(obj: Manifest) -> str:
    return "" if _is_true(obj, "Established") else "is not Established"


def _job(obj: Manifest) -> str:
    return "" if _is_true(obj, "Complete") else "is not Complete"


def _observed(obj: Manifest) -> bool:
    status: Mapping[str, Any] = obj.get("status", {})
    generation = obj["metadata"].get("generation")
    return bool(status.get("observedGeneration") == generation)


def _is_true(obj: Manifest, kind: str) -> bool:
    return any(
        one["type"] == kind and one["status"] == "True"
        for one in obj.get("status", {}).get("conditions", ())
    )


_RULES = {
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "Widget": _widget,
    "CustomResourceDefinition": _definition,
    "Job": _job,
}
