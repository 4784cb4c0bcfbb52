"""Who does an object's work: the Pods, or the Machines, that came of it."""

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
"""Kinds of members, and the field that holds the node of each, or that
identifies the node."""

POOL = GroupKind(contract.GROUP, "MachinePool")

DAEMONS = GroupKind("apps", "DaemonSet")

ENDED = ("Succeeded", "Failed")
"""Phases of a Pod that works no more."""


@dataclasses.dataclass(frozen=True)
class Member:
    """A Pod or Machine.

    :param owner: the object that it works for, such as a Deployment.
    :param node: where it runs or which node it is; empty as long as it is
        not known.
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
        found[vdu] = of(cluster, registry, obj) if obj else ()
    return {vdu: found[vdu] for vdu in inventory.vdus}


def of(
    cluster: Cluster, registry: Registry, obj: Manifest
) -> tuple[Member, ...]:
    """The members of one object, found by owner references, not by names."""
    owner = ObjectRef.of(obj)
    return tuple(
        sorted(
            (
                Member(
                    ObjectRef.of(leaf),
                    objects.uid(leaf),
                    owner,
                    objects.field(leaf, NODES[GroupKind.of(leaf)], ""),
                )
                for crew in replica_groups(cluster, registry, obj)
                for leaf in crew.members
                if is_active(leaf)
            ),
            key=lambda member: member.ref,
        )
    )


@dataclasses.dataclass(frozen=True)
class ReplicaGroup:
    """An object that maintains a replica count of members, and its members.

    :param keeper: such as a ReplicaSet; a member itself, where an instance
        owns it directly.
    :param hidden: whether the API server has no objects for its members, as
        with the machines of a pool whose provider shows none.
    """

    keeper: Manifest
    members: tuple[Manifest, ...]
    hidden: bool = False


def of_instance(
    cluster: Cluster, registry: Registry, inventory: Inventory
) -> dict[ObjectRef, tuple[ReplicaGroup, ...]]:
    """By object of an instance, what keeps members for it.

    Who keeps them directly comes before a Cluster, which has them all.
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

    def look(ref: ObjectRef) -> tuple[ReplicaGroup, ...]:
        obj = cluster.get(ref)
        if obj is None or objects.uid(obj) != inventory.owned[ref]:
            return ()
        return tuple(replica_groups(cluster, registry, obj))

    found = dict(results_or_raise(cluster.map_parallel(look, wanted)))
    return {ref: found[ref] for ref in wanted}


def replica_groups(
    cluster: Cluster, registry: Registry, obj: Manifest
) -> Iterator[ReplicaGroup]:
    """Whatever keeps members for an object, with those that ended or go."""
    kind = GroupKind.of(obj)
    if kind in NODES:
        yield ReplicaGroup(obj, (obj,))
        return
    made = registry[kind].child_selectors
    if made is None or _empty(obj):
        return
    namespace = ObjectRef.of(obj).namespace
    own: list[Manifest] = []
    for below, selector in made(obj):
        if not selector and below != pods.JOB:
            # Everything in the namespace, which selects no workload.
            continue
        children = [
            child
            for child in cluster.list_objects(below, namespace, selector)
            if objects.uid(obj) in _owners(child)
        ]
        if below in NODES:
            own.extend(children)
            continue
        for child in children:
            yield from replica_groups(cluster, registry, child)
    if own or any(below in NODES for below, _ in made(obj)):
        yield ReplicaGroup(obj, tuple(own), not own and _hides(cluster, obj))
    for used in _control_planes(cluster, registry, obj):
        yield from replica_groups(cluster, registry, used)


def _hides(cluster: Cluster, keeper: Manifest) -> bool:
    """Return whether it is a pool whose provider shows no Machines.

    By the contract its infrastructure object names their kind if it does.
    """
    if GroupKind.of(keeper) != POOL:
        return False
    where = ("spec", "template", "spec", "infrastructureRef")
    ref = contract.resolve_reference(keeper, where)
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
    """The control plane of a Cluster, which made it or was given it."""
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
        and objects.field(obj, ("status", "phase")) in ENDED
    )


def is_current(registry: Registry, member: Manifest) -> bool:
    ref = ObjectRef.of(member)
    handler = registry.override_for(ref) or registry[ref.group_kind]
    return handler.assess(member).state is State.CURRENT


def desired_count(keeper: Manifest, registry: Registry) -> int | None:
    """How many members are kept; None where that is not said."""
    kind = GroupKind.of(keeper)
    path = registry[kind].replicas or ("spec", "replicas")
    if kind == DAEMONS:
        path = ("status", "desiredNumberScheduled")
    found = objects.field(keeper, path)
    return found if isinstance(found, int) else None


def _empty(obj: Manifest) -> bool:
    """A former ReplicaSet or MachineSet: nothing wanted, nothing there."""
    return objects.field(obj, ("spec", "replicas")) == 0 and not objects.field(
        obj, ("status", "replicas"), 0
    )
