"""Versions of Kubernetes that go ahead of the rest of a change."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.applying import upgrading
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import marks
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.prepare import Prepared
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import plan

WHY = "its version of Kubernetes changes first, the rest when it has that"


@dataclasses.dataclass(frozen=True)
class Ahead:
    """A step of a change that brings versions, and nothing else.

    :param inventory: of the instance as that step wants it.
    :param rising: objects that get another version.
    """

    inventory: Inventory
    rising: frozenset[ObjectRef]


def found(
    op: Operation, before: Inventory, ready: Prepared, digest: str
) -> Ahead | None:
    """The step of a change that asks for one; None where it needs none.

    :param digest: of the package that is to be brought in.
    """
    if op.options.versions != "first":
        return None
    past = before.past(digest)
    step, rising = upgrading.ahead(
        past.manifests, before.manifests, ready.authored
    )
    if not rising:
        return None
    inventory = dataclasses.replace(
        before,
        manifests=tuple(step.values()),
        phase=Phase.CHANGING,
        before=past,
        scaling={},
        healing=None,
    )
    return Ahead(inventory, rising)


def prepared(
    op: Operation, before: Inventory, step: Ahead, registry: Registry
) -> Prepared:
    """What the step is to write, checked; nothing is written."""
    ready = prepare.recorded(
        op.cluster, step.inventory, before, registry, op.options
    )
    return dataclasses.replace(
        ready,
        items=tuple(item for item in ready.items if item.ref in step.rising),
        not_yet=ready.not_yet & step.rising,
    )


def bring_in(op: Operation, step: Ahead, ready: Prepared) -> None:
    """Write the versions, and wait until the workload clusters have them."""
    op.knowing(ready.registry)
    stages = plan.instantiate(
        ready.items,
        ready.registry,
        ready.owners.live,
        ready.owners.going,
        ready.order,
    )
    stay = marks.taken_off(op, op.inventory)
    inventory = dataclasses.replace(step.inventory, leaving=stay)
    carry.bring_in(op, stages, ready, inventory)
