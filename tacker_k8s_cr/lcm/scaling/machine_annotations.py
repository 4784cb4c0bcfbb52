"""Add annotations to Machines for an operation, and remove them afterwards.

A scale marks the Machines to delete first, a heal those that other controllers
are to replace. An operation that dies leaves its marks, and its record lists
the Machines. The next operation removes them, except those that it needs as
well, and those on Machines that a reduced replica count is still to delete:
without the mark the controller would delete another Machine. A mark that stays
for longer would affect a later, unrelated selection.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import logging

from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.engine import topology_targets
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.lcm.healing import remediation
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.inventory import MemberRef
from tacker_k8s_cr.plan.inventory import Phase

LOG = logging.getLogger(__name__)

LEAVES = "cluster.x-k8s.io/delete-machine"
"""Annotation on a Machine that is deleted first. Cluster API ignores its
value; the project sets it to the name of the owner."""

NAMES = (LEAVES, remediation.MARK)

BRIEF = 5.0
"""Seconds for taking marks off, whatever is left of the deadline."""


def add_delete_annotations(op: Session, goers: Collection[MemberRef]) -> None:
    """Mark the Machines to delete, except those another client has marked."""
    for goer in goers:
        machine = op.cluster.get_metadata(goer.ref)
        if machine is None or objects.uid(machine) != goer.uid:
            continue
        if LEAVES not in fields.annotations_of(machine):
            op.ledger.guard()
            _write(
                op.ledger.fenced_cluster,
                goer,
                {LEAVES: op.manager},
                op.manager,
            )


def stale_annotations(inventory: Inventory) -> tuple[MemberRef, ...]:
    """Machines on which an operation that ended early may have left marks."""
    healed = (
        goer
        for goer in (inventory.healing.members if inventory.healing else ())
        if inventory.phase is Phase.HEALING
        and goer.ref.group_kind == remediation.MACHINE
        and goer.ref != goer.owner
    )
    found = {
        goer.uid: goer for goer in (*inventory.machines_to_delete, *healed)
    }
    return tuple(found.values())


def remove_annotations(
    op: Session,
    inventory: Inventory,
    keep: Mapping[str, Collection[str]] | None = None,
    *,
    free: Collection[str] = (),
    brief: bool = False,
) -> tuple[MemberRef, ...]:
    """Remove annotations of an operation; return Machines that keep one.

    A Machine that cannot be reached keeps it for now, and so does one that is
    still to be deleted because the replica count was reduced: a record has to
    list it until it is deleted, or the replica count restored.

    :param keep: by annotation the UIDs of Machines that are to have it.
    :param free: UIDs of Machines that are no longer to be deleted.
    :param brief: take only some seconds, even if the deadline has passed.
    """
    some = stale_annotations(inventory)
    if not some:
        return ()
    writing = op.ledger.fenced_cluster
    if brief:
        writing = writing.with_deadline(Deadline.after(BRIEF))
    due = _due(writing, op.registry, inventory.machines_to_delete).difference(
        free
    )
    stay = []

    def one(goer: MemberRef) -> bool:
        names = [n for n in NAMES if goer.uid not in (keep or {}).get(n, ())]
        if goer.uid not in due:
            _taken_off(writing, goer, op.manager, names)
            return False
        others = [name for name in names if name != LEAVES]
        notes = _taken_off(writing, goer, op.manager, others)
        return notes.get(LEAVES) == op.manager

    for goer, outcome in writing.map_parallel(one, some):
        if isinstance(outcome, errors.Error):
            LOG.warning("%s may keep a mark of ours: %s", goer.ref, outcome)
            stay.append(goer)
        elif outcome:
            LOG.info("%s is still to go, and keeps its mark", goer.ref)
            stay.append(goer)
    return tuple(stay)


def _due(
    cluster: Cluster, registry: Registry, goers: Collection[MemberRef]
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

    for owner, outcome in cluster.map_parallel(look, tuple(by_owner)):
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
    entry = topology_replicas.parse_ref(owner)
    obj = cluster.get(entry.cluster if entry else owner)
    bearer = (
        topology_targets.scale_target_of(cluster, obj, entry)
        if obj and entry
        else obj
    )
    if obj is None or bearer is None:
        return frozenset()
    crews = tuple(members.replica_groups(cluster, registry, bearer))
    works = {
        objects.uid(member)
        for crew in crews
        for member in crew.members
        if members.is_active(member)
    }
    numbers = [
        topology_replicas.number(obj, entry) if entry else None,
        objects.field(bearer, replicas.REPLICAS),
        sum(
            members.desired_count(crew.keeper, registry) or 0 for crew in crews
        ),
    ]
    asked = min(n for n in numbers if isinstance(n, int))
    return frozenset(works) if len(works) > asked else frozenset()


def _taken_off(
    writing: Cluster, goer: MemberRef, manager: str, names: Collection[str]
) -> Mapping[str, str]:
    """Remove annotations; return those it had, none if it was deleted."""
    machine = writing.get_metadata(goer.ref)
    if machine is None or objects.uid(machine) != goer.uid:
        return {}
    found = fields.annotations_of(machine)
    ours = {name: None for name in names if found.get(name) == manager}
    if ours:
        _write(writing, goer, ours, manager)
    return found


def _write(
    writing: Cluster,
    goer: MemberRef,
    notes: Mapping[str, str | None],
    manager: str,
) -> None:
    body = {"metadata": {"uid": goer.uid, "annotations": notes}}
    writing.patch(goer.ref, body, manager)
