"""Take objects over from instances that live, one record after the other.

The order of writes is what makes it safe to die at any of them: ours says
first what is to come and from whom; then theirs gives the objects up, and
says to whom; then the fields become ours; then ours has them. Until theirs
has given an object up, only theirs counts; from then on, only ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import ownership
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.inventory import Gift
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.lcm.givers import Giver
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import authored
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.recording.ledger import Ledger

LOG = logging.getLogger(__name__)

TRIES = 5
"""Writes of one object, where its controllers write it at the same time."""

STAGE = "taking over"


def handed_over(
    op: Operation, inventory: Inventory, some: Collection[Giver]
) -> Inventory:
    """The inventory with what was taken, as it is stored by then.

    What an operation that died had taken, and not made its own, is gone on
    with. Until the instance is at rest, what was taken counts as met: to
    take the operation back is not to delete it.
    """
    former = op.ledger.entry.inventory.taking if op.ledger.entry else {}
    begun = {
        ref: gift
        for ref, gift in former.items()
        if inventory.owned.get(ref) == gift.uid
    }
    new = {
        ref: Gift(
            uid,
            giver.instance,
            giver.home,
            ref in giver.ledger.inventory.met,
            manifests.get(ref),
        )
        for giver in some
        for manifests in (authored.manifests(giver.ledger.inventory),)
        for ref, uid in giver.uids.items()
    }
    if not begun and not new:
        return inventory
    if new:
        announced = dataclasses.replace(inventory, taking={**begun, **new})
        op.ledger.write(announced.entering(op.name, STAGE, ()))
    for giver in some:
        theirs = giver.ledger.inventory
        giver.ledger.write(theirs.giving(giver.uids, op.instance))
    gifts = {**begun, **new}
    for ref, gift in sorted(gifts.items()):
        renamed(op, ref, gift)
        LOG.info(
            "%s: %s was taken from the instance %s",
            op.instance,
            ref,
            gift.giver,
        )
    after = _with(inventory, gifts)
    op.ledger.write(after.entering(op.name, STAGE, ()))
    for giver in some:
        theirs = giver.ledger.inventory
        kept = {r: to for r, to in theirs.given.items() if r not in giver.uids}
        giver.ledger.write(dataclasses.replace(theirs, given=kept))
    return after


def _with(inventory: Inventory, gifts: Mapping[ObjectRef, Gift]) -> Inventory:
    owning = inventory.owning({ref: gift.uid for ref, gift in gifts.items()})
    return dataclasses.replace(
        owning,
        met=owning.met | gifts.keys(),
        taken={**owning.taken, **gifts},
        taking={},
    )


def settled(inventory: Inventory) -> Inventory:
    """At rest, what was taken is the instance's as if it had made it."""
    own = {ref for ref, gift in inventory.taken.items() if not gift.met}
    return dataclasses.replace(inventory, met=inventory.met - own)


def resolved(cluster: Cluster, inventory: Inventory) -> Inventory:
    """With what a run that died had been given, and nothing announced.

    What the giver's record says counts. Where there is no such record any
    more, the object is ours if it still bears the giver's mark: whoever
    gives an object up to nobody takes that off.
    """
    taking = inventory.taking
    if not taking:
        return inventory
    records = {}
    for place in {(gift.giver, gift.home) for gift in taking.values()}:
        entry = record.read(cluster, *place)
        records[place] = entry.inventory if entry else None
    live = dict(raised(cluster.each(cluster.get_metadata, sorted(taking))))
    given = {}
    for ref, gift in taking.items():
        obj = live[ref]
        if obj is None or objects.uid(obj) != gift.uid:
            continue
        theirs = records[gift.giver, gift.home]
        managers = (
            objects.MANAGER + i for i in (gift.giver, inventory.instance)
        )
        if (
            theirs.given.get(ref) == inventory.instance
            and theirs.owned.get(ref) != gift.uid
            if theirs
            else any(ownership.applied_by(obj, m) for m in managers)
        ):
            given[ref] = gift
    return _with(inventory, given)


def given_back(
    op: Operation, gifts: Mapping[ObjectRef, Gift]
) -> dict[ObjectRef, str]:
    """Give objects back to those who gave them up; to whom, by object.

    Where an instance is no more, or is not at rest, it gets nothing back.
    The lock of ours is held. At each moment the giver's record says whose
    an object is, as when it was taken.
    """
    places: dict[tuple[str, str], dict[ObjectRef, Gift]] = defaultdict(dict)
    for ref, gift in gifts.items():
        places[gift.giver, gift.home][ref] = gift
    back = {}
    for (instance, home), some in sorted(places.items()):
        ledger = Ledger(op.cluster, instance, home)
        try:
            ledger.read(Phase.INSTANTIATED)
            with ledger.locked(op.deadline):
                _hand_back(op, ledger, some)
        except (
            errors.Busy,
            errors.Forbidden,
            errors.InstanceExists,
            errors.InstanceUnknown,
        ) as error:
            LOG.warning("%s: not given back: %s", op.instance, error)
            continue
        back.update(dict.fromkeys(some, instance))
    return back


def _hand_back(
    op: Operation, ledger: Ledger, gifts: Mapping[ObjectRef, Gift]
) -> None:
    theirs = ledger.inventory
    marks = dict.fromkeys(gifts, op.instance)
    ledger.write(dataclasses.replace(theirs, given={**theirs.given, **marks}))
    ours = op.inventory.without(gifts)
    op.ledger.write(dataclasses.replace(ours, taking=gifts))
    for ref, gift in sorted(gifts.items()):
        manager = objects.MANAGER + gift.giver
        _renamed(op, ref, gift.uid, op.manager, manager, gift.giver)
    ledger.write(ledger.inventory.regaining(gifts))
    op.ledger.write(dataclasses.replace(ours, taking={}))


def renamed(op: Operation, ref: ObjectRef, gift: Gift) -> None:
    """Make ours, of the object's fields, what the giver has set."""
    _renamed(op, ref, gift.uid, objects.MANAGER + gift.giver, op.manager)


def _renamed(
    op: Operation,
    ref: ObjectRef,
    uid: str,
    giver: str,
    taker: str,
    mark: str = "",
) -> None:
    """Make one manager's, of an object's fields, what another has set.

    :param mark: the instance that it is to bear the label of, if that is to
        be another.
    """
    for number in range(TRIES):
        obj = op.cluster.get_metadata(ref)
        if obj is None or objects.uid(obj) != uid:
            return
        before = objects.field(obj, ("metadata", "managedFields"), ())
        after = ownership.renamed(before, giver, taker)
        marked = objects.labels(obj).get(objects.INSTANCE)
        if after == list(before) and marked == (mark or marked):
            return
        metadata = obj["metadata"]
        body = {
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "managedFields": after,
            **({"labels": {objects.INSTANCE: mark}} if mark else {}),
        }
        op.ledger.guard()
        try:
            op.ledger.writing.patch(ref, {"metadata": body}, taker)
        except errors.Outdated:
            if number == TRIES - 1:
                raise
        else:
            return
