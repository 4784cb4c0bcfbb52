"""Bring back what was before a change, and see that it is there."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping

from tacker_k8s_cr.engine import bulk_read
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.preparation.prepare import Prepared
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.lcm.stages import wait_topology
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan import prune
from tacker_k8s_cr.plan import references
from tacker_k8s_cr.plan.order import Order


def needed(
    op: Session, refused: Collection[ObjectRef], made: Collection[ObjectRef]
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
        refers = references.references({**known, ref: live}).get(
            ref, frozenset()
        )
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


def not_restored(op: Session, ready: Prepared) -> dict[ObjectRef, str]:
    """Return the restored objects that do not exist in the end: why."""
    owned = op.inventory.owned
    wanted = [
        item.ref
        for item in ready.items
        if item.ref in owned
        and not ready.registry[item.ref.group_kind].ephemeral
    ]
    found = bulk_read.read_metadata(op.cluster, wanted)
    there = {ref: objects.uid(obj) for ref, obj in found}
    return {
        ref: "it was removed again by somebody else"
        for ref in wanted
        if there.get(ref) != owned[ref]
    }


def restore(
    op: Session,
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
    hooks = {r: uid for r, uid in made.items() if rank[r] is ApplyOrder.HOOK}
    rest = {
        r: uid for r, uid in made.items() if rank[r] is not ApplyOrder.HOOK
    }
    stages = (
        *plan.terminate(hooks, ready.registry).stages,
        *plan.change(
            ready.items,
            ready.registry,
            prune.CurrentState({}, recreated=ready.recreated),
            ready.owners.live,
            ready.owners.terminating,
            ready.order,
        ).stages,
    )
    op.expect_kinds(ready.expected)
    for stage in stages:
        stage_runner.run_stage(op, stage)
        execute.wait_served(op, stage)
    wait_topology.wait_topology(op)
    for stage in plan.terminate(rest, ready.registry, order=order).stages:
        stage_runner.run_stage(op, stage)
