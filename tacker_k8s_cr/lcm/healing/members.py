"""Find the members of an object: its Pods or Machines."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.engine import topology_targets
from tacker_k8s_cr.kinds import pods
from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.plan.inventory import Inventory

NODES: Mapping[GroupKind, Path] = {
    GroupKind("", "Pod"): ("spec", "nodeName"),
    GroupKind("cluster.x-k8s.io", "Machine"): ("status", "nodeRef", "name"),
}
"""Kinds of members, with the field that names the node of each."""

POOL = GroupKind(contract.GROUP, "MachinePool")

DAEMON_SET = GroupKind("apps", "DaemonSet")

TERMINATED_PHASES = ("Succeeded", "Failed")
"""Phases of a Pod that has terminated."""


@dataclasses.dataclass(frozen=True)
class Member:
    """A Pod or Machine.

    :param owner: the object that it belongs to, such as a Deployment.
    :param node: on which it runs, or which it is; empty while unknown.
    """

    ref: ObjectRef
    uid: str
    owner: ObjectRef
    node: str = ""


def by_vdu(
    cluster: Cluster, registry: Registry, inventory: Inventory
) -> dict[str, tuple[Member, ...]]:
    """Return the members of each VDU of an instance, in the order of names.

    An object that was deleted or recreated has none.
    """
    found: dict[str, tuple[Member, ...]] = {}
    for vdu, ref, obj in topology_targets.scale_targets_by_vdu(
        cluster, inventory
    ):
        if obj and (entry := topology_replicas.parse_ref(ref)):
            obj = topology_targets.scale_target_of(cluster, obj, entry)
        found[vdu] = members_of(cluster, registry, obj) if obj else ()
    return {vdu: found[vdu] for vdu in inventory.vdus}


def members_of(
    cluster: Cluster, registry: Registry, obj: Manifest
) -> tuple[Member, ...]:
    """Return the members of one object, found by owner references."""
    owner = ObjectRef.of(obj)
    return tuple(
        sorted(
            (
                Member(
                    ObjectRef.of(member_obj),
                    objects.uid(member_obj),
                    owner,
                    objects.field(
                        member_obj, NODES[GroupKind.of(member_obj)], ""
                    ),
                )
                for group in find_replica_groups(cluster, registry, obj)
                for member_obj in group.members
                if is_active(member_obj)
            ),
            key=lambda member: member.ref,
        )
    )


@dataclasses.dataclass(frozen=True)
class ReplicaGroup:
    """An object that maintains a replica count of members, and its members.

    :param controller: such as a ReplicaSet; the member itself, if an instance
        owns it directly.
    :param hidden: the API server has no objects for its members, as for a
        MachinePool whose provider creates no Machines.
    """

    controller: Manifest
    members: tuple[Manifest, ...]
    hidden: bool = False


def groups_by_owner(
    cluster: Cluster, registry: Registry, inventory: Inventory
) -> dict[ObjectRef, tuple[ReplicaGroup, ...]]:
    """Return the replica groups of an instance by owned object.

    Direct owners come before a Cluster, which has all their members too.
    """
    wanted = sorted(
        (
            ref
            for ref in inventory.owned
            if ref.group_kind in NODES
            or registry[ref.group_kind].child_selectors is not None
        ),
        key=lambda ref: (registry[ref.group_kind].rank, ref),
    )

    def read_groups(ref: ObjectRef) -> tuple[ReplicaGroup, ...]:
        obj = cluster.get(ref)
        if obj is None or objects.uid(obj) != inventory.owned[ref]:
            return ()
        return tuple(find_replica_groups(cluster, registry, obj))

    found = dict(results_or_raise(cluster.map_parallel(read_groups, wanted)))
    return {ref: found[ref] for ref in wanted}


def find_replica_groups(
    cluster: Cluster, registry: Registry, obj: Manifest
) -> Iterator[ReplicaGroup]:
    """Yield replica groups, including terminated and deleted members."""
    kind = GroupKind.of(obj)
    if kind in NODES:
        yield ReplicaGroup(obj, (obj,))
        return
    child_selectors = registry[kind].child_selectors
    if child_selectors is None or _is_empty(obj):
        return
    namespace = ObjectRef.of(obj).namespace
    own_members: list[Manifest] = []
    for child_kind, selector in child_selectors(obj):
        if not selector and child_kind != pods.JOB:
            # It would select everything in the namespace.
            continue
        children = [
            child
            for child in cluster.list_objects(child_kind, namespace, selector)
            if objects.uid(obj) in _owners(child)
        ]
        if child_kind in NODES:
            own_members.extend(children)
            continue
        for child in children:
            yield from find_replica_groups(cluster, registry, child)
    if own_members or any(
        child_kind in NODES for child_kind, _ in child_selectors(obj)
    ):
        yield ReplicaGroup(
            obj,
            tuple(own_members),
            not own_members and _hides_members(cluster, obj),
        )
    for control_plane in _control_planes(cluster, registry, obj):
        yield from find_replica_groups(cluster, registry, control_plane)


def _hides_members(cluster: Cluster, controller: Manifest) -> bool:
    """Return whether it is a pool whose provider creates no Machines.

    By the contract, its infrastructure object otherwise names their kind.
    """
    if GroupKind.of(controller) != POOL:
        return False
    path = ("spec", "template", "spec", "infrastructureRef")
    ref = contract.resolve_reference(controller, path)
    try:
        infrastructure = cluster.get(ref) if ref else None
    except (errors.Forbidden, errors.KindNotServed):
        return True
    return not objects.field(
        infrastructure, ("status", "infrastructureMachineKind")
    )


def _control_planes(
    cluster: Cluster, registry: Registry, obj: Manifest
) -> Iterator[Manifest]:
    """Yield the control plane of a Cluster, generated or referenced."""
    children = registry[GroupKind.of(obj)].references
    for ref in children(obj) if children else ():
        if ref.group == contract.CONTROL_PLANE_GROUP:
            found = cluster.get(ref)
            if found is not None and objects.uid(obj) in _owners(found):
                yield found


def _owners(obj: Manifest) -> set[str]:
    listed = objects.field(obj, ("metadata", "ownerReferences"), ())
    return {str(reference.get("uid")) for reference in listed}


def is_active(obj: Manifest) -> bool:
    return not objects.field(obj, ("metadata", "deletionTimestamp")) and not (
        ObjectRef.of(obj).kind == "Pod"
        and objects.field(obj, ("status", "phase")) in TERMINATED_PHASES
    )


def is_current(registry: Registry, member: Manifest) -> bool:
    ref = ObjectRef.of(member)
    handler = registry.override_for(ref) or registry[ref.group_kind]
    return handler.assess(member).state is State.CURRENT


def desired_count(controller: Manifest, registry: Registry) -> int | None:
    """Return the desired number of members; None if it is unknown."""
    kind = GroupKind.of(controller)
    path = registry[kind].replicas or ("spec", "replicas")
    if kind == DAEMON_SET:
        path = ("status", "desiredNumberScheduled")
    found = objects.field(controller, path)
    return found if isinstance(found, int) else None


def _is_empty(obj: Manifest) -> bool:
    """Return whether a former ReplicaSet or MachineSet has no replicas."""
    return objects.field(obj, ("spec", "replicas")) == 0 and not objects.field(
        obj, ("status", "replicas"), 0
    )
