"""Whether objects are current, judged apart from the code under test.

The rules are those of the controllers: kube-controller-manager's for a
Deployment, the Stages of kwok for a Widget.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef


def reason_not_current(
    cluster: Cluster, refs: Iterable[ObjectRef]
) -> list[str]:
    """Return how the state at a healthy server differs for these objects."""
    found = []
    for ref in refs:
        obj = cluster.get(ref)
        if obj is None:
            found.append(f"{ref} does not exist")
        elif why := _RULES.get(ref.kind, _as_stored)(obj):
            found.append(f"{ref} {why}")
    return found


def find_existing(cluster: Cluster, refs: Iterable[ObjectRef]) -> list[str]:
    """Return those that a read of a healthy server still shows."""
    return [f"{ref} exists" for ref in refs if cluster.get(ref) is not None]


def _deployment(obj: Manifest) -> str:
    spec, status = obj["spec"], obj.get("status", {})
    wanted = spec.get("replicas", 1)
    found = (
        status.get("observedGeneration"),
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        status.get("replicas", 0),
    )
    if found == (obj["metadata"]["generation"], wanted, wanted, wanted):
        return ""
    return f"has {found}, and wants {wanted}"


def _widget(obj: Manifest) -> str:
    status: Any = obj.get("status", {})
    if status.get("observedGeneration") != obj["metadata"]["generation"]:
        return "was not observed"
    return "" if _is_true(status, "Ready") else "is not Ready"


def _definition(obj: Manifest) -> str:
    established = _is_true(obj.get("status", {}), "Established")
    return "" if established else "is not Established"


def _is_true(status: Any, kind: str) -> bool:
    return any(
        one["type"] == kind and one["status"] == "True"
        for one in status.get("conditions", ())
    )


def _as_stored(obj: Manifest) -> str:
    going = obj["metadata"].get("deletionTimestamp")
    return "is being deleted" if going else ""


_RULES = {
    "Deployment": _deployment,
    "Widget": _widget,
    "CustomResourceDefinition": _definition,
}
