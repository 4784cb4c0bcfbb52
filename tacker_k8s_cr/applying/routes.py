"""Whose a number of replicas is, and by which way it is set."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.applying import bearers
from tacker_k8s_cr.applying import bounds
from tacker_k8s_cr.applying import replicas
from tacker_k8s_cr.applying.bounds import Keeper
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.kinds import scaling
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.entries import Entry
from tacker_k8s_cr.kinds.scaling import Bounds
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Path
from tacker_k8s_cr.planning import placing

LACKING = (
    "has no number of replicas that can be set: its kind has no scale "
    "sub-resource"
)


@dataclasses.dataclass(frozen=True)
class Target:
    """A number that may be set, and by which way.

    :param ref: by which the inventory knows the number.
    :param written: the object that is written.
    :param uid: of that object.
    :param path: in the object; None to use the scale sub-resource.
    :param entry: in whose place the number goes into a Cluster's topology.
    :param bearer: what the topology makes of it, or the object itself.
    :param before: the number so far, where it could be read.
    :param keeper: the autoscaler whose bounds are moved to ``bounds``.
    :param notes: what a reader has to know.
    """

    ref: ObjectRef
    written: ObjectRef
    uid: str
    number: int
    path: Path | None = None
    entry: Entry | None = None
    bearer: Manifest | None = None
    before: int | None = None
    keeper: Keeper | None = None
    bounds: Bounds | None = None
    notes: tuple[str, ...] = ()


def named(cluster: Cluster, inventory: Inventory, ref: ObjectRef) -> ObjectRef:
    """By which the inventory knows the number that somebody means.

    What a topology makes may be named by its own name too.
    """
    if entries.named(ref) or "/" in ref.name:
        return ref
    obj = cluster.get(ref)
    entry = scaling.topology_entry(obj) if obj else None
    if entry and entry.cluster in inventory.owned:
        return entry.ref
    return ref


def checked(
    cluster: Cluster,
    inventory: Inventory,
    registry: Registry,
    wanted: Mapping[ObjectRef, int],
    autoscaled: str = scaling.REFUSE,
) -> tuple[Target, ...]:
    """The ways to set these numbers. Raises NotScalable; writes nothing.

    Who goes back to the number before a scale that ended early gets the
    bounds before as well, whatever is said of autoscalers.

    :param autoscaled: what to do where an autoscaler has the number, if
        the object's annotation does not say it.
    """
    return tuple(
        restored(cluster, inventory, registry, ref, number)
        if ref in inventory.bounds and inventory.scaling.get(ref) == number
        else _checked(cluster, inventory, registry, ref, number, autoscaled)
        for ref, number in wanted.items()
    )


def restored(
    cluster: Cluster,
    inventory: Inventory,
    registry: Registry,
    ref: ObjectRef,
    number: int,
) -> Target:
    """The way back to a number, and to the bounds of an autoscaler."""
    before = inventory.bounds.get(ref)
    way = scaling.REFUSE if before is None else scaling.MOVE
    target = _checked(cluster, inventory, registry, ref, number, way)
    return dataclasses.replace(target, bounds=before)


def _checked(
    cluster: Cluster,
    inventory: Inventory,
    registry: Registry,
    ref: ObjectRef,
    number: int,
    autoscaled: str,
) -> Target:
    if number < 0:
        raise errors.NotScalable(ref, f"{number} replicas cannot be")
    entry = entries.named(ref)
    written = entry.cluster if entry else ref
    uid = inventory.owned.get(written)
    if uid is None:
        raise errors.NotScalable(
            ref, f"is not an object of the instance {inventory.instance}"
        )
    obj = cluster.get(written)
    if obj is None or objects.uid(obj) != uid:
        raise errors.NotScalable(ref, "is gone from the cluster")
    bearer = _bearer(cluster, obj, entry) if entry else obj
    if entry is None and (why := scaling.topology_owned(obj)):
        raise errors.NotScalable(ref, why)
    handler = registry[ObjectRef.of(bearer).group_kind]
    if handler.refuse_replicas and (
        why := handler.refuse_replicas(bearer, number)
    ):
        raise errors.NotScalable(ref, why)
    keeper, notes = bounds.keeper(cluster, bearer, obj, entry)
    if keeper:
        noted = objects.annotation(bearer, "autoscaled")
        bounds.check(keeper, ref, inventory, noted, autoscaled)
    target = Target(
        ref,
        written,
        uid,
        number,
        entry=entry,
        bearer=bearer,
        keeper=keeper,
        bounds=keeper.around(number) if keeper else None,
        notes=notes,
    )
    if entry:
        return _in_topology(target, obj, entry, bearer)
    return _of_object(cluster, registry, target, bearer)


def _bearer(cluster: Cluster, obj: Manifest, entry: Entry) -> Manifest:
    if entries.content(obj, entry) is None:
        has = ", ".join(found.ref.name for found in entries.of(obj))
        raise errors.NotScalable(
            entry.ref,
            f"the topology has no such entry; it has: {has or 'none'}",
        )
    bearer = bearers.of(cluster, obj, entry)
    if bearer is None:
        raise errors.NotScalable(
            entry.ref, "nothing has been made of this entry yet"
        )
    return bearer


def _in_topology(
    target: Target, obj: Manifest, entry: Entry, bearer: Manifest
) -> Target:
    """An entry with an autoscaler leaves the number to what is made of it.

    The topology may not name the number there, and does not take it back.
    """
    shown = entries.number(obj, entry)
    before = (
        objects.field(bearer, replicas.REPLICAS) if shown is None else (shown)
    )
    if target.keeper and target.keeper.ref == entry.ref:
        return dataclasses.replace(
            target,
            written=ObjectRef.of(bearer),
            uid=objects.uid(bearer),
            entry=None,
            before=before,
        )
    return dataclasses.replace(target, before=before)


def _of_object(
    cluster: Cluster, registry: Registry, target: Target, obj: Manifest
) -> Target:
    kind = target.written.group_kind
    path = replicas.path_of(registry, kind)
    before = objects.field(obj, path)
    target = dataclasses.replace(
        target, before=before if isinstance(before, int) else None
    )
    if "scale" in cluster.resource(kind).subresources:
        return target
    if registry[kind].replicas is None:
        raise errors.NotScalable(target.ref, LACKING)
    return dataclasses.replace(target, path=path)


def bounds_moved(cluster: Cluster, target: Target, manager: str) -> bool:
    """Move the bounds of an autoscaler, where they are others.

    That goes before the number, so that it does not take that back.
    """
    keeper, wanted = target.keeper, target.bounds
    if keeper is None or wanted is None or keeper.bounds == wanted:
        return False
    bounds.moved(cluster, keeper, wanted, manager)
    return True


def ask(
    cluster: Cluster,
    target: Target,
    manager: str,
    sent: Callable[[], None] = lambda: None,
) -> Manifest:
    """Send the number, and only that; the object that was written.

    :param sent: told once the number is set: the object may yet have to be
        read, which may fail.
    """
    if target.entry:
        return into_topology(cluster, target, target.entry, manager)
    if target.path is None:
        cluster.patch(
            target.written,
            {"spec": {"replicas": target.number}},
            manager,
            subresource="scale",
        )
        sent()
        # It answers with a Scale, which has no generation.
        obj = cluster.get(target.written)
        if obj is None:
            raise errors.NotScalable(target.ref, "is gone from the cluster")
        return obj
    uid = {"metadata": {"uid": target.uid}}
    body = placing.set_field(uid, target.path, target.number)
    return cluster.patch(target.written, body, manager)


def into_topology(
    cluster: Cluster, target: Target, entry: Entry, manager: str
) -> Manifest:
    """Set the number of an entry, and change nothing else of the Cluster.

    A list can only be sent whole, so that a Cluster that somebody else has
    written meanwhile is read again.
    """
    while True:
        obj = cluster.get(entry.cluster)
        if obj is None or objects.uid(obj) != target.uid:
            raise errors.NotScalable(target.ref, "is gone from the cluster")
        if entries.number(obj, entry) == target.number:
            return obj
        changed = entries.with_number(obj, entry, target.number)
        try:
            return cluster.patch(
                entry.cluster, entries.patch(changed, entry), manager
            )
        except errors.Outdated:
            continue


def places(
    cluster: Cluster, inventory: Inventory
) -> Iterator[tuple[ObjectRef, ObjectRef]]:
    """Each number in the topologies of an instance's Clusters.

    With the object that the topology has made of it; itself for none.
    """
    for ref in sorted(inventory.owned):
        if ref.group_kind != entries.CLUSTER:
            continue
        obj = cluster.get(ref)
        if obj is None or objects.uid(obj) != inventory.owned[ref]:
            continue
        for entry in entries.of(obj):
            made = bearers.of(cluster, obj, entry)
            yield entry.ref, ObjectRef.of(made) if made else entry.ref
