"""Take back an operation that ended early, or the last change."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr import objects
from tacker_k8s_cr.applying import routes
from tacker_k8s_cr.applying import upgrading
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.healing import owing
from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import claims
from tacker_k8s_cr.lcm import end
from tacker_k8s_cr.lcm import lingering
from tacker_k8s_cr.lcm import marks
from tacker_k8s_cr.lcm import preflight
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm import remaking
from tacker_k8s_cr.lcm import resize
from tacker_k8s_cr.lcm import restoring
from tacker_k8s_cr.lcm import takeback
from tacker_k8s_cr.lcm.operation import Listen
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import DEFAULT
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.planning import authored
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
    back but that it runs; what it has deleted and no controller makes again
    is made again. A termination cannot be taken back.

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
        return _unhealed(op, inventory, registry)
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


def _told(op: Operation, inventory: Inventory) -> bool:
    """Whether an earlier try said what it could not restore."""
    journal = inventory.journal
    return journal.operation == op.name and (
        errors.NOT_RESTORED in journal.error
    )


def _forget(
    op: Operation, inventory: Inventory, marked: tuple[Goer, ...]
) -> None:
    """At rest, with nothing that a repetition could take back.

    :param marked: Machines whose marks could not be taken off.
    """
    op.ledger.rest(
        dataclasses.replace(
            inventory, before=None, healing=None, bounds={}, leaving=marked
        )
    )


# -- Of a heal ---------------------------------------------------------------


def _unhealed(
    op: Operation, inventory: Inventory, registry: Registry
) -> Report:
    """No member comes back, but one that went is made again."""
    known = prepare.known(op.cluster, registry, inventory)
    op.knowing(known)
    refs = [goer.ref for goer in owing.direct(inventory)]
    found = raised(op.cluster.each(op.cluster.get_metadata, refs))
    there = {objects.uid(obj): obj for _, obj in found if obj is not None}
    owed = owing.owed(inventory, there)
    # Who repeats it knows what cannot be restored.
    told = _told(op, inventory)
    lost: dict[ObjectRef, str] = {}
    with op.locked():
        marked = marks.taken_off(op, inventory)
        after = inventory
        if owed:
            op.ledger.write(inventory.entering(op.name, "", ()))
            try:
                lost = remaking.made_again(
                    op, owed, there, registry, lenient=True
                )
                op.settle()
            except carry.REFUSALS as error:
                lost = {goer.ref: error.sentence() for goer in owed}
            if lost and not told:
                raise errors.NotRestored(lost)
            after = op.inventory
        _forget(op, after, marked)
    return op.report(dict.fromkeys(lost, Action.KEPT), lost)


# -- Of a scale --------------------------------------------------------------


def _unscaled(
    op: Operation, inventory: Inventory, registry: Registry
) -> Report:
    op.knowing(prepare.known(op.cluster, registry, inventory))
    told = _told(op, inventory)
    lost: dict[ObjectRef, str] = {}
    targets: list[routes.Target] = []
    for ref, number in inventory.scaling.items():
        if number is None:
            lost[ref] = "its number before could not be read"
            continue
        try:
            targets.append(
                routes.restored(
                    op.cluster, inventory, op.progress.registry, ref, number
                )
            )
        except resize.REFUSALS as error:
            lost[ref] = resize.why(error)
    with op.locked():
        op.ledger.write(inventory.entering(op.name, "replicas", ()))
        refused = resize.sent(op, targets)
        lost.update(refused)
        resize.settle(op, [t for t in targets if t.ref not in refused])
        # The number is back: without a mark before, another would go.
        marked = marks.taken_off(op, op.inventory)
        if lost and not told:
            raise errors.NotRestored(lost)
        _forget(op, op.inventory, marked)
    return op.report(dict.fromkeys(lost, Action.KEPT), lost)


# -- Of a change -------------------------------------------------------------


def _unchanged(op: Operation, now: Inventory, registry: Registry) -> Report:
    former = now.before
    if former is None:  # no change leaves such a record
        raise errors.InstanceExists(now.instance, "has no state before")
    # Who repeats it knows what cannot be restored.
    told = _told(op, now)
    manifests, stay = upgrading.kept(
        op.cluster, former.manifests, former.live_names
    )
    wanted = dataclasses.replace(former, manifests=manifests)
    op.report_checking(len(manifests))
    ready = prepare.recorded(
        op.cluster,
        wanted,
        now,
        registry,
        op.options,
        lenient=True,
        # The change has made these again already, as somebody asked for.
        recreate={
            ref
            for ref, uid in former.owned.items()
            if now.owned.get(ref, uid) != uid
        },
    )
    op.knowing(ready.registry)
    named = {item.ref for item in ready.items} | ready.refused.keys()
    new = {
        ref: uid
        for ref, uid in now.owned.items()
        if ref not in former.owned and ref not in named
    }
    others = now.met | now.taken.keys()
    taken = {ref: uid for ref, uid in new.items() if ref in others}
    made = {ref: uid for ref, uid in new.items() if ref not in others}
    used = carry.used(op, made, authored.manifests(now))
    used.update(restoring.needed(op, ready.refused, made.keys() - used.keys()))
    used.update(lingering.needed(op.cluster, ready.items, made))
    used.update(claims.volumes_in_use(op, made.keys() - used.keys(), made))
    made = {ref: uid for ref, uid in made.items() if ref not in used}
    preflight.deleting(op.cluster, made, wanted=op.options.check_rights)
    carry.refuse_losses(op, made)
    back = dataclasses.replace(
        wanted,
        phase=Phase.CHANGING,
        owned=now.owned,
        shared=tuple(sorted(ready.owners.shared)),
        met=now.met,
        taken=now.taken,
        receipts=now.receipts,
        before=former,
        claim_rules=now.claim_rules,
    )
    with op.locked():
        marked = marks.taken_off(op, now)
        back = dataclasses.replace(back, leaving=marked)
        op.ledger.write(back.entering(op.name, "", ()))
        restoring.restore(op, ready, made, authored.order(now))
        lost = {**stay, **ready.refused, **restoring.missing(op, ready)}
        given = takeback.released(op, taken)
        op.ledger.disown(taken)
        if lost and not told:
            raise errors.NotRestored({**lost, **given})
        _forget(op, op.inventory, marked)
    used.update(claims.claims_left(op))
    op.notes.update({ref: (why,) for ref, why in stay.items()})
    return op.report(
        {
            **dict.fromkeys(ready.refused, Action.KEPT),
            **dict.fromkeys(used, Action.KEPT),
            **dict.fromkeys(taken, Action.RELEASED),
        },
        {**lost, **given, **used},
    )
