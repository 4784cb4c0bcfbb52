"""Set numbers of replicas."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import logging

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr.applying import replicas
from tacker_k8s_cr.applying import routes
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.scaling import Bounds
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import leaving as goers
from tacker_k8s_cr.lcm import marks
from tacker_k8s_cr.lcm import preflight
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm import reaching
from tacker_k8s_cr.lcm.operation import Listen
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import DEFAULT
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report

LOG = logging.getLogger(__name__)

REFUSALS = (errors.NotScalable, *carry.REFUSALS)
"""Errors of a number that is not to be set; to try again does not help."""


def scale(
    cluster: Cluster,
    instance: str,
    targets: Mapping[ObjectRef, int] | None = None,
    *,
    aspect: str = "",
    steps: int = 0,
    level: int | None = None,
    leaving: Collection[str] = (),
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

    :param targets: by object its number. What a Cluster's topology makes
        may be named by its own name, or by its place in the Cluster.
    :param leaving: names or UIDs of Machines that are to go when a number
        falls; which others go is for their controllers to say.
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
    preflight.supported(op.inventory, op.name)
    inventory = carry.taken_up(op)
    levels = inventory.scale_levels
    if aspect:
        levels, targets = replicas.of_aspect(inventory, aspect, steps, level)
    if not targets:
        raise errors.RequestInvalid("scale: no object and no aspect is named")
    targets = {
        routes.named(op.cluster, inventory, ref): number
        for ref, number in targets.items()
    }
    op.knowing(prepare.known(op.cluster, registry, inventory))
    wanted = routes.checked(
        op.cluster,
        inventory,
        op.progress.registry,
        targets,
        options.autoscaled,
    )
    going = goers.chosen(op, wanted, leaving)
    # The levels move when the numbers have: to repeat a scale by steps is
    # then to go on with it, not to do it twice.
    scaling = dataclasses.replace(
        inventory,
        phase=Phase.SCALING,
        scaling={
            **{target.ref: target.before for target in wanted},
            **(_at_levels(inventory, targets) if aspect else {}),
            **(inventory.scaling if _again(inventory) else {}),
        },
        bounds={
            **_bounds(wanted),
            **(inventory.bounds if _again(inventory) else {}),
        },
    )
    some = tuple(goer for item in going for goer in item.goers)
    again = {marks.LEAVES: {goer.uid for goer in some}}
    marked = {goer.uid: goer for goer in (*some, *marks.left(inventory))}
    scaling = dataclasses.replace(scaling, leaving=tuple(marked.values()))
    free = frozenset(uid for item in going for uid in item.free)
    with op.locked():
        op.ledger.write(scaling.entering(op.name, "replicas", ()))
        try:
            marks.put(op, some)
            # Those of another choice come off when the new ones are on: a
            # number that has fallen already never finds none.
            marks.taken_off(op, op.inventory, again, free=free)
            send(op, wanted)
            settle(op, wanted)
            goers.gone(op, going)
        except errors.Error as error:
            _failed(op, inventory, error)
            raise
        stay = marks.taken_off(op, op.inventory)
        op.ledger.rest(
            dataclasses.replace(
                op.inventory,
                scale_levels=levels,
                numbers=_kept(inventory, targets, by_name=not aspect),
                bounds={},
                leaving=stay,
                healing=None,
                before=None,
            )
        )
    return op.report()


def _again(inventory: Inventory) -> bool:
    """Whether a scale ended early, from before which numbers are known."""
    return inventory.phase is Phase.SCALING


def _failed(op: Operation, before: Inventory, error: errors.Error) -> None:
    """Let go of the marks that nothing is to follow any more.

    What was refused before anything was written is forgotten. What may have
    been written yet keeps all marks: the number may fall in a moment.
    """
    if op.uncertain:
        return
    stay = marks.taken_off(op, op.inventory, brief=True)
    if isinstance(error, carry.REFUSALS) and not op.actions:
        op.ledger.write(dataclasses.replace(before, leaving=stay))


def _bounds(targets: Iterable[routes.Target]) -> dict[ObjectRef, Bounds]:
    return {
        target.ref: target.keeper.bounds
        for target in targets
        if target.keeper and target.keeper.bounds
    }


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


def send(op: Operation, targets: Sequence[routes.Target]) -> None:
    """Set the numbers, and wait for the objects in what comes."""
    for target in targets:
        op.ledger.guard()
        written = {target.written: Action.SCALED}
        try:
            if routes.bounds_moved(op.ledger.writing, target, op.manager):
                # No object of the report, and yet to be taken back.
                op.uncertain = True
            obj = routes.ask(
                op.ledger.writing,
                target,
                op.manager,
                functools.partial(op.actions.update, written),
            )
        except (errors.Unavailable, errors.Unreachable):
            # A request whose answer is lost may have been carried out.
            op.uncertain = True
            raise
        if target.notes:
            op.notes[target.written] = target.notes
            LOG.warning("%s: %s", target.ref, "; ".join(target.notes))
        op.actions.update(written)
        if target.written in op.inventory.owned:
            op.taken_in(target.written, obj, Action.SCALED, "replicas")


def sent(
    op: Operation, targets: Sequence[routes.Target]
) -> dict[ObjectRef, str]:
    """Set what numbers can be set; by number, why the others cannot."""
    refused = {}
    for target in targets:
        try:
            send(op, [target])
        except REFUSALS as error:
            refused[target.ref] = why(error)
    return refused


def why(error: errors.Error) -> str:
    """The reason of an error about a number, without its name."""
    if isinstance(error, errors.NotScalable):
        return error.why
    return error.sentence()


def settle(op: Operation, targets: Sequence[routes.Target]) -> None:
    """Wait for the objects, and for what topologies make of them."""
    op.settle()
    reaching.numbers(op, targets)
