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

HPA_LIST_FORBIDDEN = (
    "cannot tell whether a HorizontalPodAutoscaler manages its replicas: "
    "listing them in this namespace is forbidden"
)


@dataclasses.dataclass(frozen=True)
class Autoscaler:
    """An autoscaler that manages a replica count.

    :param ref: of a HorizontalPodAutoscaler, or of the object or the entry of
        a topology that has the annotations of the cluster autoscaler.
    :param why: a description for messages.
    :param limits: None where an autoscaler without limits manages the count.
    """

    ref: ObjectRef
    uid: str
    why: str
    limits: ReplicaLimits | None = None

    def limits_for(self, number: int) -> ReplicaLimits | None:
        """Return the limits that include this replica count.

        A HorizontalPodAutoscaler does not scale an object with 0 replicas,
        and cannot have 0 as its minimum.
        """
        if self.limits is None or (number == 0 and self.ref.group_kind == HPA):
            return self.limits
        return self.limits.including(number)


def find_hpa(
    cluster: Cluster, ref: ObjectRef
) -> tuple[Autoscaler | None, tuple[str, ...]]:
    """Return the HorizontalPodAutoscaler of an object, and remarks."""
    try:
        listed = list(cluster.list_objects(HPA, ref.namespace))
    except errors.KindNotServed:
        return None, ()
    except errors.Forbidden:
        # Without the permission the count is set as requested.
        return None, (HPA_LIST_FORBIDDEN,)
    hpa = autoscaling.hpa_of(listed, ref)
    why = autoscaling.hpa_reason(listed, ref)
    if hpa is None or why is None:
        return None, ()
    limits = autoscaling.hpa_limits(hpa)
    return Autoscaler(ObjectRef.of(hpa), objects.uid(hpa), why, limits), ()


def require_limits_adjustable(
    autoscaler: Autoscaler,
    ref: ObjectRef,
    inventory: Inventory,
    mode: str,
    by_annotation: bool,
) -> None:
    """Raise AutoscalerConflict unless changing its limits is allowed.

    :param mode: keep or adjust, of the object's annotation or the options.
    """
    if autoscaler.limits is None:
        raise errors.AutoscalerConflict(ref, autoscaler.why)
    if topology_replicas.cluster_ref(autoscaler.ref) not in inventory.owned:
        raise errors.AutoscalerConflict(
            ref,
            f"{autoscaler.why}; its limits cannot be changed because it does "
            f"not belong to instance {inventory.instance}",
        )
    if mode != autoscaling.ADJUST:
        raise errors.AutoscalerConflict(
            ref,
            f"{autoscaler.why}; to change its limits, request it "
            "(autoscaler_limits: adjust)",
            is_adjustable=not by_annotation,
        )


def set_limits(
    cluster: Cluster,
    autoscaler: Autoscaler,
    limits: ReplicaLimits,
    manager: str,
) -> None:
    """Change the limits of an object, and nothing else."""
    body: Mapping[str, Any]
    if autoscaler.ref.group_kind == HPA:
        spec = {"minReplicas": limits.minimum, "maxReplicas": limits.maximum}
        body = {"metadata": {"uid": autoscaler.uid}, "spec": spec}
    else:
        notes = autoscaling.as_annotations(limits)
        body = {"metadata": {"uid": autoscaler.uid, "annotations": notes}}
    cluster.patch(autoscaler.ref, body, manager)
