"""Which fields of an object make Cluster API replace machines.

Read off Cluster API 1.14: ``MachineTemplateDeepCopyRolloutFields`` of a
MachineDeployment, ``matchesMachineSpec`` of a KubeadmControlPlane. Other
fields reach the machines that are there, or only those that come later.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.capi import clusters
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import rollout_strategy
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest

Where = Sequence[str | int]

CLUSTER = GroupKind(contract.GROUP, "Cluster")
CLASS = GroupKind(contract.GROUP, "ClusterClass")
DEPLOYMENT = GroupKind(contract.GROUP, "MachineDeployment")
POOL = GroupKind(contract.GROUP, "MachinePool")
KUBEADM = GroupKind(contract.CONTROL_PLANE_GROUP, "KubeadmControlPlane")

_IN_PLACE = frozenset(
    {
        "clusterName",
        "deletion",
        "minReadySeconds",
        "nodeDeletionTimeout",
        "nodeDrainTimeout",
        "nodeVolumeDetachTimeout",
        "providerID",
        "readinessGates",
        "taints",
    }
)
"""Of the spec of a machine in a template."""


@dataclasses.dataclass(frozen=True)
class RolloutEffect:
    """That a field replaces machines.

    :param part: which of them, in words; empty for all of the object's.
    :param certain: whether it does so in any case, or as the provider or
        the patches of a class will have it.
    """

    part: str = ""
    certain: bool = True


def may_roll_machines(group_kind: GroupKind) -> bool:
    """Whether changes of such an object may replace machines at all."""
    return (
        group_kind in (CLUSTER, CLASS, DEPLOYMENT, POOL)
        or group_kind.group == contract.CONTROL_PLANE_GROUP
    )


def rollout_effect(
    group_kind: GroupKind, where: Where
) -> RolloutEffect | None:
    """What a change of the field does to machines; None for nothing."""
    if not where or where[0] != "spec":
        return None
    path = tuple(where[1:])
    if group_kind == DEPLOYMENT:
        return RolloutEffect() if _of_machines(path) else None
    if group_kind == POOL:
        return RolloutEffect(certain=False) if _of_machines(path) else None
    if group_kind.group == contract.CONTROL_PLANE_GROUP:
        return _of_control_plane(group_kind, path)
    if group_kind == CLUSTER and path[:1] == ("topology",):
        return _of_topology(path[1:])
    if group_kind == CLASS:
        return _of_class(path)
    return None


def pool(group_kind: GroupKind, where: Where) -> tuple[str | int, ...]:
    """Where the group of workers stands that a field is of.

    Of a Cluster with a topology, or of a class; empty for another field.
    """
    before = {CLUSTER: ("spec", "topology"), CLASS: ("spec",)}
    start = before.get(group_kind)
    if start is None or tuple(where[: len(start)]) != start:
        return ()
    rest = tuple(where[len(start) :])
    if len(rest) < 3 or rest[0] != "workers":
        return ()
    return (*start, *rest[:3])


def _at_once(path: tuple[str | int, ...]) -> bool:
    """A moment after which machines count as old."""
    return path[:1] == ("rolloutAfter",) or path[:2] == ("rollout", "after")


def _of_machines(path: tuple[str | int, ...]) -> bool:
    if _at_once(path):
        return True
    if path[:2] != ("template", "spec") or len(path) < 3:
        return False
    # Of a reference only what it names counts, not its version.
    return path[2] not in _IN_PLACE and path[-1] != "apiVersion"


def _of_control_plane(
    group_kind: GroupKind, path: tuple[str | int, ...]
) -> RolloutEffect | None:
    if path[:1] == ("version",) or _at_once(path):
        return RolloutEffect()
    if path[:1] == ("machineTemplate",):
        reference = "infrastructureRef" in path[1:3]
        named = reference and path[-1] != "apiVersion"
        return RolloutEffect() if named else None
    if path[:1] == ("kubeadmConfigSpec",) and group_kind == KUBEADM:
        return RolloutEffect()
    kept = ("replicas", "rolloutStrategy", "rollout", "remediation")
    if path[:1] and path[0] in (*kept, "remediationStrategy", "machineNaming"):
        return None
    known = group_kind == KUBEADM
    return None if known else RolloutEffect(certain=False)


def _of_topology(path: tuple[str | int, ...]) -> RolloutEffect | None:
    if path[:1] == ("version",):
        return RolloutEffect("control plane, then all workers")
    if path[:1] and path[0] in ("class", "classRef", "variables"):
        return RolloutEffect("as its class has it", certain=False)
    if _at_once(path):
        return RolloutEffect("control plane and all workers")
    part = path[:1] == ("controlPlane",)
    if part and path[1:2] in (("variables",), ("rollout",)):
        return RolloutEffect("control plane", certain=False)
    if path[:1] == ("workers",) and len(path) > 3:
        name = str(path[2]).removeprefix('[name="').removesuffix('"]')
        if path[3] == "class" or path[3] in ("variables", "failureDomain"):
            return RolloutEffect(f"workers {name}", path[3] == "failureDomain")
        if _at_once(path[3:]):
            return RolloutEffect(f"workers {name}")
    return None


def _of_class(path: tuple[str | int, ...]) -> RolloutEffect | None:
    """What the Clusters of a class see of its change."""
    refers = {"ref", "templateRef"} & set(path) and path[-1] != "apiVersion"
    if refers and path[:1] == ("controlPlane",):
        if "machineInfrastructure" in path:
            return RolloutEffect("control plane")
        return RolloutEffect("control plane", certain=False)
    if refers and path[:1] == ("workers",) and len(path) > 2:
        return RolloutEffect("workers of that class")
    if path[:1] and path[0] in ("patches", "variables"):
        return RolloutEffect("as its patches have it", certain=False)
    return None


def workers(cluster: Manifest) -> tuple[str, ...]:
    """The names of the groups of workers that a topology asks for."""
    return tuple(
        fields.text(entry, ("name",)) for entry in clusters.entries(cluster)
    )


def when_deleted(deployment: Manifest) -> bool:
    """Whether machines take a change only when they are deleted."""
    return GroupKind.of(
        deployment
    ) == DEPLOYMENT and rollout_strategy.is_on_delete(
        fields.mapping(deployment, ("spec",))
    )


def resumes_rollout(live: Manifest, would: Manifest) -> bool:
    """Whether machines that have been left as they were are let go."""
    left = when_deleted(live) and not when_deleted(would)
    return left and outdated_machines(live) > 0


def is_strategy(where: Where) -> bool:
    """Whether a field is the rollout strategy of machines."""
    return tuple(where[1:]) in rollout_strategy.PLACES


def outdated_machines(deployment: Manifest) -> int:
    """How many machines have not taken a change, as far as is reported."""
    kept = ("status", "deprecated", "v1beta1", "updatedReplicas")
    for path in (
        ("status", "upToDateReplicas"),
        ("status", "updatedReplicas"),
        kept,
    ):
        updated = fields.number(deployment, path)
        if updated is not None:
            return max(0, (machines(deployment) or 0) - updated)
    return 0


def machines(obj: Manifest) -> int | None:
    """Return the number of machines of an object, if it has a count."""
    kind = GroupKind.of(obj)
    if kind != CLUSTER:
        counted = fields.number(obj, ("status", "replicas"))
        if counted is None:
            counted = fields.number(obj, contract.REPLICAS)
        return counted
    status: Mapping[str, object] = fields.mapping(obj, ("status",))
    found = [
        fields.number(status, (group, "replicas"))
        for group in ("controlPlane", "workers")
    ]
    known = [number for number in found if number is not None]
    return sum(known) if known else None
