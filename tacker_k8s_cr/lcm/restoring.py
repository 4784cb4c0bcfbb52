"""Bring back what was before a change, and see that it is there."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping

from tacker_k8s_cr import objects
from tacker_k8s_cr.applying import living
from tacker_k8s_cr.kinds.base import Rank
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import staging
from tacker_k8s_cr.lcm import topologies
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.prepare import Prepared
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import needs
from tacker_k8s_cr.planning import plan
from tacker_k8s_cr.planning import pruning
from tacker_k8s_cr.planning.order import Order


def needed(
    op: Operation, refused: Collection[ObjectRef], made: Collection[ObjectRef]
) -> dict[ObjectRef, str]:
    """What the change made, and an object refers to that stays as it is.

    The objects themselves say so: a rollback that is repeated finds in the
    record what was to be restored.
    """
    known = {ref: _bare(ref) for ref in made}
    found: dict[ObjectRef, str] = {}
    look = sorted(refused)
    while look:
        ref = look.pop()
        live = op.cluster.get(ref)
        if live is None:
            continue
        refers = needs.needs({**known, ref: live}).get(ref, frozenset())
        for other in sorted(refers & known.keys() - found.keys()):
            found[other] = f"{ref}, which stays as it is, needs it"
            look.append(other)
    return found


def _bare(ref: ObjectRef) -> Manifest:
    """An object of which nothing but its name is known."""
    return {
        "apiVersion": f"{ref.group}/v1" if ref.group else "v1",
        "kind": ref.kind,
        "metadata": {"name": ref.name, "namespace": ref.namespace},
    }


def missing(op: Operation, ready: Prepared) -> dict[ObjectRef, str]:
    """Whatever was restored and is not there when all is done: why."""
    owned = op.inventory.owned
    wanted = [
        item.ref
        for item in ready.items
        if item.ref in owned
        and not ready.registry[item.ref.group_kind].fleeting
    ]
    found = living.metadata(op.cluster, wanted)
    there = {ref: objects.uid(obj) for ref, obj in found}
    return {
        ref: "it was removed again by somebody else"
        for ref in wanted
        if there.get(ref) != owned[ref]
    }


def restore(
    op: Operation,
    ready: Prepared,
    made: Mapping[ObjectRef, str],
    order: Order,
) -> None:
    """Bring in what was before, and take away what the change made.

    :param order: in which it was made.

    Its webhooks and API services go first: they may be what keeps the
    rest from being restored.
    """
    rank = {ref: ready.registry[ref.group_kind].rank for ref in made}
    hooks = {r: uid for r, uid in made.items() if rank[r] is Rank.HOOK}
    rest = {r: uid for r, uid in made.items() if rank[r] is not Rank.HOOK}
    stages = (
        *plan.terminate(hooks, ready.registry).stages,
        *plan.change(
            ready.items,
            ready.registry,
            pruning.Former({}),
            ready.owners.live,
            ready.owners.going,
            ready.order,
            ready.recreated,
        ).stages,
    )
    op.expecting(ready.expected)
    for stage in stages:
        staging.carry_out(op, stage)
        carry.served(op, stage)
    topologies.settled(op)
    for stage in plan.terminate(rest, ready.registry, order=order).stages:
        staging.carry_out(op, stage)
