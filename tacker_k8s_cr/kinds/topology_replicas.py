"""The numbers in a Cluster's topology, each of which has a place of its own.

What a topology creates has unpredictable names, and the replica count of
each is in the Cluster. A scale target is the Cluster's reference with
the entry behind the name, such as ``workload:machineDeployments.md-0`` or
``workload:controlPlane``. No object can have such a name.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path

CLUSTER = GroupKind("cluster.x-k8s.io", "Cluster")
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
CONTROL_PLANE = "controlPlane"
TOPOLOGY: Path = ("spec", "topology")

KINDS = {
    "machineDeployments": "MachineDeployment",
    "machinePools": "MachinePool",
}
"""Lists of a topology, and the kind that their entries become."""

LABELS = {
    "machineDeployments": "topology.cluster.x-k8s.io/deployment-name",
    "machinePools": "topology.cluster.x-k8s.io/pool-name",
}
"""Label with an entry's name, on what the topology makes of it."""


@dataclasses.dataclass(frozen=True, order=True)
class TopologyReplicas:
    """An entry of a Cluster's topology that has a replica count.

    :param section: ``machineDeployments`` or ``machinePools``; empty for
        the control plane, of which there is one.
    :param name: of the entry in that list.
    """

    cluster: ObjectRef
    section: str = ""
    name: str = ""

    def __str__(self) -> str:
        if not self.section:
            return "spec.topology.controlPlane.replicas"
        return f"spec.topology.workers.{self.section}[{self.name}].replicas"

    @property
    def ref(self) -> ObjectRef:
        """By which the number goes."""
        place = f"{self.section}.{self.name}" if self.section else ""
        name = f"{self.cluster.name}:{place or CONTROL_PLANE}"
        return self.cluster._replace(name=name)

    @property
    def group_kind(self) -> GroupKind | None:
        """Of what the topology makes of it; a class names control planes."""
        kind = KINDS.get(self.section)
        return GroupKind(CLUSTER.group, kind) if kind else None

    @property
    def selector(self) -> str:
        """By which to find what the topology makes of it."""
        label = LABELS[self.section]
        return f"{CLUSTER_NAME}={self.cluster.name},{label}={self.name}"

    def managed_path(self, *path: str) -> Path:
        """A field of the entry, as the owners of fields are noted."""
        if not self.section:
            return (*TOPOLOGY, CONTROL_PLANE, *path)
        key = f'k:{{"name":"{self.name}"}}'
        return (*TOPOLOGY, "workers", self.section, key, *path)


def parse_ref(ref: ObjectRef) -> TopologyReplicas | None:
    """The entry that a reference stands for; None if it is an object's."""
    name, colon, position = ref.name.partition(":")
    if ref.group_kind != CLUSTER or not colon:
        return None
    section, _, entry = position.partition(".")
    cluster = ref._replace(name=name)
    if position == CONTROL_PLANE:
        return TopologyReplicas(cluster)
    return TopologyReplicas(cluster, section, entry)


def cluster_ref(ref: ObjectRef) -> ObjectRef:
    """The object that a number lies in."""
    entry = parse_ref(ref)
    return entry.cluster if entry else ref


def list_entries(manifest: Manifest) -> tuple[TopologyReplicas, ...]:
    """All entries of a Cluster's topology; none of any other object."""
    if GroupKind.of(manifest) != CLUSTER or not fields.mapping(
        manifest, TOPOLOGY
    ):
        return ()
    cluster = ObjectRef.of(manifest)
    found = [TopologyReplicas(cluster)]
    for section in KINDS:
        for item in fields.mappings(manifest, (*TOPOLOGY, "workers", section)):
            if name := fields.text(item, ("name",)):
                found.append(TopologyReplicas(cluster, section, name))
    return tuple(found)


def get_entry(obj: Manifest, entry: TopologyReplicas) -> Manifest | None:
    """Return an entry of a topology; None if it does not exist."""
    if not entry.section:
        if not fields.mapping(obj, TOPOLOGY):
            return None
        return fields.mapping(obj, (*TOPOLOGY, CONTROL_PLANE))
    for item in fields.mappings(obj, (*TOPOLOGY, "workers", entry.section)):
        if fields.text(item, ("name",)) == entry.name:
            return item
    return None


def replicas(obj: Manifest, entry: TopologyReplicas) -> int | None:
    """Return the replica count in the topology, if it has one."""
    return fields.number(get_entry(obj, entry) or {}, ("replicas",))


def with_replicas(
    obj: Manifest, entry: TopologyReplicas, count: int | None
) -> Manifest:
    """The Cluster asking for so many; with None not saying how many."""
    if count is None:
        return _changed(obj, entry, lambda item: _without(item, "replicas"))
    return _changed(obj, entry, lambda item: {**item, "replicas": count})


def annotations_of(obj: Manifest, entry: TopologyReplicas) -> Manifest:
    """Those that the topology puts on what it makes of an entry."""
    return fields.annotations_of(get_entry(obj, entry) or {})


def with_annotations(
    obj: Manifest, entry: TopologyReplicas, values: Mapping[str, str | None]
) -> Manifest:
    """The Cluster with other annotations on an entry; None takes one off."""

    def changed(item: Manifest) -> Manifest:
        annotations = {**fields.annotations_of(item), **values}
        remaining = {k: v for k, v in annotations.items() if v is not None}
        metadata = _without(fields.mapping(item, ("metadata",)), "annotations")
        # The server refuses mappings that are empty here.
        if remaining:
            metadata = {**metadata, "annotations": remaining}
        bare = _without(item, "metadata")
        return {**bare, "metadata": metadata} if metadata else bare

    return _changed(obj, entry, changed)


def merge_patch(obj: Manifest, entry: TopologyReplicas) -> dict[str, Any]:
    """What a merge patch has to hold to make a Cluster's entry so.

    A list is one value to it, so that it holds all entries, and the version
    of the Cluster that they were read from.
    """
    metadata = {
        key: obj["metadata"][key] for key in ("uid", "resourceVersion")
    }
    at: Any = get_entry(obj, entry)
    where: tuple[str, ...] = (CONTROL_PLANE,)
    if entry.section:
        where = ("workers", entry.section)
        at = list(fields.mappings(obj, (*TOPOLOGY, *where)))
    for key in reversed((*TOPOLOGY, *where)):
        at = {key: at}
    return {"metadata": metadata, **at}


def _changed(obj: Manifest, entry: TopologyReplicas, change: Any) -> Manifest:
    if get_entry(obj, entry) is None:
        return obj
    topology = dict(fields.mapping(obj, TOPOLOGY))
    if entry.section:
        workers = dict(fields.mapping(topology, ("workers",)))
        workers[entry.section] = list(
            _with_changed(workers[entry.section], entry.name, change)
        )
        topology["workers"] = workers
    else:
        own = fields.mapping(topology, (CONTROL_PLANE,))
        topology[CONTROL_PLANE] = change(own)
    return {**obj, "spec": {**obj["spec"], "topology": topology}}


def _with_changed(listed: Any, name: str, change: Any) -> Iterator[Any]:
    for item in listed:
        same = isinstance(item, Mapping) and item.get("name") == name
        yield change(item) if same else item


def _without(item: Manifest, key: str) -> Manifest:
    return {name: value for name, value in item.items() if name != key}
