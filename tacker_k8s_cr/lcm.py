"""The operations of a VNF instance's life: each is a plan, carried out."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr import carry
from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr import plan
from tacker_k8s_cr import prepare
from tacker_k8s_cr import replicas
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.operation import DEFAULT
from tacker_k8s_cr.operation import Listen
from tacker_k8s_cr.operation import Operation
from tacker_k8s_cr.operation import Options
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.prepare import Prepared
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report

REFUSALS = (
    errors.Rejected,
    errors.Conflict,
    errors.Refused,
    errors.Owned,
    errors.Forbidden,
    errors.KindUnknown,
)
"""Errors that waiting cannot help: what was begun is taken back."""


def instantiate(
    cluster: Cluster,
    instance: str,
    package: Package,
    *,
    namespace: str = "default",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
    level: str = "",
    scale_levels: Mapping[str, int] | None = None,
    vdu_mapping: Mapping[str, str] | None = None,
    options: Options = DEFAULT,
    listen: Listen | None = None,
) -> Report:
    """Bring a package to life; returns when all of it is current.

    An instance whose instantiation ended early is taken up where it
    stopped. If an object is refused half way, what was made is removed.

    :param namespace: where objects go that name none, and the record.
    :param level: instantiation level of the VNFD; empty for its default.
    :param scale_levels: level of each scaling aspect, in the level's place.
    :param vdu_mapping: by VDU id, the object that bears its number, where
        neither its name nor an annotation says so.

    Raises any error of ``errors``; its ``written`` says what was left.
    """
    op = Operation(
        "instantiate", cluster, instance, namespace, deadline, options, listen
    )
    op.ledger.read()
    before = Inventory(instance, namespace)
    if op.ledger.entry:
        before = carry.taken_up(op)
        if before.phase is not Phase.INSTANTIATING:
            raise errors.InstanceExists(
                instance, f"is there already: it is {before.phase.value}"
            )
    ready = prepare.prepared(
        op.cluster,
        package,
        before,
        registry,
        options,
        level=level,
        fixed=True,
        scale_levels=scale_levels,
        vdu_mapping=vdu_mapping,
    )
    op.knowing(ready.registry)
    # What an earlier try made, and this package does not name, goes.
    planned = carry.planned(op, ready, before)
    made = carry.record_namespace(op, planned)
    inventory = _with_package(before.owning(made), package, ready)
    refused: errors.Error | None = None
    try:
        with op.locked():
            try:
                carry.bring_in(op, planned.without(made), ready, inventory)
                op.ledger.rest()
            except REFUSALS as error:
                if before.owned:  # what a former try made is not ours to undo
                    raise
                refused = error
                op.ledger.note(error, deadline)
                carry.take_back(op)
    except errors.Error as error:
        if op.ledger.entry is None:
            carry.take_back_namespace(op, made)
            op.tell(error)
        raise
    if refused:
        if op.ledger.entry is None:
            carry.take_back_namespace(op, made)
        op.tell(refused)
        raise refused
    return op.report(dict.fromkeys(ready.owners.shared, Action.SHARED))


def change(
    cluster: Cluster,
    instance: str,
    package: Package,
    *,
    namespace: str = "default",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
    vdu_mapping: Mapping[str, str] | None = None,
    options: Options = DEFAULT,
    listen: Listen | None = None,
) -> Report:
    """Replace the package; then take away what the new one does not name.

    Custom resource definitions, namespaces, volume claims and Clusters are
    kept unless the former manifest says ``prune: "true"``. Numbers of
    replicas stay as they are.
    """
    op = Operation(
        "change", cluster, instance, namespace, deadline, options, listen
    )
    op.ledger.read(Phase.INSTANTIATED, Phase.CHANGING, Phase.SCALING)
    before = carry.taken_up(op)
    ready = prepare.prepared(
        op.cluster,
        package,
        before,
        registry,
        options,
        scale_levels=carry.levels(package, before),
        vdu_mapping=vdu_mapping,
    )
    op.knowing(ready.registry)
    planned = carry.planned(op, ready, before)
    inventory = dataclasses.replace(
        _with_package(before, package, ready),
        phase=Phase.CHANGING,
        before=before.before or before.manifests,
    )
    with op.locked():
        carry.bring_in(op, planned, ready, inventory)
        op.ledger.rest()
    others = dict.fromkeys(ready.owners.shared, Action.SHARED)
    return op.report({**others, **dict.fromkeys(planned.kept, Action.KEPT)})


def scale(
    cluster: Cluster,
    instance: str,
    targets: Mapping[ObjectRef, int] | None = None,
    *,
    aspect: str = "",
    steps: int = 0,
    level: int | None = None,
    namespace: str = "default",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
    options: Options = DEFAULT,
    listen: Listen | None = None,
) -> Report:
    """Set numbers of replicas: of objects, or of an aspect's VDUs.

    Numbers are absolute, so that doing it twice is doing it once. For an
    aspect ``level`` is where to, and ``steps`` how far from where it is.
    """
    op = Operation(
        "scale", cluster, instance, namespace, deadline, options, listen
    )
    op.ledger.read(Phase.INSTANTIATED, Phase.SCALING)
    inventory = carry.taken_up(op)
    levels = inventory.scale_levels
    if aspect:
        levels, targets = replicas.of_aspect(inventory, aspect, steps, level)
    if not targets:
        raise errors.RequestInvalid("scale: no object and no aspect is named")
    op.knowing(prepare.known(op.cluster, registry, inventory))
    wanted = replicas.checked(op.cluster, inventory, registry, targets)
    # The levels move when the numbers have: to repeat a scale by steps is
    # then to go on with it, not to do it twice.
    scaling = dataclasses.replace(inventory, phase=Phase.SCALING)
    with op.locked():
        op.ledger.write(scaling.entering(op.name, "replicas", ()))
        try:
            _send_numbers(op, wanted)
        except REFUSALS:
            if not op.actions:
                op.ledger.write(inventory)
            raise
        op.settle()
        op.ledger.rest(levels)
    return op.report()


def terminate(
    cluster: Cluster,
    instance: str,
    *,
    namespace: str = "default",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
    options: Options = DEFAULT,
    listen: Listen | None = None,
) -> Report:
    """Remove all that the instance made, and its record.

    Refuses, before anything is deleted, if objects of others would go with
    a definition or a namespace of the instance.
    """
    op = Operation(
        "terminate", cluster, instance, namespace, deadline, options, listen
    )
    op.ledger.read()
    op.knowing(registry)
    last = carry.namespace(namespace)
    if op.ledger.entry is None:
        left = carry.left_namespace(op)
        if not left:
            raise errors.InstanceUnknown(instance, namespace)
        carry.refuse_losses(op, left)
        with op.telling():
            carry.take_namespace(op, left)
        return op.report()
    inventory = dataclasses.replace(carry.taken_up(op), phase=Phase.ENDING)
    carry.refuse_losses(op, inventory.owned)
    with op.locked():
        op.ledger.write(inventory)
        for stage in plan.terminate(inventory.owned, registry, last).stages:
            if last not in stage.refs:
                op.carry_out(stage)
        if last not in inventory.owned:
            op.ledger.retire()
    op.ledger.forget()
    if last in inventory.owned:
        with op.telling():
            carry.take_namespace(op, {last: inventory.owned[last]})
    return op.report()


def status(
    cluster: Cluster,
    instance: str,
    *,
    namespace: str = "default",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
) -> Report:
    """How every object of the instance is now. Writes nothing."""
    op = Operation(
        "status", cluster, instance, namespace, deadline, DEFAULT, None
    )
    op.ledger.read()
    inventory = op.inventory
    op.knowing(prepare.known(op.cluster, registry, inventory))
    op.look(inventory.owned)
    return op.report(dict.fromkeys(inventory.shared, Action.SHARED))


# -- Parts of an operation ---------------------------------------------------


def _with_package(
    inventory: Inventory, package: Package, ready: Prepared
) -> Inventory:
    """The inventory of an instance that is to be as the package says."""
    return dataclasses.replace(
        inventory,
        shared=tuple(sorted(ready.owners.shared)),
        manifests=ready.authored,
        live_names=ready.live_names,
        vnfd=package.vnfd or inventory.vnfd,
        vdus=ready.vdus or inventory.vdus,
        scale_levels=ready.scale_levels,
    )


def _send_numbers(op: Operation, targets: Sequence[replicas.Target]) -> None:
    for target in targets:
        op.ledger.guard()
        replicas.ask(op.ledger.writing, target, op.manager)
        op.actions[target.ref] = Action.SCALED
        obj = replicas.asked(op.cluster, target)
        op.taken_in(target.ref, obj, Action.SCALED, "replicas")
