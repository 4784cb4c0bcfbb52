"""Add annotations to Machines for an operation, and remove them afterwards.

A scale annotates the Machines to delete first, a heal those that their
controllers are to replace. An operation that is killed leaves its annotations,
and its record lists the Machines. The next operation removes them, except
those that it needs as well, and those on Machines that a reduced replica count
has yet to delete: without the annotation the controller would delete another
Machine. An annotation that stayed longer would affect a later, unrelated
selection.
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
from tacker_k8s_cr.plan.journal import MemberRef
from tacker_k8s_cr.plan.journal import Phase

LOG = logging.getLogger(__name__)

DELETE_MACHINE = "cluster.x-k8s.io/delete-machine"
"""Annotation on a Machine that is deleted first. Cluster API ignores its
value; the project sets it to the name of the owner."""

NAMES = (DELETE_MACHINE, remediation.REMEDIATE_MACHINE)

BRIEF_TIMEOUT = 5.0
"""Seconds for removing annotations, whatever remains of the deadline."""


def add_delete_annotations(
    op: Session, machines: Collection[MemberRef]
) -> None:
    """Annotate Machines to delete, unless another client has done so."""
    for member in machines:
        machine = op.cluster.get_metadata(member.ref)
        if machine is None or objects.uid(machine) != member.uid:
            continue
        if DELETE_MACHINE not in fields.annotations_of(machine):
            op.ledger.guard()
            _write(
                op.ledger.fenced_cluster,
                member,
                {DELETE_MACHINE: op.manager},
                op.manager,
            )


def stale_annotations(inventory: Inventory) -> tuple[MemberRef, ...]:
    """Return Machines that an incomplete operation may have annotated."""
    healed = (
        member
        for member in (inventory.healing.members if inventory.healing else ())
        if inventory.phase is Phase.HEALING
        and member.ref.group_kind == remediation.MACHINE
        and member.ref != member.owner
    )
    found = {
        member.uid: member
        for member in (*inventory.machines_to_delete, *healed)
    }
    return tuple(found.values())


def remove_annotations(
    op: Session,
    inventory: Inventory,
    retained: Mapping[str, Collection[str]] | None = None,
    *,
    unselected: Collection[str] = (),
    brief: bool = False,
) -> tuple[MemberRef, ...]:
    """Remove annotations of an operation; return Machines that keep one.

    A Machine that cannot be reached keeps it for now, and so does one that is
    still to be deleted because the replica count was reduced: a record has to
    list it until it is deleted, or the replica count restored.

    :param retained: by annotation the UIDs of Machines that have to keep it.
    :param unselected: UIDs of Machines that are no longer to be deleted.
    :param brief: take only some seconds, even if the deadline has passed.
    """
    stale = stale_annotations(inventory)
    if not stale:
        return ()
    fenced = op.ledger.fenced_cluster
    if brief:
        fenced = fenced.with_deadline(Deadline.after(BRIEF_TIMEOUT))
    still_due = _still_due(
        fenced, op.registry, inventory.machines_to_delete
    ).difference(unselected)
    annotated = []

    def remove_from(member: MemberRef) -> bool:
        names = [
            n for n in NAMES if member.uid not in (retained or {}).get(n, ())
        ]
        if member.uid not in still_due:
            _remove_own_annotations(fenced, member, op.manager, names)
            return False
        names_ = [name for name in names if name != DELETE_MACHINE]
        annotations = _remove_own_annotations(
            fenced, member, op.manager, names_
        )
        return annotations.get(DELETE_MACHINE) == op.manager

    for member, outcome in fenced.map_parallel(remove_from, stale):
        if isinstance(outcome, errors.Error):
            LOG.warning(
                "%s: could not remove our annotation: %s", member.ref, outcome
            )
            annotated.append(member)
        elif outcome:
            LOG.info(
                "%s: deletion still pending, annotation retained", member.ref
            )
            annotated.append(member)
    return tuple(annotated)


def _still_due(
    cluster: Cluster, registry: Registry, machines: Collection[MemberRef]
) -> frozenset[str]:
    """Return UIDs of Machines that a reduced count may still delete.

    If that cannot be determined, all of an owner's Machines are included.
    """
    by_owner: dict[ObjectRef, set[str]] = {}
    for member in machines:
        by_owner.setdefault(member.owner, set()).add(member.uid)
    found: set[str] = set()

    def read_surplus(owner: ObjectRef) -> frozenset[str]:
        return _surplus(cluster, registry, owner)

    for owner, outcome in cluster.map_parallel(read_surplus, tuple(by_owner)):
        if isinstance(outcome, errors.Error):
            LOG.warning("%s: cannot read its Machines: %s", owner, outcome)
            found |= by_owner[owner]
        else:
            found |= by_owner[owner] & outcome
    return frozenset(found)


def _surplus(
    cluster: Cluster, registry: Registry, owner: ObjectRef
) -> frozenset[str]:
    """Return UIDs of an object's Machines if it has too many, or none.

    A replica count takes a while from a topology to the objects below it:
    the lowest of these counts decides.
    """
    entry = topology_replicas.parse_ref(owner)
    obj = cluster.get(entry.cluster if entry else owner)
    scale_target = (
        topology_targets.scale_target_of(cluster, obj, entry)
        if obj and entry
        else obj
    )
    if obj is None or scale_target is None:
        return frozenset()
    groups = tuple(
        members.find_replica_groups(cluster, registry, scale_target)
    )
    active_uids = {
        objects.uid(machine)
        for group in groups
        for machine in group.members
        if members.is_active(machine)
    }
    counts = [
        topology_replicas.replicas(obj, entry) if entry else None,
        objects.field(scale_target, replicas.REPLICAS),
        sum(
            members.desired_count(group.controller, registry) or 0
            for group in groups
        ),
    ]
    lowest = min(n for n in counts if isinstance(n, int))
    return frozenset(active_uids) if len(active_uids) > lowest else frozenset()


def _remove_own_annotations(
    fenced: Cluster, member: MemberRef, manager: str, names: Collection[str]
) -> Mapping[str, str]:
    """Remove annotations; return those it had, none if it was deleted."""
    machine = fenced.get_metadata(member.ref)
    if machine is None or objects.uid(machine) != member.uid:
        return {}
    found = fields.annotations_of(machine)
    own_annotations = {
        name: None for name in names if found.get(name) == manager
    }
    if own_annotations:
        _write(fenced, member, own_annotations, manager)
    return found


def _write(
    fenced: Cluster,
    member: MemberRef,
    annotations: Mapping[str, str | None],
    manager: str,
) -> None:
    body = {"metadata": {"uid": member.uid, "annotations": annotations}}
    fenced.patch(member.ref, body, manager)
