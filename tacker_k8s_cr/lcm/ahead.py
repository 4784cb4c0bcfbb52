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
    :param ready: what the step writes, checked.
    """

    inventory: Inventory
    ready: Prepared

    @property
    def rising(self) -> frozenset[ObjectRef]:
        """Objects that get another version."""
        return frozenset(item.ref for item in self.ready.items)


def found(
    op: Operation,
    before: Inventory,
    after: Prepared,
    digest: str,
    registry: Registry,
) -> Ahead | None:
    """The step of a change that asks for one; None where it needs none.

    Only what it writes is checked: of the rest there is what was there
    before, as the new package may well mend.

    :param after: the package that is to be brought in. Its order is that
        of the step: workers after their control planes.
    :param digest: of that package.
    """
    if op.options.versions != "first":
        return None
    past = before.past(digest)
    step, rising = upgrading.ahead(
        past.manifests, before.manifests, after.authored
    )
    if not rising:
        return None
    inventory = dataclasses.replace(
        before,
        manifests=tuple(step.values()),
        phase=Phase.CHANGING,
        before=past,
        scaling={},
        bounds={},
        healing=None,
    )
    ready = prepare.recorded(
        op.cluster, inventory, before, registry, op.options, only=rising
    )
    ready = dataclasses.replace(ready, order=after.order)
    return Ahead(inventory, ready)


def bring_in(op: Operation, step: Ahead) -> None:
    """Write the versions, and wait until the workload clusters have them."""
    ready = step.ready
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
