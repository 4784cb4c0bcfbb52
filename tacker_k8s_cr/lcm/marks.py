"""Marks on Machines: put on by an operation, and taken off by the next.

A scale marks what is to go first, a heal what others are to replace. One
that dies leaves its marks, and its record says on which Machines. Whoever
comes next takes them off, but for those that it wants as well: a mark that
stays would make a choice long after everybody has forgotten it.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import logging

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.healing import remediating
from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.lcm.operation import Operation

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
    brief: bool = False,
) -> tuple[Goer, ...]:
    """Take off what an operation has left; the Machines that keep a mark.

    One that cannot be reached does for now: a record has to tell of it
    until it can.

    :param keep: by mark the UIDs of Machines that are to have it.
    :param brief: some seconds have to do, if the deadline has passed too.
    """
    some = left(inventory)
    if not some:
        return ()
    writing = op.ledger.writing
    if brief:
        writing = writing.until(Deadline.after(BRIEF))
    stay = []

    def one(goer: Goer) -> None:
        names = [n for n in NAMES if goer.uid not in (keep or {}).get(n, ())]
        _taken_off(writing, goer, op.manager, names)

    for goer, outcome in writing.each(one, some):
        if isinstance(outcome, errors.Error):
            LOG.warning("%s may keep a mark of ours: %s", goer.ref, outcome)
            stay.append(goer)
    return tuple(stay)


def _taken_off(
    writing: Cluster, goer: Goer, manager: str, names: Collection[str]
) -> None:
    machine = writing.get_metadata(goer.ref)
    if machine is None or objects.uid(machine) != goer.uid:
        return
    found = reading.annotations_of(machine)
    ours = {name: None for name in names if found.get(name) == manager}
    if ours:
        _write(writing, goer, ours, manager)


def _write(
    writing: Cluster,
    goer: Goer,
    notes: Mapping[str, str | None],
    manager: str,
) -> None:
    body = {"metadata": {"uid": goer.uid, "annotations": notes}}
    writing.patch(goer.ref, body, manager)
