"""Scale objects, or the VDUs of an aspect."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import logging

from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.engine.set_replicas import ScaleStrategy
from tacker_k8s_cr.engine.set_replicas import ScaleTarget
from tacker_k8s_cr.engine.topology_scaling import TopologyScaling
from tacker_k8s_cr.kinds.autoscaling import ReplicaLimits
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.machines.machine_scaling import MachineScaling
from tacker_k8s_cr.lcm.preparation import kind_handlers
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import wait_unlabelled
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import MemberRef
from tacker_k8s_cr.plan.journal import Phase

LOG = logging.getLogger(__name__)

REFUSALS = (errors.NotScalable, *execute.REFUSALS)
"""Errors about a replica count that a retry cannot resolve."""


def scale(
    request: Request,
    targets: Mapping[ObjectRef, int] | None = None,
    *,
    aspect: str = "",
    number_of_steps: int = 0,
    level: int | None = None,
    machines_to_delete: Collection[str] = (),
) -> Report:
    """Set the replica counts of objects, or of the VDUs of an aspect.

    Replica counts are absolute, so a repetition has no effect. For an aspect,
    ``level`` is the target level, and ``number_of_steps`` the difference to
    the current one.

    :param targets: by object its replica count. Objects that a Cluster's
        topology generates may be named by name, or by the topology entry.
    :param machines_to_delete: names or UIDs of Machines to delete first on
        scale-in; their controllers select the rest.
    """
    op = Session("scale", request)
    op.ledger.read(Phase.INSTANTIATED, Phase.SCALING, Phase.HEALING)
    op.require_supported()
    inventory = op.inventory
    if inventory.is_interrupted:
        inventory = execute.recovered_inventory(op)
    levels = inventory.scale_levels
    if aspect:
        levels, targets = replicas.replicas_for_aspect(
            inventory, aspect, number_of_steps, level
        )
    if not targets:
        raise errors.RequestInvalid("scale: give an object or --aspect")
    op.use_registry(registry_for(op, request.registry, inventory))
    targets = {
        strategy_for(op, inventory, ref).resolve_ref(ref): count
        for ref, count in targets.items()
    }
    resolved = tuple(
        strategy_for(op, inventory, ref).resolve(
            ref, count, request.options.autoscaler_limits
        )
        for ref, count in targets.items()
    )
    machines = _machines(op, resolved, machines_to_delete)
    # The levels change once the counts have: repeating a scale by steps then
    # continues it, and does not scale twice.
    started = dataclasses.replace(
        inventory,
        phase=Phase.SCALING,
        former_replicas={
            **{target.ref: target.before for target in resolved},
            **(_at_levels(inventory, targets) if aspect else {}),
            **(inventory.former_replicas if _is_repeated(inventory) else {}),
        },
        former_limits={
            **_current_limits(resolved),
            **(inventory.former_limits if _is_repeated(inventory) else {}),
        },
        machines_to_delete=machines.annotated,
    )
    with op.locked():
        op.ledger.write(started.with_journal(op.name, "replicas", ()))
        try:
            machines.annotate()
            set_replicas_and_wait(op, resolved)
            op.wait_applied()
            machines.wait()
        except errors.Error as error:
            _clean_up_failure(op, inventory, machines, error)
            raise
        annotated = machines.release()
        op.ledger.save_idle(
            dataclasses.replace(
                op.inventory,
                scale_levels=levels,
                replica_overrides=_replica_overrides(
                    inventory, targets, is_by_object=not aspect
                ),
                former_limits={},
                machines_to_delete=annotated,
                healing=None,
                previous_package=None,
            )
        )
    return op.report()


# -- By kind -----------------------------------------------------------------


def strategy_for(
    op: Session, inventory: Inventory, ref: ObjectRef
) -> ScaleStrategy:
    """Return the scale strategy for an object, by its kind."""
    strategy = ScaleStrategy
    # As contract.is_capi_group, whose module a Deployment does not pass.
    if f".{ref.group}".endswith(f".{contract.GROUP}"):
        strategy = TopologyScaling
    return strategy(op.cluster, inventory, op.registry)


class NoMachines:
    """The handling of Machines by a scale that concerns none: nothing."""

    annotated: tuple[MemberRef, ...] = ()

    def annotate(self) -> None:
        pass

    def wait(self) -> None:
        pass

    def release(self, *, brief: bool = False) -> tuple[MemberRef, ...]:
        return ()


def _machines(
    op: Session,
    targets: Sequence[ScaleTarget],
    machines_to_delete: Collection[str],
) -> MachineScaling | NoMachines:
    concerned = (
        machines_to_delete
        or op.inventory.machines_to_delete
        or op.inventory.healing
        or any(target.strategy.has_machines for target in targets)
    )
    return (
        MachineScaling(op, targets, machines_to_delete)
        if concerned
        else NoMachines()
    )


def registry_for(
    op: Session, registry: Registry, inventory: Inventory
) -> Registry:
    """Return the handlers of an instance's objects.

    Discovery and the package are read only for kinds without a handler, and
    for Clusters and claims, whose handler depends on other objects.
    """
    for ref in inventory.owned:
        handler = registry.find(ref.group_kind)
        if (
            handler is None
            or (handler.replicas is None and "." in ref.group)
            or ref.kind in kind_handlers.JUDGED_TOGETHER
        ):
            return kind_handlers.registry_for(op.cluster, registry, inventory)
    if inventory.policy.readiness:
        return inventory.policy.apply_to(registry)
    return registry


# -- Replica counts ----------------------------------------------------------


def _is_repeated(inventory: Inventory) -> bool:
    """Return whether a scale ended early, so former counts are recorded."""
    return inventory.phase is Phase.SCALING


def _clean_up_failure(
    op: Session,
    before: Inventory,
    machines: MachineScaling | NoMachines,
    error: errors.Error,
) -> None:
    """Remove annotations that no deletion will follow.

    A scale that was refused before the first write is forgotten. If a write
    may have been carried out, all annotations are retained: the replica count
    may decrease in a moment.
    """
    if op.uncertain:
        return
    annotated = machines.release(brief=True)
    if isinstance(error, execute.REFUSALS) and not op.actions:
        op.ledger.write(
            dataclasses.replace(before, machines_to_delete=annotated)
        )


def _current_limits(
    targets: Iterable[ScaleTarget],
) -> dict[ObjectRef, ReplicaLimits]:
    return {
        target.ref: target.autoscaler.limits
        for target in targets
        if target.autoscaler and target.autoscaler.limits
    }


def _at_levels(
    inventory: Inventory, refs: Iterable[ObjectRef]
) -> dict[ObjectRef, int]:
    """Return the replica counts of objects at the current levels."""
    without_overrides = dataclasses.replace(inventory, replica_overrides={})
    found = replicas.desired_replicas(without_overrides)
    return {ref: found[ref] for ref in refs if ref in found}


def _replica_overrides(
    inventory: Inventory, targets: Mapping[ObjectRef, int], is_by_object: bool
) -> dict[ObjectRef, int]:
    """Return the replica counts to record beside those of the levels."""
    unchanged = {
        r: count
        for r, count in inventory.replica_overrides.items()
        if r not in targets
    }
    return {**unchanged, **targets} if is_by_object else unchanged


def set_replicas_and_wait(op: Session, targets: Sequence[ScaleTarget]) -> None:
    """Set replica counts; ``wait_applied`` then waits for the objects."""
    for target in targets:
        op.ledger.guard()
        written = {target.written: Action.SCALED}
        try:
            if target.strategy.set_limits(
                op.ledger.fenced_cluster, target, op.manager
            ):
                # A rollback includes the autoscaler, although it is not in
                # the report.
                op.uncertain = True
            obj = target.strategy.set_replicas(
                op.ledger.fenced_cluster,
                target,
                op.manager,
                functools.partial(op.actions.update, written),
            )
        except (errors.Unavailable, errors.Unreachable):
            # A request without a response may have been carried out.
            op.uncertain = True
            raise
        if target.notes:
            op.notes[target.written] = target.notes
            LOG.warning("%s: %s", target.ref, "; ".join(target.notes))
        op.actions.update(written)
        if target.written in op.inventory.owned:
            op.await_object(target.written, obj, Action.SCALED, "replicas")


def try_set_replicas(
    op: Session, targets: Sequence[ScaleTarget]
) -> dict[ObjectRef, str]:
    """Set replica counts; return by object why some cannot be set."""
    refused = {}
    for target in targets:
        try:
            set_replicas_and_wait(op, [target])
        except REFUSALS as error:
            refused[target.ref] = short_reason(error)
    return refused


def short_reason(error: errors.Error) -> str:
    """Return the reason of an error, without the name of the object."""
    if isinstance(error, errors.NotScalable):
        return error.why
    return error.sentence()


def wait_scaled(op: Session, targets: Sequence[ScaleTarget]) -> None:
    """Wait for the objects, and for objects that topologies generate."""
    op.wait_applied()
    if any(target.strategy.has_machines for target in targets):
        wait_unlabelled.wait_replicas(op, targets)
