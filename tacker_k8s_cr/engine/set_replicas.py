"""Set the replica count of an object, in the way of its kind.

The strategy of this module is that of workloads and custom resources. Kinds
of Cluster API have another, in ``topology_scaling``.
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
    :param strategy: the way of the kind.
    :param path: in the object; None to use the scale sub-resource.
    :param entry: the entry of a Cluster's topology that has the count.
    :param bearer: the object generated from the entry, or the object itself.
    :param before: the count so far, if it could be read.
    :param keeper: the autoscaler whose limits are changed to ``bounds``.
    :param notes: remarks for the report.
    """

    ref: ObjectRef
    written: ObjectRef
    uid: str
    number: int
    strategy: ScaleStrategy
    path: Path | None = None
    entry: TopologyReplicas | None = None
    bearer: Manifest | None = None
    before: int | None = None
    keeper: Autoscaler | None = None
    bounds: ReplicaLimits | None = None
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
        """Find out how to set the count. Raises NotScalable; writes nothing.

        A scale back to the count before one that ended early restores the
        limits of the autoscaler, whatever the options say.

        :param autoscaler_limits: what to do if an autoscaler has the count and
            the object's annotation does not say it.
        """
        if (
            ref in self.inventory.former_limits
            and self.inventory.former_replicas.get(ref) == number
        ):
            return self.restore(ref, number)
        return self._resolved(ref, number, autoscaler_limits)

    def restore(self, ref: ObjectRef, number: int) -> ScaleTarget:
        """Find the way back to a count, and to limits of an autoscaler."""
        before = self.inventory.former_limits.get(ref)
        way = autoscaling.KEEP if before is None else autoscaling.ADJUST
        target = self._resolved(ref, number, way)
        return dataclasses.replace(target, bounds=before)

    def set_limits(
        self, cluster: Cluster, target: ScaleTarget, manager: str
    ) -> bool:
        """Change the limits of the autoscaler; return whether it was needed.

        They are changed before the count, which the autoscaler would
        otherwise set back.
        """
        keeper, wanted = target.keeper, target.bounds
        if keeper is None or wanted is None or keeper.bounds == wanted:
            return False
        autoscalers.set_limits(cluster, keeper, wanted, manager)
        return True

    def set_replicas(
        self,
        cluster: Cluster,
        target: ScaleTarget,
        manager: str,
        sent: Callable[[], None] = lambda: None,
    ) -> Manifest:
        """Send the count, and only that; return the object.

        :param sent: called once the count is set: reading the object
            afterwards may fail.
        """
        if target.path is None:
            cluster.patch(
                target.written,
                {"spec": {"replicas": target.number}},
                manager,
                subresource="scale",
            )
            sent()
            # The server answers with a Scale, which has no generation.
            obj = cluster.get(target.written)
            if obj is None:
                raise errors.NotScalable(target.ref, DELETED)
            return obj
        uid = {"metadata": {"uid": target.uid}}
        body = placement.set_field(uid, target.path, target.number)
        return cluster.patch(target.written, body, manager)

    # -- Parts of the way that other kinds replace ---------------------------

    def _resolved(
        self, ref: ObjectRef, number: int, autoscaler_limits: str
    ) -> ScaleTarget:
        obj = self._owned(ref, ref, number)
        keeper, notes = self._autoscaler(obj, ref, objects.uid(obj))
        target = self._target(ref, number, obj, obj, keeper, autoscaler_limits)
        return self._in_object(dataclasses.replace(target, notes=notes))

    def _autoscaler(
        self, bearer: Manifest, annotated: ObjectRef, uid: str
    ) -> tuple[Autoscaler | None, tuple[str, ...]]:
        """Return what manages the count of an object, and remarks.

        :param annotated: the object, or the entry of a topology, whose
            annotations have the limits for the cluster autoscaler.
        :param uid: of the object that has these annotations.
        """
        why = autoscaling.has_cluster_autoscaler(bearer)
        if not why:
            return autoscalers.find_hpa(self.cluster, ObjectRef.of(bearer))
        notes = objects.field(bearer, ("metadata", "annotations"), {})
        limits = autoscaling.annotated_bounds(notes)
        if autoscaling.MANAGED_BY in notes:
            limits = None
        return Autoscaler(annotated, uid, why, limits), ()

    def _owned(
        self, ref: ObjectRef, written: ObjectRef, number: int
    ) -> Manifest:
        """Return the object to write, which has to be the instance's."""
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
        bearer: Manifest,
        keeper: Autoscaler | None,
        autoscaler_limits: str,
    ) -> ScaleTarget:
        """Return the target, unless the kind or an autoscaler refuses it."""
        handler = self.registry[ObjectRef.of(bearer).group_kind]
        if handler.refuse_replicas and (
            why := handler.refuse_replicas(bearer, number)
        ):
            raise errors.NotScalable(ref, why)
        if keeper:
            noted = objects.annotation(bearer, "autoscaler-limits")
            autoscalers.require_movable(
                keeper,
                ref,
                self.inventory,
                noted or autoscaler_limits,
                bool(noted),
            )
        return ScaleTarget(
            ref,
            ObjectRef.of(obj),
            objects.uid(obj),
            number,
            self,
            bearer=bearer,
            keeper=keeper,
            bounds=keeper.around(number) if keeper else None,
        )

    def _in_object(self, target: ScaleTarget) -> ScaleTarget:
        """Return the target with the place of the count in the object."""
        kind = target.written.group_kind
        path = self.registry[kind].replicas
        before = objects.field(target.bearer, path or replicas.REPLICAS)
        target = dataclasses.replace(
            target, before=before if isinstance(before, int) else None
        )
        if "scale" in self.cluster.resource(kind).subresources:
            return target
        if path is None:
            raise errors.NotScalable(target.ref, NO_REPLICAS)
        return dataclasses.replace(target, path=path)
