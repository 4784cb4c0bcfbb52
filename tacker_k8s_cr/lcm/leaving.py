"""Machines that are to go when a number falls.

Their controllers take first what bears an annotation. It is put on before
the number falls, and stays until they are gone, or the number is back.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.applying.routes import Target
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.errors import Unsettled
from tacker_k8s_cr.healing import members
from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.lcm import marks
from tacker_k8s_cr.lcm import reaching
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.reaching import MACHINE
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict

MARK = marks.LEAVES


@dataclasses.dataclass(frozen=True)
class Leaving:
    """The Machines of one number that go.

    :param before: UIDs of all that worked for it.
    :param others: UIDs of those among them that an earlier scale had chosen.
    """

    target: Target
    goers: tuple[Goer, ...]
    before: frozenset[str]
    others: frozenset[str]

    @property
    def falls(self) -> int:
        """How many go, with those that a former number has yet to take."""
        return _falls(self.target, len(self.before))

    @property
    def chosen(self) -> frozenset[str]:
        """UIDs of the chosen that work: one that goes already is no more."""
        return self.before.intersection(goer.uid for goer in self.goers)

    @property
    def free(self) -> frozenset[str]:
        """UIDs of those that are to stay for the chosen to go."""
        there = len(self.chosen) + len(self.others)
        return self.others if there > self.falls else frozenset()


def _falls(target: Target, works: int) -> int:
    before = target.number if target.before is None else target.before
    return max(0, before - target.number) + max(0, works - before)


def chosen(
    op: Operation, targets: Sequence[Target], names: Collection[str]
) -> tuple[Leaving, ...]:
    """What is to go of each number. Raises NotScalable; writes nothing.

    :param names: names or UIDs of Machines. When a number is there already
        none of it has to be: that was done by an earlier try. Nor has what
        the record tells of.
    """
    former = op.inventory.leaving
    missing = set(names)
    found = []
    for target in targets:
        if not missing or target.bearer is None:
            continue
        there = _machines(op, target.bearer)
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
        raise errors.NotScalable(
            targets[0].ref,
            f"{', '.join(sorted(missing))}: to go was chosen what is no "
            "Machine of it; which Pods go is for their controllers to say",
        )
    return tuple(found)


def _machines(op: Operation, bearer: Manifest) -> list[Manifest]:
    crews = members.crews(op.cluster, op.progress.registry, bearer)
    return [
        member
        for crew in crews
        for member in crew.members
        if GroupKind.of(member) == MACHINE
    ]


def _check(
    target: Target,
    there: Sequence[Manifest],
    wanted: Mapping[str, Manifest],
    manager: str,
) -> None:
    """Raise NotScalable where others would go, or none.

    :param manager: whose marks on others come off before the number falls.
    """
    if target.before is None:
        return
    falls = _falls(target, sum(map(members.works, there)))
    going = [machine for machine in wanted.values() if members.works(machine)]
    if len(going) > falls and target.before == target.number:
        names = ", ".join(sorted(ObjectRef.of(m).name for m in going))
        raise errors.NotScalable(
            target.ref,
            f"{names}: chosen to go and still there, while of the number "
            f"{target.number} there go {falls}: another may have gone in an "
            "earlier try; roll back, or scale to a lower number",
        )
    if len(going) > falls:
        raise errors.NotScalable(
            target.ref,
            f"from {target.before} to {target.number} there go {falls}, and "
            f"{len(going)} are chosen to go",
        )
    others = [
        ObjectRef.of(machine).name
        for machine in there
        if objects.uid(machine) not in wanted
        and members.works(machine)
        and reading.annotations_of(machine).get(MARK, manager) != manager
    ]
    if len(going) + len(others) > falls:
        raise errors.NotScalable(
            target.ref,
            f"{', '.join(others)}: somebody else has marked that to go first "
            f"(annotation {MARK})",
        )


def _leaving(
    target: Target,
    there: Sequence[Manifest],
    wanted: Mapping[str, Manifest],
    former: Collection[Goer],
) -> Leaving:
    before = frozenset(objects.uid(m) for m in there if members.works(m))
    earlier = before.intersection(goer.uid for goer in former)
    return Leaving(
        target,
        tuple(
            Goer(ObjectRef.of(machine), uid, target.ref)
            for uid, machine in sorted(wanted.items())
        ),
        before,
        earlier - wanted.keys(),
    )


# -- What came of it ---------------------------------------------------------


def gone(op: Operation, leaving: Collection[Leaving]) -> None:
    """Wait until the chosen are gone, and see that no others went.

    Raises Failed where others have.
    """
    if not leaving:
        return

    def look() -> reaching.Lacking:
        lacking: dict[ObjectRef, str] = {}
        for item in leaving:
            lacking.update(_look(op, item))
        return lacking

    watches = [
        Watch(MACHINE, goer.ref.namespace, "")
        for item in leaving
        for goer in item.goers
    ]
    reaching.until(op, watches, look)


def _look(op: Operation, item: Leaving) -> dict[ObjectRef, str]:
    chosen_ = {goer.uid: goer.ref for goer in item.goers}
    there = {}
    if item.target.bearer:
        there = {
            objects.uid(machine): machine
            for machine in _machines(op, item.target.bearer)
        }
    works = {uid for uid, machine in there.items() if members.works(machine)}
    stay = works & chosen_.keys()
    if item.falls:
        others = item.before - works - chosen_.keys()
        if len(others) > item.falls - len(item.chosen):
            _refuse(item, {chosen_[uid] for uid in stay}, len(others))
    return {
        chosen_[uid]: "is chosen to go, and still there"
        for uid in there.keys() & chosen_.keys()
    }


def _refuse(item: Leaving, stay: set[ObjectRef], others: int) -> None:
    where = sorted(stay) or [item.target.ref]
    why = (
        f"was chosen to go, and {others} other(s) went"
        if stay
        else f"{others} went that were not chosen to go"
    )
    found = [Unsettled(ref, Verdict(State.FAILED, why), 0.0) for ref in where]
    raise errors.Failed(found, 0.0)
