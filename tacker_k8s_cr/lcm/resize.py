"""Set numbers of replicas."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr.applying import replicas
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm.operation import Listen
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import DEFAULT
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report


def scale(
    cluster: Cluster,
    instance: str,
    targets: Mapping[ObjectRef, int] | None = None,
    *,
    aspect: str = "",
    steps: int = 0,
    level: int | None = None,
    namespace: str = "",
    record_namespace: str = "",
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
        "scale",
        cluster,
        instance,
        namespace,
        deadline,
        options,
        listen,
        record_namespace,
    )
    op.ledger.read(Phase.INSTANTIATED, Phase.SCALING, Phase.HEALING)
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
    scaling = dataclasses.replace(
        inventory,
        phase=Phase.SCALING,
        scaling={
            **{target.ref: target.before for target in wanted},
            **(_at_levels(inventory, targets) if aspect else {}),
            **inventory.scaling,
        },
    )
    with op.locked():
        op.ledger.write(scaling.entering(op.name, "replicas", ()))
        try:
            send(op, wanted)
        except carry.REFUSALS:
            if not op.actions:
                op.ledger.write(inventory)
            raise
        op.settle()
        op.ledger.rest(
            dataclasses.replace(
                op.inventory,
                scale_levels=levels,
                numbers=_kept(inventory, targets, by_name=not aspect),
                healing=None,
                before=None,
            )
        )
    return op.report()


def _at_levels(
    inventory: Inventory, refs: Iterable[ObjectRef]
) -> dict[ObjectRef, int]:
    """The numbers that objects have at the levels so far."""
    so_far = dataclasses.replace(inventory, numbers={})
    found = replicas.recorded(so_far)
    return {ref: found[ref] for ref in refs if ref in found}


def _kept(
    inventory: Inventory, targets: Mapping[ObjectRef, int], by_name: bool
) -> dict[ObjectRef, int]:
    """The numbers to remember beside those of the levels."""
    others = {r: n for r, n in inventory.numbers.items() if r not in targets}
    return {**others, **targets} if by_name else others


def send(op: Operation, targets: Sequence[replicas.Target]) -> None:
    """Set the numbers, and wait for the objects in what comes."""
    for target in targets:
        op.ledger.guard()
        replicas.ask(op.ledger.writing, target, op.manager)
        op.actions[target.ref] = Action.SCALED
        obj = replicas.asked(op.cluster, target)
        op.taken_in(target.ref, obj, Action.SCALED, "replicas")
