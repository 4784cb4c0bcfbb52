"""Who keeps the number of replicas of an object.

Each of these answers with a reason in words, or None where nobody else has
a hand in it.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses

from tacker_k8s_cr import objects
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef

OWNED = "topology.cluster.x-k8s.io/owned"
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
MANAGED_BY = "cluster.x-k8s.io/replicas-managed-by"

ENTRIES = {
    "topology.cluster.x-k8s.io/deployment-name": "machineDeployments",
    "topology.cluster.x-k8s.io/pool-name": "machinePools",
}
"""Label with an entry's name, and the list of the topology that holds it."""

_BOUND = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
BOUNDS = (f"{_BOUND}min-size", f"{_BOUND}max-size")


@dataclasses.dataclass(frozen=True)
class Entry:
    """Where a Cluster's topology says how many of something there are.

    :param workers: ``machineDeployments`` or ``machinePools``; empty for
        the control plane, of which there is one.
    :param name: of the entry in that list.
    """

    cluster: ObjectRef
    workers: str = ""
    name: str = ""

    def __str__(self) -> str:
        if not self.workers:
            return "spec.topology.controlPlane.replicas"
        return f"spec.topology.workers.{self.workers}[{self.name}].replicas"


def topology_entry(obj: Manifest) -> Entry | None:
    """Where the number belongs, of an object that a topology has made."""
    labels = reading.labels_of(obj)
    cluster = reading.text(labels, (CLUSTER_NAME,))
    if OWNED not in labels or not cluster:
        return None
    namespace = reading.text(obj, ("metadata", "namespace"))
    ref = ObjectRef("cluster.x-k8s.io", "Cluster", namespace, cluster)
    for label, workers in ENTRIES.items():
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
