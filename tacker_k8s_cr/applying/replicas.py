"""Whose a number of replicas is, and how it is set."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import ownership
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.kinds import scaling
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Path
from tacker_k8s_cr.package import numbers
from tacker_k8s_cr.package import targets
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.planning.plan import Live

AUTOSCALER = GroupKind("autoscaling", "HorizontalPodAutoscaler")

REPLICAS: Path = ("spec", "replicas")
"""Where a kind with a scale sub-resource and no handler has its number.

The definition may name another path; the sub-resource hides it, but a
manifest of the package has to be read.
"""


@dataclasses.dataclass(frozen=True)
class Target:
    """An object whose number may be set, and by which way.

    :param path: in the object; None to use the scale sub-resource.
    :param before: the number so far, where it could be read.
    """

    ref: ObjectRef
    uid: str
    number: int
    path: Path | None = None
    before: int | None = None


# -- What a package asks for -------------------------------------------------


def vdus(
    package: Package,
    items: Sequence[Placed],
    registry: Registry,
    subresources: Mapping[GroupKind, frozenset[str]],
    mapping: Mapping[str, str] | None = None,
) -> dict[str, ObjectRef]:
    """The object that bears the number of each VDU, as it is placed."""

    def scalable(manifest: Manifest) -> bool:
        kind = GroupKind.of(manifest)
        known = registry[kind].replicas is not None
        return known or "scale" in subresources.get(kind, ())

    documents = tuple(Document(item.manifest, item.where) for item in items)
    placed = dataclasses.replace(package, documents=documents)
    return targets.by_vdu(placed, scalable, mapping)


def numbered(
    items: Sequence[Placed],
    registry: Registry,
    wanted: Mapping[ObjectRef, int],
) -> tuple[Placed, ...]:
    """The manifests with the numbers that the VNFD's levels give.

    They win over those in the manifests, at instantiate as at scale.
    """
    return tuple(
        placing.with_replicas(
            item, _path(registry, item.ref.group_kind), wanted[item.ref]
        )
        if item.ref in wanted
        else item
        for item in items
    )


def carried(
    cluster: Cluster,
    items: Sequence[Placed],
    registry: Registry,
    live: Mapping[ObjectRef, Live],
    subresources: Mapping[GroupKind, frozenset[str]],
) -> tuple[Placed, ...]:
    """The manifests with the numbers that objects which exist have now.

    A number that our Apply entry owns is sent as it is; one that somebody
    else owns by now, after a scale or by an autoscaler, is left out. So
    applying a package again never changes a number, nor does a package that
    no longer names it.
    """
    numbered_ = _numbered(items, registry, live, subresources)
    found: dict[ObjectRef, Placed] = {}
    for item, obj in raised(
        cluster.each(lambda item: cluster.get(item.ref), numbered_)
    ):
        if obj is None:
            continue
        path = _path(registry, item.ref.group_kind)
        manager = objects.MANAGER + objects.labels(item.manifest).get(
            objects.INSTANCE, ""
        )
        number = (
            objects.field(obj, path)
            if ownership.owns(obj, manager, path)
            else None
        )
        found[item.ref] = placing.with_replicas(item, path, number)
    return tuple(found.get(item.ref, item) for item in items)


def counted(
    items: Sequence[Placed],
    registry: Registry,
    live: Mapping[ObjectRef, Live],
    subresources: Mapping[GroupKind, frozenset[str]],
) -> dict[ObjectRef, Live]:
    """With the places of numbers that are sent as the objects have them.

    By the time that is done, an autoscaler may have moved them.
    """
    found = dict(live)
    for item in _numbered(items, registry, live, subresources):
        path = _path(registry, item.ref.group_kind)
        if objects.field(item.manifest, path) is not None:
            found[item.ref] = dataclasses.replace(live[item.ref], count=path)
    return found


def _numbered(
    items: Sequence[Placed],
    registry: Registry,
    live: Mapping[ObjectRef, Live],
    subresources: Mapping[GroupKind, frozenset[str]],
) -> list[Placed]:
    """Those that are there, and are of a kind that has such a number."""
    return [
        item
        for item in items
        if item.ref in live
        and (
            registry[item.ref.group_kind].replicas is not None
            or "scale" in subresources.get(item.ref.group_kind, ())
        )
    ]


def _path(registry: Registry, kind: GroupKind) -> Path:
    return registry[kind].replicas or REPLICAS


def recorded(inventory: Inventory) -> dict[ObjectRef, int]:
    """The numbers that the instance last asked for, where it did."""
    found: dict[ObjectRef, int] = {}
    if vnfd := inventory.vnfd:
        levels = inventory.scale_levels
        if levels:
            asked = numbers.replicas(vnfd, levels)
        else:
            _, asked = numbers.at_level(vnfd, "")
        found = {
            ref: asked[vdu]
            for vdu, ref in inventory.vdus.items()
            if vdu in asked
        }
    return {**found, **inventory.numbers}


# -- Scaling -----------------------------------------------------------------


def of_aspect(
    inventory: Inventory, aspect: str, steps: int, level: int | None
) -> tuple[dict[str, int], dict[ObjectRef, int]]:
    """Scale levels after scaling an aspect, and the objects' numbers then."""
    vnfd = inventory.vnfd
    if vnfd is None:
        raise errors.RequestInvalid(
            f"scale: the package of {inventory.instance} has no VNFD, so no "
            f"aspect {aspect}; name an object and its number of replicas"
        )
    now = dict(inventory.scale_levels)
    if level is not None:
        steps = level - now.get(aspect, 0)
    levels = dict(numbers.stepped(vnfd, now, aspect, steps))
    after = numbers.replicas(vnfd, levels)
    moved = vnfd.aspects[aspect].steps
    return levels, {
        inventory.vdus[vdu]: after[vdu] for vdu in moved if vdu in after
    }


def checked(
    cluster: Cluster,
    inventory: Inventory,
    registry: Registry,
    wanted: Mapping[ObjectRef, int],
) -> tuple[Target, ...]:
    """The ways to set these numbers. Raises NotScalable; writes nothing."""
    return tuple(
        _checked(cluster, inventory, registry, ref, number)
        for ref, number in wanted.items()
    )


def _checked(
    cluster: Cluster,
    inventory: Inventory,
    registry: Registry,
    ref: ObjectRef,
    number: int,
) -> Target:
    if number < 0:
        raise errors.NotScalable(ref, f"{number} replicas cannot be")
    uid = inventory.owned.get(ref)
    if uid is None:
        raise errors.NotScalable(
            ref, f"is not an object of the instance {inventory.instance}"
        )
    obj = cluster.get(ref)
    if obj is None or objects.uid(obj) != uid:
        raise errors.NotScalable(ref, "is gone from the cluster")
    if why := scaling.topology_owned(obj) or scaling.autoscaled(obj):
        raise errors.NotScalable(ref, why)
    if why := _autoscaler(cluster, ref):
        raise errors.NotScalable(ref, why)
    handler = registry[ref.group_kind]
    if handler.refuse_replicas and (
        why := handler.refuse_replicas(obj, number)
    ):
        raise errors.NotScalable(ref, why)
    before = objects.field(obj, handler.replicas or REPLICAS)
    before = before if isinstance(before, int) else None
    if "scale" in cluster.resource(ref.group_kind).subresources:
        return Target(ref, uid, number, None, before)
    if handler.replicas is None:
        raise errors.NotScalable(
            ref,
            "has no number of replicas that can be set: its kind has no "
            "scale sub-resource",
        )
    return Target(ref, uid, number, handler.replicas, before)


def _autoscaler(cluster: Cluster, ref: ObjectRef) -> str | None:
    """Why a HorizontalPodAutoscaler has the number, or None."""
    try:
        found = list(cluster.list_objects(AUTOSCALER, ref.namespace))
    except (errors.Forbidden, errors.KindUnknown):
        # Who may not look cannot tell; the number is then set as asked.
        return None
    return scaling.hpa_for(found, ref)


def found(
    cluster: Cluster, registry: Registry, inventory: Inventory
) -> dict[str, int | None]:
    """By VDU, the number that its object asks for now, whoever set it.

    None for an object that is gone, is another by now, or names none.
    """
    numbers_: dict[str, int | None] = {}
    for vdu, obj in raised(
        cluster.each(
            lambda vdu: cluster.get(inventory.vdus[vdu]), inventory.vdus
        )
    ):
        ref = inventory.vdus[vdu]
        if obj is None or objects.uid(obj) != inventory.owned.get(ref):
            numbers_[vdu] = None
        else:
            path = _path(registry, ref.group_kind)
            numbers_[vdu] = objects.field(obj, path)
    return numbers_


def ask(cluster: Cluster, target: Target, manager: str) -> None:
    """Send the number, and only that."""
    if target.path is None:
        cluster.patch(
            target.ref,
            {"spec": {"replicas": target.number}},
            manager,
            subresource="scale",
        )
    else:
        uid = {"metadata": {"uid": target.uid}}
        body = placing.set_field(uid, target.path, target.number)
        cluster.patch(target.ref, body, manager)


def asked(cluster: Cluster, target: Target) -> Manifest:
    """The object after its number was sent.

    A sub-resource answers with a Scale, which has no generation, so the
    object is read once.
    """
    obj = cluster.get(target.ref)
    if obj is None:
        raise errors.NotScalable(target.ref, "is gone from the cluster")
    return obj
