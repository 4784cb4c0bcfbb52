"""Who keeps the number of replicas of an object.

Each of these answers with a reason in words, or None where nobody else has
a hand in it.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses

from tacker_k8s_cr import objects
from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.entries import Entry
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Path

OWNED = "topology.cluster.x-k8s.io/owned"
MANAGED_BY = "cluster.x-k8s.io/replicas-managed-by"

_BOUND = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
BOUNDS = (f"{_BOUND}min-size", f"{_BOUND}max-size")

HPA_BOUNDS: tuple[Path, Path] = (
    ("spec", "minReplicas"),
    ("spec", "maxReplicas"),
)

REFUSE = "refuse"
MOVE = "move"
WAYS = (REFUSE, MOVE)
"""What becomes of a scale of what an autoscaler keeps the number of."""


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Between which numbers an autoscaler moves; None where it is not said."""

    least: int | None = None
    most: int | None = None

    def around(self, number: int) -> Bounds:
        """Moved so that there are at least so many, and may be.

        The upper bound goes up only: how far it may go on from there was
        not asked for.
        """
        most = number if self.most is None else max(number, self.most)
        return Bounds(number, most)


def hpa_bounds(hpa: Manifest) -> Bounds:
    """Of a HorizontalPodAutoscaler."""
    return Bounds(*(reading.number(hpa, path) for path in HPA_BOUNDS))


def annotated_bounds(notes: Manifest) -> Bounds | None:
    """Of the cluster autoscaler, from annotations; None if it has none."""
    if not any(name in notes for name in BOUNDS):
        return None
    return Bounds(*(_whole(reading.text(notes, (name,))) for name in BOUNDS))


def as_annotations(bounds: Bounds) -> dict[str, str | None]:
    """The annotations that say so; None for one that is not to be there."""
    return {
        name: None if value is None else str(value)
        for name, value in zip(
            BOUNDS, (bounds.least, bounds.most), strict=True
        )
    }


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def topology_entry(obj: Manifest) -> Entry | None:
    """Where the number belongs, of an object that a topology has made."""
    labels = reading.labels_of(obj)
    cluster = reading.text(labels, (entries.CLUSTER_NAME,))
    if OWNED not in labels or not cluster:
        return None
    namespace = reading.text(obj, ("metadata", "namespace"))
    kind = entries.CLUSTER
    ref = ObjectRef(kind.group, kind.kind, namespace, cluster)
    for workers, label in entries.LABELS.items():
        if name := reading.text(labels, (label,)):
            return Entry(ref, workers, name)
    return Entry(ref)


def topology_owned(obj: Manifest) -> str | None:
    """Does a topology set its number?

    To be asked before any write: a number set directly is taken back, but
    machines are replaced in the meantime.
    """
    if OWNED not in reading.labels_of(obj):
        return None
    entry = topology_entry(obj)
    if entry is None:
        return "its number is kept by the topology of its Cluster"
    return f"its number is kept by {entry.cluster}, field {entry}"


def autoscaled(obj: Manifest) -> str | None:
    """Does the cluster autoscaler, or somebody a pool names, set it?"""
    notes = reading.annotations_of(obj)
    if owner := reading.text(notes, (MANAGED_BY,)):
        return (
            f"its number is kept by {owner}, as the annotation {MANAGED_BY} "
            "says"
        )
    if MANAGED_BY in notes:
        return f"its number is kept elsewhere: annotation {MANAGED_BY}"
    if not any(name in notes for name in BOUNDS):
        return None
    least, most = (reading.text(notes, (name,)) or "?" for name in BOUNDS)
    return (
        f"its number is kept by the cluster autoscaler, between {least} and "
        f"{most}: annotations {BOUNDS[0]} and {BOUNDS[1]}"
    )


def hpa_of(hpas: Iterable[Manifest], ref: ObjectRef) -> Manifest | None:
    """The autoscaler whose target an object is."""
    for hpa in hpas:
        target = reading.mapping(hpa, ("spec", "scaleTargetRef"))
        group, _ = objects.split_api_version(
            reading.text(target, ("apiVersion",))
        )
        found = ObjectRef(
            group,
            reading.text(target, ("kind",)),
            reading.text(hpa, ("metadata", "namespace")),
            reading.text(target, ("name",)),
        )
        if found == ref:
            return hpa
    return None


def hpa_for(hpas: Iterable[Manifest], ref: ObjectRef) -> str | None:
    """Does a HorizontalPodAutoscaler set its number?"""
    hpa = hpa_of(hpas, ref)
    if hpa is None:
        return None
    least = reading.number(hpa, ("spec", "minReplicas"))
    most = reading.number(hpa, ("spec", "maxReplicas"))
    return (
        f"its number is kept by {ObjectRef.of(hpa)}, between "
        f"{1 if least is None else least} and {most}"
    )
