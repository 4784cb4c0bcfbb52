"""Select the Machines to delete on scale-in.

Their controllers delete annotated Machines first. The annotation is added
before the replica count is reduced, and stays until the Machines are deleted,
or the replica count is restored.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.engine.set_replicas import ScaleTarget
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.lcm.machines import machine_annotations
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import wait_unlabelled
from tacker_k8s_cr.lcm.stages.wait_unlabelled import MACHINE
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import PendingObject
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.plan.journal import MemberRef

DELETE_MACHINE = machine_annotations.DELETE_MACHINE


@dataclasses.dataclass(frozen=True)
class MachineSelection:
    """The Machines of one scale target to delete.

    :param before: UIDs of all its active Machines before the scale.
    :param earlier_uids: UIDs of those that an earlier scale had selected.
    """

    target: ScaleTarget
    machines: tuple[MemberRef, ...]
    before: frozenset[str]
    earlier_uids: frozenset[str]

    @property
    def deletions(self) -> int:
        """The number of deletions, including outstanding ones."""
        return _count_deletions(self.target, len(self.before))

    @property
    def selected_uids(self) -> frozenset[str]:
        """UIDs of selected Machines that are not being deleted yet."""
        return self.before.intersection(member.uid for member in self.machines)

    @property
    def released_uids(self) -> frozenset[str]:
        """UIDs that need no deletion because the selected are deleted."""
        existing = len(self.selected_uids) + len(self.earlier_uids)
        return self.earlier_uids if existing > self.deletions else frozenset()


def _count_deletions(target: ScaleTarget, active_uids: int) -> int:
    before = target.number if target.before is None else target.before
    return max(0, before - target.number) + max(0, active_uids - before)


def select_machines(
    op: Session, targets: Sequence[ScaleTarget], names: Collection[str]
) -> tuple[MachineSelection, ...]:
    """Select Machines of each target. Raises NotScalable; writes nothing.

    :param names: names or UIDs of Machines. If the replica count is reached
        already, none of them has to exist, as an earlier attempt deleted them;
        nor have Machines that the record lists.
    """
    former = op.inventory.machines_to_delete
    missing = set(names)
    found = []
    for target in targets:
        if not missing or target.scaled_object is None:
            continue
        existing = _machines(op, target.scaled_object)
        named = {
            name: machine
            for machine in existing
            for name in (objects.uid(machine), ObjectRef.of(machine).name)
            if name in missing
        }
        missing -= named.keys()
        wanted = {objects.uid(m): m for m in named.values()}
        if wanted:
            _require_selectable(target, existing, wanted, op.manager)
            found.append(_build_selection(target, existing, wanted, former))
    for member in former:
        missing -= {member.uid, member.ref.name}
    is_reached = all(target.before == target.number for target in targets)
    if missing and not is_reached:
        raise errors.MachineSelectionInvalid(
            targets[0].ref,
            f"{', '.join(sorted(missing))}: not Machines of it. Only "
            "Machines can be selected for deletion; the controller selects "
            "Pods.",
        )
    return tuple(found)


def _machines(op: Session, scale_target: Manifest) -> list[Manifest]:
    groups = members.find_replica_groups(
        op.cluster, op.progress.registry, scale_target
    )
    return [
        member
        for group in groups
        for member in group.members
        if GroupKind.of(member) == MACHINE
    ]


def _require_selectable(
    target: ScaleTarget,
    existing: Sequence[Manifest],
    wanted: Mapping[str, Manifest],
    manager: str,
) -> None:
    """Raise MachineSelectionInvalid if other Machines would be deleted.

    :param manager: whose other annotations are removed before the count is
        reduced.
    """
    if target.before is None:
        return
    deletions = _count_deletions(target, sum(map(members.is_active, existing)))
    active = [
        machine for machine in wanted.values() if members.is_active(machine)
    ]
    if len(active) > deletions and target.before == target.number:
        names = ", ".join(sorted(ObjectRef.of(m).name for m in active))
        raise errors.MachineSelectionInvalid(
            target.ref,
            f"{names} selected but still present, and {deletions} deletions "
            "are left to do: an earlier attempt may have deleted another "
            "Machine. Roll back, or scale to a lower number.",
        )
    if len(active) > deletions:
        raise errors.MachineSelectionInvalid(
            target.ref,
            f"scaling from {target.before} to {target.number} deletes "
            f"{deletions} Machine(s), but {len(active)} were selected",
        )
    annotated = [
        ObjectRef.of(machine).name
        for machine in existing
        if objects.uid(machine) not in wanted
        and members.is_active(machine)
        and fields.annotations_of(machine).get(DELETE_MACHINE, manager)
        != manager
    ]
    if len(active) + len(annotated) > deletions:
        raise errors.MachineSelectionInvalid(
            target.ref,
            f"{', '.join(annotated)}: already annotated for deletion by "
            f"another client (annotation {DELETE_MACHINE})",
        )


def _build_selection(
    target: ScaleTarget,
    existing: Sequence[Manifest],
    wanted: Mapping[str, Manifest],
    former: Collection[MemberRef],
) -> MachineSelection:
    before = frozenset(
        objects.uid(m) for m in existing if members.is_active(m)
    )
    earlier = before.intersection(member.uid for member in former)
    return MachineSelection(
        target,
        tuple(
            MemberRef(ObjectRef.of(machine), uid, target.ref)
            for uid, machine in sorted(wanted.items())
        ),
        before,
        earlier - wanted.keys(),
    )


# -- The result --------------------------------------------------------------


def wait_deleted(
    op: Session, selections: Collection[MachineSelection]
) -> None:
    """Wait until the selected are deleted; check that no others were.

    Raises ObjectsFailed if others were deleted.
    """
    if not selections:
        return

    def find_pending() -> wait_unlabelled.Incomplete:
        pending: dict[ObjectRef, str] = {}
        for item in selections:
            pending.update(_find_pending(op, item))
        return pending

    watches = [
        Watch(MACHINE, member.ref.namespace, "")
        for item in selections
        for member in item.machines
    ]
    wait_unlabelled.wait_complete(op, watches, find_pending)


def _find_pending(op: Session, item: MachineSelection) -> dict[ObjectRef, str]:
    selected = {member.uid: member.ref for member in item.machines}
    existing = {}
    if item.target.scaled_object:
        existing = {
            objects.uid(machine): machine
            for machine in _machines(op, item.target.scaled_object)
        }
    active_uids = {
        uid for uid, machine in existing.items() if members.is_active(machine)
    }
    still_active = active_uids & selected.keys()
    if item.deletions:
        deleted = item.before - active_uids - selected.keys()
        if len(deleted) > item.deletions - len(item.selected_uids):
            _raise_others_deleted(
                item, {selected[uid] for uid in still_active}, len(deleted)
            )
    return {
        selected[uid]: "was selected for deletion and still exists"
        for uid in existing.keys() & selected.keys()
    }


def _raise_others_deleted(
    item: MachineSelection, still_active: set[ObjectRef], deleted: int
) -> None:
    refs = sorted(still_active) or [item.target.ref]
    why = (
        f"was selected for deletion, but {deleted} other(s) were deleted"
        if still_active
        else f"{deleted} were deleted that were not selected"
    )
    found = [
        PendingObject(ref, Verdict(State.FAILED, why), 0.0) for ref in refs
    ]
    raise errors.ObjectsFailed(found, 0.0)
