"""Take back an operation that ended early, or the last change."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr.applying import replicas
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Rank
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import end
from tacker_k8s_cr.lcm import preflight
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm import resize
from tacker_k8s_cr.lcm import takeback
from tacker_k8s_cr.lcm.operation import Listen
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.prepare import Prepared
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import DEFAULT
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.planning import authored
from tacker_k8s_cr.planning import plan
from tacker_k8s_cr.planning.order import Order
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report


def roll_back(
    cluster: Cluster,
    instance: str,
    *,
    namespace: str = "",
    record_namespace: str = "",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
    options: Options = DEFAULT,
    package: Package | None = None,
    listen: Listen | None = None,
) -> Report:
    """Take back the operation that ended early, or else the last change.

    An instantiation: all that it made goes, and the record. A scale: the
    objects get the numbers from before. A change of package: the manifests
    from before are applied again and waited for, and what the change made
    goes, Clusters and definitions too. Of a heal there is nothing to take
    back but that it runs. A termination cannot be taken back.

    To repeat it does nothing more: what was before is forgotten when it
    has been restored.

    :param package: what an instance at rest is to be of afterwards. One
        that is so already is left alone; without it the last change is
        taken back, whatever that was.

    Raises NotRestored for what could not be brought back, when all else
    has been. To repeat it then tries again, and comes to rest in any case.
    """
    op = Operation(
        "rollback",
        cluster,
        instance,
        namespace,
        deadline,
        options,
        listen,
        record_namespace,
    )
    op.ledger.read()
    entry = op.ledger.entry
    if entry is None:
        return end.ended(op, registry, keeping=False)
    inventory = carry.taken_up(op)
    if inventory.phase is Phase.INSTANTIATING:
        return end.ended(op, registry, keeping=False)
    if inventory.phase is Phase.ENDING:
        if inventory.owned and inventory.journal.operation != op.name:
            raise errors.InstanceExists(
                instance,
                "is ending, which cannot be taken back: terminate it",
            )
        return end.ended(op, registry, keeping=False)
    if inventory.phase is Phase.SCALING:
        return _unscaled(op, inventory, registry)
    if inventory.phase is Phase.HEALING:
        op.knowing(registry)
        with op.locked():
            _forget(op, inventory)
        return op.report()
    if inventory.phase is Phase.INSTANTIATED and not _undoable(
        inventory, package
    ):
        op.knowing(registry)
        return op.report()
    return _unchanged(op, inventory, registry)


def _undoable(inventory: Inventory, package: Package | None) -> bool:
    """Whether an instance at rest has a change to take back."""
    if package is None or package.digest == inventory.digest:
        return package is None and inventory.before is not None
    if inventory.before and inventory.before.digest == package.digest:
        return True
    raise errors.RequestInvalid(
        f"rollback: the instance {inventory.instance} was not of the package "
        f"{package.name} before its last change"
    )


def _forget(op: Operation, inventory: Inventory) -> None:
    """At rest, with nothing that a repetition could take back."""
    op.ledger.rest(dataclasses.replace(inventory, before=None, healing=None))


# -- Of a scale --------------------------------------------------------------


def _unscaled(
    op: Operation, inventory: Inventory, registry: Registry
) -> Report:
    op.knowing(prepare.known(op.cluster, registry, inventory))
    lost = {}
    targets: list[replicas.Target] = []
    for ref, number in inventory.scaling.items():
        if number is None:
            lost[ref] = "its number before could not be read"
            continue
        try:
            targets += replicas.checked(
                op.cluster, inventory, registry, {ref: number}
            )
        except errors.NotScalable as error:
            lost[ref] = error.why
    with op.locked():
        op.ledger.write(inventory.entering(op.name, "replicas", ()))
        resize.send(op, targets)
        op.settle()
        if lost:
            raise errors.NotRestored(lost)
        _forget(op, op.inventory)
    return op.report()


# -- Of a change -------------------------------------------------------------


def _unchanged(op: Operation, now: Inventory, registry: Registry) -> Report:
    former = now.before
    if former is None:  # no change leaves such a record
        raise errors.InstanceExists(now.instance, "has no state before")
    # Who repeats it knows what cannot be restored.
    told = now.journal.operation == op.name and (
        errors.NOT_RESTORED in now.journal.error
    )
    ready = prepare.recorded(
        op.cluster, former, now, registry, op.options, lenient=True
    )
    op.knowing(ready.registry)
    named = {item.ref for item in ready.items} | ready.refused.keys()
    new = {
        ref: uid
        for ref, uid in now.owned.items()
        if ref not in former.owned and ref not in named
    }
    taken = {ref: uid for ref, uid in new.items() if ref in now.met}
    made = {ref: uid for ref, uid in new.items() if ref not in now.met}
    used = carry.used(op, made, authored.manifests(now))
    made = {ref: uid for ref, uid in made.items() if ref not in used}
    preflight.deleting(op.cluster, made, wanted=op.options.check_rights)
    carry.refuse_losses(op, made)
    back = dataclasses.replace(
        former,
        phase=Phase.CHANGING,
        owned=now.owned,
        shared=tuple(sorted(ready.owners.shared)),
        met=now.met,
        receipts=now.receipts,
        before=former,
    )
    with op.locked():
        op.ledger.write(back.entering(op.name, "", ()))
        _restore(op, ready, made, authored.order(now))
        lost = {**ready.refused, **takeback.released(op, taken)}
        op.ledger.disown(taken)
        if ready.refused and not told:
            raise errors.NotRestored(lost)
        _forget(op, op.inventory)
    return op.report(
        {
            **dict.fromkeys(ready.refused, Action.KEPT),
            **dict.fromkeys(used, Action.KEPT),
            **dict.fromkeys(taken, Action.RELEASED),
        },
        {**lost, **used},
    )


def _restore(
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
        *plan.instantiate(
            ready.items,
            ready.registry,
            ready.owners.live,
            ready.owners.going,
            ready.order,
        ).stages,
    )
    op.expecting(ready.expected)
    for stage in stages:
        op.carry_out(stage)
        carry.served(op, stage)
    op.settle()
    for stage in plan.terminate(rest, ready.registry, order=order).stages:
        op.carry_out(stage)
