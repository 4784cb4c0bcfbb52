"""Marks on Machines: put on by an operation, and taken off by the next.

A scale marks what is to go first, a heal what others are to replace. One
that dies leaves its marks, and its record says on which Machines. Whoever
comes next takes them off, but for those that it wants as well, and those on
Machines that a number which has fallen is still to take: without the mark
another would go. One that stays for longer would make a choice when everybody
has forgotten it.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import logging

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.applying import bearers
from tacker_k8s_cr.applying import replicas
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.healing import members
from tacker_k8s_cr.healing import remediating
from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import ObjectRef

LOG = logging.getLogger(__name__)

LEAVES = "cluster.x-k8s.io/delete-machine"
"""Annotation on a Machine that goes first. Its value does not matter to
Cluster API; ours says whose it is."""

NAMES = (LEAVES, remediating.MARK)

BRIEF = 5.0
"""Seconds for taking marks off, whatever is left of the deadline."""


def put(op: Operation, goers: Collection[Goer]) -> None:
    """Mark those that go, but for what somebody else has marked already."""
    for goer in goers:
        machine = op.cluster.get_metadata(goer.ref)
        if machine is None or objects.uid(machine) != goer.uid:
            continue
        if LEAVES not in reading.annotations_of(machine):
            op.ledger.guard()
            _write(op.ledger.writing, goer, {LEAVES: op.manager}, op.manager)


def left(inventory: Inventory) -> tuple[Goer, ...]:
    """Machines on which an operation that ended early may have left marks."""
    healed = (
        goer
        for goer in (inventory.healing.goers if inventory.healing else ())
        if inventory.phase is Phase.HEALING
        and goer.ref.group_kind == remediating.MACHINE
        and goer.ref != goer.owner
    )
    found = {goer.uid: goer for goer in (*inventory.leaving, *healed)}
    return tuple(found.values())


def taken_off(
    op: Operation,
    inventory: Inventory,
    keep: Mapping[str, Collection[str]] | None = None,
    *,
    free: Collection[str] = (),
    brief: bool = False,
) -> tuple[Goer, ...]:
    """Take off what an operation has left; the Machines that keep a mark.

    One that cannot be reached does for now, and one that is still to go, as
    the number of Machines has fallen: a record has to tell of it until it
    is gone, or the number back.

    :param keep: by mark the UIDs of Machines that are to have it.
    :param free: UIDs of Machines that are not to go any more.
    :param brief: some seconds have to do, if the deadline has passed too.
    """
    some = left(inventory)
    if not some:
        return ()
    writing = op.ledger.writing
    if brief:
        writing = writing.until(Deadline.after(BRIEF))
    due = _due(writing, op.registry, inventory.leaving).difference(free)
    stay = []

    def one(goer: Goer) -> bool:
        names = [n for n in NAMES if goer.uid not in (keep or {}).get(n, ())]
        if goer.uid not in due:
            _taken_off(writing, goer, op.manager, names)
            return False
        others = [name for name in names if name != LEAVES]
        notes = _taken_off(writing, goer, op.manager, others)
        return notes.get(LEAVES) == op.manager

    for goer, outcome in writing.each(one, some):
        if isinstance(outcome, errors.Error):
            LOG.warning("%s may keep a mark of ours: %s", goer.ref, outcome)
            stay.append(goer)
        elif outcome:
            LOG.info("%s is still to go, and keeps its mark", goer.ref)
            stay.append(goer)
    return tuple(stay)


def _due(
    cluster: Cluster, registry: Registry, goers: Collection[Goer]
) -> frozenset[str]:
    """UIDs of those that a number which has fallen may still take.

    Where that cannot be seen they are taken for such.
    """
    by_owner: dict[ObjectRef, set[str]] = {}
    for goer in goers:
        by_owner.setdefault(goer.owner, set()).add(goer.uid)
    found: set[str] = set()

    def look(owner: ObjectRef) -> frozenset[str]:
        return _surplus(cluster, registry, owner)

    for owner, outcome in cluster.each(look, tuple(by_owner)):
        if isinstance(outcome, errors.Error):
            LOG.warning("%s: its Machines were not seen: %s", owner, outcome)
            found |= by_owner[owner]
        else:
            found |= by_owner[owner] & outcome
    return frozenset(found)


def _surplus(
    cluster: Cluster, registry: Registry, owner: ObjectRef
) -> frozenset[str]:
    """UIDs of all that works for an object; none if no more than it is to.

    A number takes a while from a topology to what keeps the Machines: the
    lowest of those on the way counts.
    """
    entry = entries.named(owner)
    obj = cluster.get(entry.cluster if entry else owner)
    bearer = bearers.of(cluster, obj, entry) if obj and entry else obj
    if obj is None or bearer is None:
        return frozenset()
    crews = tuple(members.crews(cluster, registry, bearer))
    works = {
        objects.uid(member)
        for crew in crews
        for member in crew.members
        if members.works(member)
    }
    numbers = [
        entries.number(obj, entry) if entry else None,
        objects.field(bearer, replicas.REPLICAS),
        sum(members.number(crew.keeper, registry) or 0 for crew in crews),
    ]
    asked = min(n for n in numbers if isinstance(n, int))
    return frozenset(works) if len(works) > asked else frozenset()


def _taken_off(
    writing: Cluster, goer: Goer, manager: str, names: Collection[str]
) -> Mapping[str, str]:
    """Returns the annotations that it had; none where it is gone."""
    machine = writing.get_metadata(goer.ref)
    if machine is None or objects.uid(machine) != goer.uid:
        return {}
    found = reading.annotations_of(machine)
    ours = {name: None for name in names if found.get(name) == manager}
    if ours:
        _write(writing, goer, ours, manager)
    return found


def _write(
    writing: Cluster,
    goer: Goer,
    notes: Mapping[str, str | None],
    manager: str,
) -> None:
    body = {"metadata": {"uid": goer.uid, "annotations": notes}}
    writing.patch(goer.ref, body, manager)
