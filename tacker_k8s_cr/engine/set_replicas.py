"""Set the replica count of an object, with the strategy of its kind.

The strategy of this module is for workloads and custom resources. Kinds of
Cluster API have another, in ``topology_scaling``.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses

from tacker_k8s_cr.engine import autoscalers
from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.engine.autoscalers import Autoscaler
from tacker_k8s_cr.kinds import autoscaling
from tacker_k8s_cr.kinds.autoscaling import ReplicaLimits
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.topology_replicas import TopologyReplicas
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.inventory import Inventory

DELETED = "no longer exists in the cluster"

NO_REPLICAS = (
    "has no replica count that can be set: its kind has no scale sub-resource"
)


@dataclasses.dataclass(frozen=True)
class ScaleTarget:
    """A replica count that can be set, and how.

    :param ref: the reference under which the inventory keeps the count.
    :param written: the object that is written.
    :param uid: of that object.
    :param strategy: the strategy of its kind.
    :param path: in the object; None to use the scale sub-resource.
    :param entry: the entry of a Cluster's topology that has the count.
    :param scaled_object: the object generated from the entry, or the object
        itself.
    :param before: the count so far, if it could be read.
    :param autoscaler: the autoscaler whose limits are changed to ``limits``.
    :param notes: remarks for the report.
    """

    ref: ObjectRef
    written: ObjectRef
    uid: str
    number: int
    strategy: ScaleStrategy
    path: Path | None = None
    entry: TopologyReplicas | None = None
    scaled_object: Manifest | None = None
    before: int | None = None
    autoscaler: Autoscaler | None = None
    limits: ReplicaLimits | None = None
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class ScaleStrategy:
    """Scale objects that have their replica count themselves."""

    cluster: Cluster
    inventory: Inventory
    registry: Registry

    has_machines = False
    """Whether the replicas are Machines."""

    def resolve_ref(self, ref: ObjectRef) -> ObjectRef:
        """Return the reference under which the inventory keeps the count."""
        return ref

    def resolve(
        self, ref: ObjectRef, number: int, autoscaler_limits: str
    ) -> ScaleTarget:
        """Determine how to set the count. Raises NotScalable; writes nothing.

        A scale to the count before an interrupted one restores the limits of
        the autoscaler, whatever the options specify.

        :param autoscaler_limits: what to do if an autoscaler manages the count
            and the object has no annotation for it.
        """
        if (
            ref in self.inventory.former_limits
            and self.inventory.former_replicas.get(ref) == number
        ):
            return self.restore(ref, number)
        return self._resolve(ref, number, autoscaler_limits)

    def restore(self, ref: ObjectRef, number: int) -> ScaleTarget:
        """Determine how to restore a count and the limits of an autoscaler."""
        before = self.inventory.former_limits.get(ref)
        mode = autoscaling.KEEP if before is None else autoscaling.ADJUST
        target = self._resolve(ref, number, mode)
        return dataclasses.replace(target, limits=before)

    def set_limits(
        self, cluster: Cluster, target: ScaleTarget, manager: str
    ) -> bool:
        """Change the limits of the autoscaler; return whether that was needed.

        They are changed before the count, which the autoscaler would
        otherwise set back.
        """
        autoscaler, limits = target.autoscaler, target.limits
        if autoscaler is None or limits is None or autoscaler.limits == limits:
            return False
        autoscalers.set_limits(cluster, autoscaler, limits, manager)
        return True

    def set_replicas(
        self,
        cluster: Cluster,
        target: ScaleTarget,
        manager: str,
        on_sent: Callable[[], None] = lambda: None,
    ) -> Manifest:
        """Send the count, and only that; return the object.

        :param on_sent: called once the count is set: reading the object
            afterwards may fail.
        """
        if target.path is None:
            cluster.patch(
                target.written,
                {"spec": {"replicas": target.number}},
                manager,
                subresource="scale",
            )
            on_sent()
            # The server answers with a Scale, which has no generation.
            obj = cluster.get(target.written)
            if obj is None:
                raise errors.NotScalable(target.ref, DELETED)
            return obj
        uid = {"metadata": {"uid": target.uid}}
        body = placement.set_field(uid, target.path, target.number)
        return cluster.patch(target.written, body, manager)

    # -- Steps that other strategies override --------------------------------

    def _resolve(
        self, ref: ObjectRef, number: int, autoscaler_limits: str
    ) -> ScaleTarget:
        obj = self._require_owned(ref, ref, number)
        autoscaler, notes = self._find_autoscaler(obj, ref, objects.uid(obj))
        target = self._target(
            ref, number, obj, obj, autoscaler, autoscaler_limits
        )
        return self._with_path(dataclasses.replace(target, notes=notes))

    def _find_autoscaler(
        self, scaled_object: Manifest, annotated: ObjectRef, uid: str
    ) -> tuple[Autoscaler | None, tuple[str, ...]]:
        """Return what manages the count of an object, and remarks.

        :param annotated: the object, or the entry of a topology, whose
            annotations have the limits for the cluster autoscaler.
        :param uid: of the object that has these annotations.
        """
        why = autoscaling.cluster_autoscaler_reason(scaled_object)
        if not why:
            return autoscalers.find_hpa(
                self.cluster, ObjectRef.of(scaled_object)
            )
        notes = objects.field(scaled_object, ("metadata", "annotations"), {})
        limits = autoscaling.annotated_limits(notes)
        if autoscaling.MANAGED_BY in notes:
            limits = None
        return Autoscaler(annotated, uid, why, limits), ()

    def _require_owned(
        self, ref: ObjectRef, written: ObjectRef, number: int
    ) -> Manifest:
        """Return the object to write. Raises unless the instance owns it."""
        if number < 0:
            raise errors.NotScalable(
                ref, f"replicas must be 0 or more, got {number}"
            )
        uid = self.inventory.owned.get(written)
        if uid is None:
            raise errors.NotScalable(
                ref,
                f"is not an object of the instance {self.inventory.instance}",
            )
        obj = self.cluster.get(written)
        if obj is None or objects.uid(obj) != uid:
            raise errors.NotScalable(ref, DELETED)
        return obj

    def _target(
        self,
        ref: ObjectRef,
        number: int,
        obj: Manifest,
        scaled_object: Manifest,
        autoscaler: Autoscaler | None,
        autoscaler_limits: str,
    ) -> ScaleTarget:
        """Return the target; raises if kind or autoscaler refuse it."""
        handler = self.registry[ObjectRef.of(scaled_object).group_kind]
        if handler.refuse_replicas and (
            why := handler.refuse_replicas(scaled_object, number)
        ):
            raise errors.NotScalable(ref, why)
        if autoscaler:
            annotated = objects.annotation(scaled_object, "autoscaler-limits")
            autoscalers.require_limits_adjustable(
                autoscaler,
                ref,
                self.inventory,
                annotated or autoscaler_limits,
                bool(annotated),
            )
        return ScaleTarget(
            ref,
            ObjectRef.of(obj),
            objects.uid(obj),
            number,
            self,
            scaled_object=scaled_object,
            autoscaler=autoscaler,
            limits=autoscaler.limits_for(number) if autoscaler else None,
        )

    def _with_path(self, target: ScaleTarget) -> ScaleTarget:
        """Return the target with the path of the count in the object."""
        kind = target.written.group_kind
        path = self.registry[kind].replicas
        before = objects.field(target.scaled_object, path or replicas.REPLICAS)
        target = dataclasses.replace(
            target, before=before if isinstance(before, int) else None
        )
        if "scale" in self.cluster.resource(kind).subresources:
            return target
        if path is None:
            raise errors.NotScalable(target.ref, NO_REPLICAS)
        return dataclasses.replace(target, path=path)
