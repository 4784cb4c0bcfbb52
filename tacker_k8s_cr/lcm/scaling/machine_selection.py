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
from tacker_k8s_cr.lcm.scaling import machine_annotations
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
from tacker_k8s_cr.plan.inventory import MemberRef

MARK = machine_annotations.LEAVES


@dataclasses.dataclass(frozen=True)
class MachineSelection:
    """The Machines of one number that go.

    :param before: UIDs of all that worked for it.
    :param others: UIDs of those among them that an earlier scale had chosen.
    """

    target: ScaleTarget
    goers: tuple[MemberRef, ...]
    before: frozenset[str]
    others: frozenset[str]

    @property
    def count(self) -> int:
        """How many go, with those that a former number has yet to take."""
        return _falls(self.target, len(self.before))

    @property
    def chosen_uids(self) -> frozenset[str]:
        """UIDs of selected Machines that work and are not being deleted."""
        return self.before.intersection(goer.uid for goer in self.goers)

    @property
    def spared_uids(self) -> frozenset[str]:
        """UIDs of those that stay because the selected are deleted."""
        there = len(self.chosen_uids) + len(self.others)
        return self.others if there > self.count else frozenset()


def _falls(target: ScaleTarget, works: int) -> int:
    before = target.number if target.before is None else target.before
    return max(0, before - target.number) + max(0, works - before)


def select_machines(
    op: Session, targets: Sequence[ScaleTarget], names: Collection[str]
) -> tuple[MachineSelection, ...]:
    """Select Machines of each target. Raises NotScalable; writes nothing.

    :param names: names or UIDs of Machines. If the replica count is reached
        already, none of them has to exist: an earlier attempt deleted them.
        Nor have those in the record.
    """
    former = op.inventory.machines_to_delete
    missing = set(names)
    found = []
    for target in targets:
        if not missing or target.scaled_object is None:
            continue
        there = _machines(op, target.scaled_object)
        some = {
            name: machine
            for machine in there
            for name in (objects.uid(machine), ObjectRef.of(machine).name)
            if name in missing
        }
        missing -= some.keys()
        wanted = {objects.uid(m): m for m in some.values()}
        if wanted:
            _check(target, there, wanted, op.manager)
            found.append(_leaving(target, there, wanted, former))
    for goer in former:
        missing -= {goer.uid, goer.ref.name}
    done = all(target.before == target.number for target in targets)
    if missing and not done:
        raise errors.MachineSelectionInvalid(
            targets[0].ref,
            f"{', '.join(sorted(missing))}: not Machines of it. Only "
            "Machines can be selected for deletion; the controller selects "
            "Pods.",
        )
    return tuple(found)


def _machines(op: Session, bearer: Manifest) -> list[Manifest]:
    crews = members.replica_groups(op.cluster, op.progress.registry, bearer)
    return [
        member
        for crew in crews
        for member in crew.members
        if GroupKind.of(member) == MACHINE
    ]


def _check(
    target: ScaleTarget,
    there: Sequence[Manifest],
    wanted: Mapping[str, Manifest],
    manager: str,
) -> None:
    """Raise MachineSelectionInvalid if other Machines would be deleted.

    :param manager: whose marks on others come off before the number falls.
    """
    if target.before is None:
        return
    falls = _falls(target, sum(map(members.is_active, there)))
    going = [
        machine for machine in wanted.values() if members.is_active(machine)
    ]
    if len(going) > falls and target.before == target.number:
        names = ", ".join(sorted(ObjectRef.of(m).name for m in going))
        raise errors.MachineSelectionInvalid(
            target.ref,
            f"{names} selected but still present, and {falls} deletions are "
            "left to do: an earlier attempt may have deleted another "
            "Machine. Roll back, or scale to a lower number.",
        )
    if len(going) > falls:
        raise errors.MachineSelectionInvalid(
            target.ref,
            f"scaling from {target.before} to {target.number} deletes "
            f"{falls} Machine(s), but {len(going)} were selected",
        )
    others = [
        ObjectRef.of(machine).name
        for machine in there
        if objects.uid(machine) not in wanted
        and members.is_active(machine)
        and fields.annotations_of(machine).get(MARK, manager) != manager
    ]
    if len(going) + len(others) > falls:
        raise errors.MachineSelectionInvalid(
            target.ref,
            f"{', '.join(others)}: already annotated for deletion by another "
            f"client (annotation {MARK})",
        )


def _leaving(
    target: ScaleTarget,
    there: Sequence[Manifest],
    wanted: Mapping[str, Manifest],
    former: Collection[MemberRef],
) -> MachineSelection:
    before = frozenset(objects.uid(m) for m in there if members.is_active(m))
    earlier = before.intersection(goer.uid for goer in former)
    return MachineSelection(
        target,
        tuple(
            MemberRef(ObjectRef.of(machine), uid, target.ref)
            for uid, machine in sorted(wanted.items())
        ),
        before,
        earlier - wanted.keys(),
    )


# -- What came of it ---------------------------------------------------------


def wait_deleted(op: Session, leaving: Collection[MachineSelection]) -> None:
    """Wait until the selected are deleted; check that no others were.

    Raises ObjectsFailed if others were deleted.
    """
    if not leaving:
        return

    def look() -> wait_unlabelled.Lacking:
        lacking: dict[ObjectRef, str] = {}
        for item in leaving:
            lacking.update(_look(op, item))
        return lacking

    watches = [
        Watch(MACHINE, goer.ref.namespace, "")
        for item in leaving
        for goer in item.goers
    ]
    wait_unlabelled.wait_complete(op, watches, look)


def _look(op: Session, item: MachineSelection) -> dict[ObjectRef, str]:
    chosen_ = {goer.uid: goer.ref for goer in item.goers}
    there = {}
    if item.target.scaled_object:
        there = {
            objects.uid(machine): machine
            for machine in _machines(op, item.target.scaled_object)
        }
    works = {
        uid for uid, machine in there.items() if members.is_active(machine)
    }
    stay = works & chosen_.keys()
    if item.count:
        others = item.before - works - chosen_.keys()
        if len(others) > item.count - len(item.chosen_uids):
            _refuse(item, {chosen_[uid] for uid in stay}, len(others))
    return {
        chosen_[uid]: "is chosen to go, and still there"
        for uid in there.keys() & chosen_.keys()
    }


def _refuse(item: MachineSelection, stay: set[ObjectRef], others: int) -> None:
    where = sorted(stay) or [item.target.ref]
    why = (
        f"was chosen to go, and {others} other(s) went"
        if stay
        else f"{others} went that were not chosen to go"
    )
    found = [
        PendingObject(ref, Verdict(State.FAILED, why), 0.0) for ref in where
    ]
    raise errors.ObjectsFailed(found, 0.0)
