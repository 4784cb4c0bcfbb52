"""Take objects over from instances that live, one record after the other.

The order of writes is what makes it safe to die at any of them: ours says
first what is to come and from whom; then theirs gives the objects up, and
says to whom; then the fields become ours; then ours has them. Until theirs
has given an object up, only theirs counts; from then on, only ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
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
from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.prepare import Prepared
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import neighbours
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.recording.ledger import Ledger

LOG = logging.getLogger(__name__)

TRIES = 5
"""Writes of one object, where its controllers write it at the same time."""

STAGE = "taking over"


@dataclasses.dataclass(frozen=True)
class Giver:
    """An instance that gives objects up, and which these are: with UIDs."""

    instance: str
    home: str
    ledger: Ledger
    uids: Mapping[ObjectRef, str]

    @property
    def place(self) -> tuple[str, str]:
        return self.home, self.instance


def givers(op: Operation, ready: Prepared) -> tuple[Giver, ...]:
    """Whom the package takes objects from; nothing is written.

    Raises an error where one of them is not at rest, has not got the
    object, or would be left without the bearer of a number.
    """
    asked = op.options.take_from
    if strange := asked.keys() - {item.ref for item in ready.items}:
        raise errors.RequestInvalid(
            f"{', '.join(map(str, sorted(strange)))}: to be taken from "
            "another instance, and not in the package"
        )
    wanted: dict[str, dict[ObjectRef, str]] = defaultdict(dict)
    for ref, instance in ready.owners.taken.items():
        wanted[instance][ref] = ready.owners.live[ref].uid
    return tuple(
        _giver(op, instance, uids) for instance, uids in sorted(wanted.items())
    )


def _giver(
    op: Operation, instance: str, uids: Mapping[ObjectRef, str]
) -> Giver:
    near = {op.home, op.namespace, *(ref.namespace for ref in uids)} - {""}
    lacking = dict(uids)
    for home in neighbours.homes(op.cluster, instance) or sorted(near):
        ledger = Ledger(op.cluster, instance, home)
        with contextlib.suppress(errors.Forbidden):
            ledger.read()
        if ledger.entry is None:
            continue
        owned = ledger.inventory.owned
        lacking = {r: uid for r, uid in uids.items() if owned.get(r) != uid}
        if not lacking:
            ledger.read(Phase.INSTANTIATED)
            _check_numbers(ledger.inventory, uids)
            return Giver(instance, home, ledger, uids)
    raise errors.Owned(
        dict.fromkeys(
            lacking,
            f"the instance {instance}, of which no record that has it can be "
            "read",
        )
    )


def _check_numbers(giver: Inventory, refs: Collection[ObjectRef]) -> None:
    for vdu, ref in giver.vdus.items():
        if entries.owner(ref) in refs:
            raise errors.RequestInvalid(
                f"{entries.owner(ref)}: it bears the number of the VDU {vdu} "
                f"of the instance {giver.instance}, and is not taken from it"
            )


@contextlib.contextmanager
def locked(
    op: Operation, some: Collection[Giver]
) -> Iterator[Callable[[], None]]:
    """Hold the instance's lock, and for a while those of givers.

    Locks are taken in one order by all: of two instances that take from
    each other at once, one gets both. What is yielded lets the givers go.
    """
    ours = op.home, op.instance
    ordered = sorted(some, key=lambda giver: giver.place)
    with contextlib.ExitStack() as theirs:
        for giver in ordered:
            if giver.place < ours:
                theirs.enter_context(giver.ledger.locked(op.deadline))
        with op.locked():
            try:
                for giver in ordered:
                    if giver.place > ours:
                        theirs.enter_context(giver.ledger.locked(op.deadline))
            except errors.Error:
                if op.ledger.entry is None:
                    op.ledger.retire()
                raise
            yield theirs.close


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
        )
        for giver in some
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


def renamed(op: Operation, ref: ObjectRef, gift: Gift) -> None:
    """Make ours, of the object's fields, what the giver has set."""
    for number in range(TRIES):
        obj = op.cluster.get_metadata(ref)
        if obj is None or objects.uid(obj) != gift.uid:
            return
        before = objects.field(obj, ("metadata", "managedFields"), ())
        giver = objects.MANAGER + gift.giver
        after = ownership.renamed(before, giver, op.manager)
        if after == list(before):
            return
        metadata = obj["metadata"]
        body = {
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "managedFields": after,
        }
        op.ledger.guard()
        try:
            op.ledger.writing.patch(ref, {"metadata": body}, op.manager)
        except errors.Outdated:
            if number == TRIES - 1:
                raise
        else:
            return
