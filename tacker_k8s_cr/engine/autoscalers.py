"""Autoscalers that keep a number, and the bounds between which they do."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr.kinds import autoscaling
from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.autoscaling import ReplicaLimits
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory

HPA = GroupKind("autoscaling", "HorizontalPodAutoscaler")

UNSEEN = (
    "whether a HorizontalPodAutoscaler keeps its number is not known: they "
    "may not be listed in this namespace"
)


@dataclasses.dataclass(frozen=True)
class Autoscaler:
    """An autoscaler that manages a replica count.

    :param ref: of a HorizontalPodAutoscaler, else of what has the annotations
        of the cluster autoscaler: an object, or an entry of a topology.
    :param why: in words.
    :param bounds: None where an autoscaler without limits manages the count.
    """

    ref: ObjectRef
    uid: str
    why: str
    bounds: ReplicaLimits | None = None

    def around(self, number: int) -> ReplicaLimits | None:
        """The bounds for such a number.

        A HorizontalPodAutoscaler leaves alone what has no replicas at all,
        and may not have 0 as its lower bound.
        """
        if self.bounds is None or (number == 0 and self.ref.group_kind == HPA):
            return self.bounds
        return self.bounds.around(number)


def find_hpa(
    cluster: Cluster, ref: ObjectRef
) -> tuple[Autoscaler | None, tuple[str, ...]]:
    """Return the HorizontalPodAutoscaler of an object, and remarks."""
    try:
        listed = list(cluster.list_objects(HPA, ref.namespace))
    except errors.KindNotServed:
        return None, ()
    except errors.Forbidden:
        # Without the permission the count is set as it was requested.
        return None, (UNSEEN,)
    hpa = autoscaling.hpa_of(listed, ref)
    why = autoscaling.hpa_for(listed, ref)
    if hpa is None or why is None:
        return None, ()
    found = autoscaling.hpa_bounds(hpa)
    return Autoscaler(ObjectRef.of(hpa), objects.uid(hpa), why, found), ()


def require_movable(
    keeper: Autoscaler,
    ref: ObjectRef,
    inventory: Inventory,
    way: str,
    by_annotation: bool,
) -> None:
    """Raise AutoscalerConflict unless changing its limits is allowed.

    :param way: keep or adjust, of the object's annotation or the options.
    """
    if keeper.bounds is None:
        raise errors.AutoscalerConflict(ref, keeper.why)
    if topology_replicas.cluster_ref(keeper.ref) not in inventory.owned:
        raise errors.AutoscalerConflict(
            ref,
            f"{keeper.why}; its limits cannot be changed because it does not "
            f"belong to instance {inventory.instance}",
        )
    if way != autoscaling.ADJUST:
        raise errors.AutoscalerConflict(
            ref,
            f"{keeper.why}; to change its limits, request it "
            "(autoscaler_limits: adjust)",
            movable=not by_annotation,
        )


def set_limits(
    cluster: Cluster, keeper: Autoscaler, wanted: ReplicaLimits, manager: str
) -> None:
    """Change the limits of an object, and nothing else."""
    body: Mapping[str, Any]
    if keeper.ref.group_kind == HPA:
        spec = {"minReplicas": wanted.least, "maxReplicas": wanted.most}
        body = {"metadata": {"uid": keeper.uid}, "spec": spec}
    else:
        notes = autoscaling.as_annotations(wanted)
        body = {"metadata": {"uid": keeper.uid, "annotations": notes}}
    cluster.patch(keeper.ref, body, manager)
