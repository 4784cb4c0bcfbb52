"""Autoscalers that keep a number, and the bounds between which they do."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.kinds import scaling
from tacker_k8s_cr.kinds.entries import Entry
from tacker_k8s_cr.kinds.scaling import Bounds
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef

HPA = GroupKind("autoscaling", "HorizontalPodAutoscaler")

UNSEEN = (
    "whether a HorizontalPodAutoscaler keeps its number is not known: they "
    "may not be listed in this namespace"
)


@dataclasses.dataclass(frozen=True)
class Keeper:
    """Who keeps a number.

    :param ref: of a HorizontalPodAutoscaler, else of what has the
        annotations of the cluster autoscaler: an object, or an entry of a
        topology.
    :param why: in words.
    :param bounds: None where somebody keeps it who has none.
    """

    ref: ObjectRef
    uid: str
    why: str
    bounds: Bounds | None = None

    def around(self, number: int) -> Bounds | None:
        """The bounds for such a number.

        A HorizontalPodAutoscaler leaves alone what has no replicas at all,
        and may not have 0 as its lower bound.
        """
        if self.bounds is None or (number == 0 and self.ref.group_kind == HPA):
            return self.bounds
        return self.bounds.around(number)


def keeper(
    cluster: Cluster, bearer: Manifest, obj: Manifest, entry: Entry | None
) -> tuple[Keeper | None, tuple[str, ...]]:
    """Who keeps the number of an object, if anybody, and what to know.

    :param obj: the object itself, or the Cluster whose topology made it.
    """
    ref = ObjectRef.of(bearer)
    if why := scaling.autoscaled(bearer):
        notes = objects.field(bearer, ("metadata", "annotations"), {})
        found = scaling.annotated_bounds(notes)
        if scaling.MANAGED_BY in notes:
            found = None
        where = entry.ref if entry else ref
        return Keeper(where, objects.uid(obj), why, found), ()
    try:
        listed = list(cluster.list_objects(HPA, ref.namespace))
    except errors.KindUnknown:
        return None, ()
    except errors.Forbidden:
        # Who may not look cannot tell; the number is set as it is asked.
        return None, (UNSEEN,)
    hpa = scaling.hpa_of(listed, ref)
    why = scaling.hpa_for(listed, ref)
    if hpa is None or why is None:
        return None, ()
    found = scaling.hpa_bounds(hpa)
    return Keeper(ObjectRef.of(hpa), objects.uid(hpa), why, found), ()


def check(
    keeper: Keeper,
    ref: ObjectRef,
    inventory: Inventory,
    noted: str | None,
    asked: str,
) -> None:
    """Raise NotScalable unless changing its limits is requested and allowed.

    :param noted: refuse or move, from the annotation of the object.
    :param asked: the same, from the operation, for objects without annotation.
    """
    if keeper.bounds is None:
        raise errors.NotScalable(ref, keeper.why)
    if entries.owner(keeper.ref) not in inventory.owned:
        raise errors.NotScalable(
            ref,
            f"{keeper.why}, and its bounds are not to be moved: it is no "
            f"object of the instance {inventory.instance}",
        )
    if (noted or asked) != scaling.MOVE:
        raise errors.NotScalable(
            ref,
            f"{keeper.why}; its bounds are moved when that is asked for "
            "(autoscaled: move)",
            movable=not noted,
        )


def moved(
    cluster: Cluster, keeper: Keeper, wanted: Bounds, manager: str
) -> None:
    """Move the bounds, and change nothing else."""
    if entry := entries.named(keeper.ref):
        _in_topology(cluster, keeper, entry, wanted, manager)
        return
    body: Mapping[str, Any]
    if keeper.ref.group_kind == HPA:
        spec = {"minReplicas": wanted.least, "maxReplicas": wanted.most}
        body = {"metadata": {"uid": keeper.uid}, "spec": spec}
    else:
        notes = scaling.as_annotations(wanted)
        body = {"metadata": {"uid": keeper.uid, "annotations": notes}}
    cluster.patch(keeper.ref, body, manager)


def _in_topology(
    cluster: Cluster,
    keeper: Keeper,
    entry: Entry,
    wanted: Bounds,
    manager: str,
) -> None:
    """A list goes whole: one that was written meanwhile is read again."""
    notes = scaling.as_annotations(wanted)
    while True:
        obj = cluster.get(entry.cluster)
        if obj is None or objects.uid(obj) != keeper.uid:
            raise errors.NotScalable(keeper.ref, "is gone from the cluster")
        changed = entries.with_notes(obj, entry, notes)
        try:
            cluster.patch(
                entry.cluster, entries.patch(changed, entry), manager
            )
        except errors.Outdated:
            continue
        return
