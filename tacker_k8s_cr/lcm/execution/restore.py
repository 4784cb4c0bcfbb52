"""Restore the objects before a change, and check that they exist."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping

from tacker_k8s_cr.engine import bulk_read
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.preparation.prepared import Prepared
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.lcm.stages import wait_topology
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import deletion_plan
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan import prune
from tacker_k8s_cr.plan import references
from tacker_k8s_cr.plan.order import Order


def find_needed(
    op: Session, refused: Collection[ObjectRef], created: Collection[ObjectRef]
) -> dict[ObjectRef, str]:
    """Return created objects that a refused object still refers to.

    The live objects are decisive: for a repeated rollback, the record already
    has the state to restore.
    """
    known = {ref: _bare(ref) for ref in created}
    found: dict[ObjectRef, str] = {}
    pending = sorted(refused)
    while pending:
        ref = pending.pop()
        live = op.cluster.get(ref)
        if live is None:
            continue
        targets = references.references({**known, ref: live}).get(
            ref, frozenset()
        )
        for target in sorted(targets & known.keys() - found.keys()):
            found[target] = f"still needed by {ref}, which was not rolled back"
            pending.append(target)
    return found


def _bare(ref: ObjectRef) -> Manifest:
    """Return an object of which only the name is known."""
    return {
        "apiVersion": f"{ref.group}/v1" if ref.group else "v1",
        "kind": ref.kind,
        "metadata": {"name": ref.name, "namespace": ref.namespace},
    }


def find_not_restored(op: Session, ready: Prepared) -> dict[ObjectRef, str]:
    """Return objects that should be restored and do not exist, and why."""
    owned = op.inventory.owned
    wanted = [
        item.ref
        for item in ready.items
        if item.ref in owned
        and not ready.registry[item.ref.group_kind].ephemeral
    ]
    found = bulk_read.read_metadata(op.cluster, wanted)
    live_uids = {ref: objects.uid(obj) for ref, obj in found}
    return {
        ref: "another client deleted it again"
        for ref in wanted
        if live_uids.get(ref) != owned[ref]
    }


def restore(
    op: Session,
    ready: Prepared,
    created: Mapping[ObjectRef, str],
    order: Order,
) -> None:
    """Apply the former objects, and delete those that the change created.

    :param order: in which they were created.

    Created webhooks and API services are deleted first: they may prevent the
    other objects from being restored.
    """
    rank = {ref: ready.registry[ref.group_kind].rank for ref in created}
    hooks = {
        r: uid for r, uid in created.items() if rank[r] is ApplyOrder.HOOK
    }
    non_hooks = {
        r: uid for r, uid in created.items() if rank[r] is not ApplyOrder.HOOK
    }
    stages = (
        *deletion_plan.terminate(hooks, ready.registry).stages,
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
    for stage in deletion_plan.terminate(
        non_hooks, ready.registry, order=order
    ).stages:
        stage_runner.run_stage(op, stage)
