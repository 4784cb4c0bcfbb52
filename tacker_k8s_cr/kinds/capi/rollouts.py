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
CLUSTER_CLASS = GroupKind(contract.GROUP, "ClusterClass")
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
        group_kind in (CLUSTER, CLUSTER_CLASS, DEPLOYMENT, POOL)
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
        return RolloutEffect() if _replaces_machines(path) else None
    if group_kind == POOL:
        return (
            RolloutEffect(certain=False) if _replaces_machines(path) else None
        )
    if group_kind.group == contract.CONTROL_PLANE_GROUP:
        return _control_plane_effect(group_kind, path)
    if group_kind == CLUSTER and path[:1] == ("topology",):
        return _topology_effect(path[1:])
    if group_kind == CLUSTER_CLASS:
        return _class_effect(path)
    return None


def worker_group_path(
    group_kind: GroupKind, where: Where
) -> tuple[str | int, ...]:
    """Where the group of workers stands that a field is of.

    Of a Cluster with a topology, or of a class; empty for another field.
    """
    before = {CLUSTER: ("spec", "topology"), CLUSTER_CLASS: ("spec",)}
    start = before.get(group_kind)
    if start is None or tuple(where[: len(start)]) != start:
        return ()
    rest = tuple(where[len(start) :])
    if len(rest) < 3 or rest[0] != "workers":
        return ()
    return (*start, *rest[:3])


def _is_rollout_after(path: tuple[str | int, ...]) -> bool:
    """A moment after which machines count as old."""
    return path[:1] == ("rolloutAfter",) or path[:2] == ("rollout", "after")


def _replaces_machines(path: tuple[str | int, ...]) -> bool:
    if _is_rollout_after(path):
        return True
    if path[:2] != ("template", "spec") or len(path) < 3:
        return False
    # Of a reference only what it names counts, not its version.
    return path[2] not in _IN_PLACE and path[-1] != "apiVersion"


def _control_plane_effect(
    group_kind: GroupKind, path: tuple[str | int, ...]
) -> RolloutEffect | None:
    if path[:1] == ("version",) or _is_rollout_after(path):
        return RolloutEffect()
    if path[:1] == ("machineTemplate",):
        reference = "infrastructureRef" in path[1:3]
        is_replaced = reference and path[-1] != "apiVersion"
        return RolloutEffect() if is_replaced else None
    if path[:1] == ("kubeadmConfigSpec",) and group_kind == KUBEADM:
        return RolloutEffect()
    in_place = ("replicas", "rolloutStrategy", "rollout", "remediation")
    if path[:1] and path[0] in (
        *in_place,
        "remediationStrategy",
        "machineNaming",
    ):
        return None
    is_kubeadm = group_kind == KUBEADM
    return None if is_kubeadm else RolloutEffect(certain=False)


def _topology_effect(path: tuple[str | int, ...]) -> RolloutEffect | None:
    if path[:1] == ("version",):
        return RolloutEffect("control plane, then all workers")
    if path[:1] and path[0] in ("class", "classRef", "variables"):
        return RolloutEffect("as its class has it", certain=False)
    if _is_rollout_after(path):
        return RolloutEffect("control plane and all workers")
    is_control_plane = path[:1] == ("controlPlane",)
    if is_control_plane and path[1:2] in (("variables",), ("rollout",)):
        return RolloutEffect("control plane", certain=False)
    if path[:1] == ("workers",) and len(path) > 3:
        name = str(path[2]).removeprefix('[name="').removesuffix('"]')
        if path[3] == "class" or path[3] in ("variables", "failureDomain"):
            return RolloutEffect(f"workers {name}", path[3] == "failureDomain")
        if _is_rollout_after(path[3:]):
            return RolloutEffect(f"workers {name}")
    return None


def _class_effect(path: tuple[str | int, ...]) -> RolloutEffect | None:
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


def worker_group_names(cluster: Manifest) -> tuple[str, ...]:
    """The names of the groups of workers that a topology asks for."""
    return tuple(
        fields.text(entry, ("name",))
        for entry in clusters.worker_entries(cluster)
    )


def has_on_delete_strategy(deployment: Manifest) -> bool:
    """Whether machines take a change only when they are deleted."""
    return GroupKind.of(
        deployment
    ) == DEPLOYMENT and rollout_strategy.is_on_delete(
        fields.mapping(deployment, ("spec",))
    )


def resumes_rollout(live: Manifest, dry_run: Manifest) -> bool:
    """Whether machines that have been left as they were are let go."""
    resumes = has_on_delete_strategy(live) and not has_on_delete_strategy(
        dry_run
    )
    return resumes and outdated_machines(live) > 0


def is_strategy(where: Where) -> bool:
    """Whether a field is the rollout strategy of machines."""
    return tuple(where[1:]) in rollout_strategy.PATHS


def outdated_machines(deployment: Manifest) -> int:
    """How many machines have not taken a change, as far as is reported."""
    deprecated = ("status", "deprecated", "v1beta1", "updatedReplicas")
    for path in (
        ("status", "upToDateReplicas"),
        ("status", "updatedReplicas"),
        deprecated,
    ):
        updated = fields.number(deployment, path)
        if updated is not None:
            return max(0, (machine_count(deployment) or 0) - updated)
    return 0


def machine_count(obj: Manifest) -> int | None:
    """Return the number of machines of an object, if it has a count."""
    kind = GroupKind.of(obj)
    if kind != CLUSTER:
        replicas = fields.number(obj, ("status", "replicas"))
        if replicas is None:
            replicas = fields.number(obj, contract.REPLICAS)
        return replicas
    status: Mapping[str, object] = fields.mapping(obj, ("status",))
    counts = [
        fields.number(status, (group, "replicas"))
        for group in ("controlPlane", "workers")
    ]
    reported = [number for number in counts if number is not None]
    return sum(reported) if reported else None
