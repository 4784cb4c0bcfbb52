"""Who keeps the number of replicas of an object.

Each of these answers with a reason in words, or None where no other
controller manages the replicas.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.topology_replicas import TopologyReplicas
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path

TOPOLOGY_OWNED = "topology.cluster.x-k8s.io/owned"
MANAGED_BY = "cluster.x-k8s.io/replicas-managed-by"

_NODE_GROUP = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
NODE_GROUP_LIMITS = (f"{_NODE_GROUP}min-size", f"{_NODE_GROUP}max-size")

HPA_LIMITS: tuple[Path, Path] = (
    ("spec", "minReplicas"),
    ("spec", "maxReplicas"),
)

KEEP = "keep"
ADJUST = "adjust"
LIMIT_MODES = (KEEP, ADJUST)
"""What becomes of a scale of what an autoscaler keeps the number of."""


@dataclasses.dataclass(frozen=True)
class ReplicaLimits:
    """Between which numbers an autoscaler moves; None where it is not said."""

    minimum: int | None = None
    maximum: int | None = None

    def including(self, number: int) -> ReplicaLimits:
        """Moved so that there are at least so many, and may be.

        The upper bound goes up only: how far it may go on from there was
        not asked for.
        """
        maximum = number if self.maximum is None else max(number, self.maximum)
        return ReplicaLimits(number, maximum)


def hpa_limits(hpa: Manifest) -> ReplicaLimits:
    """Of a HorizontalPodAutoscaler."""
    return ReplicaLimits(*(fields.number(hpa, path) for path in HPA_LIMITS))


def annotated_limits(annotations: Manifest) -> ReplicaLimits | None:
    """Of the cluster autoscaler, from annotations; None if it has none."""
    if not any(name in annotations for name in NODE_GROUP_LIMITS):
        return None
    return ReplicaLimits(
        *(
            _parse_count(fields.text(annotations, (name,)))
            for name in NODE_GROUP_LIMITS
        )
    )


def as_annotations(limits: ReplicaLimits) -> dict[str, str | None]:
    """The annotations that say so; None for one that is not to be there."""
    return {
        name: None if value is None else str(value)
        for name, value in zip(
            NODE_GROUP_LIMITS, (limits.minimum, limits.maximum), strict=True
        )
    }


def _parse_count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def topology_entry(obj: Manifest) -> TopologyReplicas | None:
    """Where the number belongs, of an object that a topology has made."""
    labels = fields.labels_of(obj)
    cluster = fields.text(labels, (topology_replicas.CLUSTER_NAME,))
    if TOPOLOGY_OWNED not in labels or not cluster:
        return None
    namespace = fields.text(obj, ("metadata", "namespace"))
    kind = topology_replicas.CLUSTER
    ref = ObjectRef(kind.group, kind.kind, namespace, cluster)
    for workers, label in topology_replicas.LABELS.items():
        if name := fields.text(labels, (label,)):
            return TopologyReplicas(ref, workers, name)
    return TopologyReplicas(ref)


def topology_reason(obj: Manifest) -> str | None:
    """Does a topology set its number?

    Call it before any write: a count that is set directly is reverted, but
    Machines are replaced in the meantime.
    """
    if TOPOLOGY_OWNED not in fields.labels_of(obj):
        return None
    entry = topology_entry(obj)
    if entry is None:
        return "its replicas are managed by the topology of its Cluster"
    return f"its replicas are managed by {entry.cluster}, field {entry}"


def cluster_autoscaler_reason(obj: Manifest) -> str | None:
    """Return why the cluster autoscaler, or another manager, sets it."""
    annotations = fields.annotations_of(obj)
    if owner := fields.text(annotations, (MANAGED_BY,)):
        return (
            f"its replicas are managed by {owner}, according to the "
            f"annotation {MANAGED_BY}"
        )
    if MANAGED_BY in annotations:
        return f"its replicas are managed elsewhere: annotation {MANAGED_BY}"
    if not any(name in annotations for name in NODE_GROUP_LIMITS):
        return None
    minimum, maximum = (
        fields.text(annotations, (name,)) or "?" for name in NODE_GROUP_LIMITS
    )
    return (
        "its replicas are managed by the cluster autoscaler, between "
        f"{minimum} and {maximum}: annotations "
        f"{NODE_GROUP_LIMITS[0]} and {NODE_GROUP_LIMITS[1]}"
    )


def hpa_of(hpas: Iterable[Manifest], ref: ObjectRef) -> Manifest | None:
    """The autoscaler whose target an object is."""
    for hpa in hpas:
        target = fields.mapping(hpa, ("spec", "scaleTargetRef"))
        group, _ = objects.split_api_version(
            fields.text(target, ("apiVersion",))
        )
        found = ObjectRef(
            group,
            fields.text(target, ("kind",)),
            fields.text(hpa, ("metadata", "namespace")),
            fields.text(target, ("name",)),
        )
        if found == ref:
            return hpa
    return None


def hpa_reason(hpas: Iterable[Manifest], ref: ObjectRef) -> str | None:
    """Does a HorizontalPodAutoscaler set its number?"""
    hpa = hpa_of(hpas, ref)
    if hpa is None:
        return None
    minimum = fields.number(hpa, ("spec", "minReplicas"))
    maximum = fields.number(hpa, ("spec", "maxReplicas"))
    return (
        f"its replicas are managed by {ObjectRef.of(hpa)}, between "
        f"{1 if minimum is None else minimum} and {maximum}"
    )
