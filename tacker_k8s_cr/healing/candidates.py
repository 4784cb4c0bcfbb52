"""Which members a heal replaces, in what order, and when it has."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.healing import members
from tacker_k8s_cr.healing import owing
from tacker_k8s_cr.healing import quorum
from tacker_k8s_cr.healing.members import Crew
from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.inventory import Healing
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef

Crews = Mapping[ObjectRef, tuple[Crew, ...]]
"""By object of the instance, whatever keeps members for it."""


@dataclasses.dataclass(frozen=True)
class Place:
    """A member, and where it stands."""

    goer: Goer
    member: Manifest
    crew: Crew

    @property
    def direct(self) -> bool:
        return self.goer.owner == self.goer.ref

    @property
    def control_plane(self) -> bool:
        return quorum.is_voter(self.member)


def places(crews: Crews) -> dict[str, Place]:
    """All members, by UID. Who keeps a Machine goes before its Cluster."""
    found: dict[str, Place] = {}
    for owner, several in crews.items():
        for crew in several:
            for member in crew.members:
                uid = objects.uid(member)
                goer = Goer(ObjectRef.of(member), uid, owner)
                found.setdefault(uid, Place(goer, member, crew))
    return found


def hidden(crews: Crews) -> dict[str, ObjectRef]:
    """By UID what keeps members that are no objects."""
    return {
        objects.uid(crew.keeper): ObjectRef.of(crew.keeper)
        for several in crews.values()
        for crew in several
        if crew.hidden
    }


HIDDEN = (
    "its provider shows no Machines that could be replaced one by one, and "
    "replaces them itself"
)
"""Why a heal leaves what keeps such members."""


# -- What is to go -----------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Choice:
    """What a heal replaces, and what it leaves though all was asked for."""

    healing: Healing
    kept: Mapping[ObjectRef, str]

    def without(self, refused: Mapping[ObjectRef, str]) -> Choice:
        """The choice without these members."""
        goers = tuple(g for g in self.healing.goers if g.ref not in refused)
        return Choice(
            dataclasses.replace(self.healing, goers=goers),
            {**self.kept, **refused},
        )


def chosen(
    inventory: Inventory,
    found: Mapping[str, Place],
    registry: Registry,
    asked: Collection[str] | None,
    operation: str = "",
) -> Choice:
    """What is to go, of an instance at rest or whose heal ended early.

    To repeat a heal of all that ended early is to go on with it: what it
    has replaced is not replaced again. With the name of its operation that
    holds after its end as well, and any other name is another heal. Any
    heal makes again what the one before has deleted and not made again.

    :param asked: UIDs; None for all members.

    Raises RequestInvalid for a UID that is no member's, and NotHealable
    for members that nobody would replace.
    """
    last = inventory.healing or Healing()
    known = owing.recorded(inventory)
    there = {uid: place.member for uid, place in found.items()}
    rest = {goer.uid: goer for goer in owing.owed(inventory, there)}
    in_order = _sick_first(found, registry)
    if asked is not None:
        if unknown := sorted(set(asked) - found.keys() - known.keys()):
            raise errors.RequestInvalid(
                f"heal: no member of the instance {inventory.instance} has "
                f"the UID {', '.join(unknown)}"
            )
        going = [uid for uid in in_order if uid in asked and uid not in rest]
        refused = dict(_refused(inventory, found, registry, going))
        if refused:
            raise errors.NotHealable(refused)
        gone = {uid: known[uid] for uid in asked if uid not in found}
        goers = (
            *(found[uid].goer for uid in going),
            *(gone | rest).values(),
        )
        return Choice(Healing(False, goers, operation), {})
    early = inventory.phase is Phase.HEALING
    if (
        last.everything
        and operation == last.operation
        and (early or operation)
    ):
        return Choice(last, {})
    whole = [
        uid
        for uid in in_order
        if members.works((place := found[uid]).member)
        and not registry[place.goer.owner.group_kind].fleeting
    ]
    kept = dict(_refused(inventory, found, registry, whole))
    goers = (
        *(found[uid].goer for uid in whole if found[uid].goer.ref not in kept),
        *rest.values(),
    )
    return Choice(Healing(True, goers, operation), kept)


def _sick_first(
    found: Mapping[str, Place], registry: Registry
) -> tuple[str, ...]:
    """Members by UID, those that are not current before the others.

    A control plane whose sick machine is replaced can do without another.
    """
    return tuple(
        sorted(
            found,
            key=lambda uid: members.is_current(registry, found[uid].member),
        )
    )


def _refused(
    inventory: Inventory,
    found: Mapping[str, Place],
    registry: Registry,
    uids: Iterable[str],
) -> Iterator[tuple[ObjectRef, str]]:
    """Members that cannot go, in this order, and why."""
    held = owing.held(inventory)
    mended: set[str] = set()
    for uid in uids:
        place = found[uid]
        if place.control_plane and (
            why := quorum.needed(place.goer.uid, place.crew, registry, mended)
        ):
            yield place.goer.ref, why
        elif place.direct:
            if place.goer.ref not in held:
                yield (
                    place.goer.ref,
                    "no controller replaces it, and the package of the "
                    "instance does not hold it",
                )
        elif not _controlled(place.member):
            yield place.goer.ref, "no controller replaces it"
        else:
            # By the time that the next one goes another is in its place.
            mended.add(uid)


def _controlled(member: Manifest) -> bool:
    listed = objects.field(member, ("metadata", "ownerReferences"), ())
    return any(reference.get("controller") for reference in listed)


def rounds(
    healing: Healing,
    found: Mapping[str, Place],
    marked: Collection[str] = (),
) -> tuple[tuple[Place, ...], ...]:
    """What goes at once: one control plane machine at a time, then the rest.

    What is gone already is in none, nor is what the instance owns directly.

    :param marked: UIDs of machines that are only marked. A health check
        stops where too many are sick, so that these go one by one, too.
    """
    going = [
        found[goer.uid]
        for goer in healing.goers
        if goer.uid in found and not found[goer.uid].direct
    ]
    first = [place for place in going if place.control_plane]
    workers = [place for place in going if not place.control_plane]
    first += [place for place in workers if place.goer.uid in marked]
    rest = tuple(p for p in workers if p.goer.uid not in marked)
    alone = tuple((place,) for place in first)
    return (*alone, rest) if rest else alone


# -- When it has gone, and come again ----------------------------------------


def lacking(
    crews: Iterable[Crew],
    old: Collection[str],
    registry: Registry,
    later: Collection[str] = (),
) -> str | None:
    """What an object has still to replace, in a sentence; None for nothing.

    :param old: UIDs that were to go.
    :param later: UIDs that go when these have; they need not be current.
    """
    crews = tuple(crews)
    for crew in crews:
        for member in crew.members:
            if objects.uid(member) in old:
                return f"{ObjectRef.of(member)} is still there"
    for crew in crews:
        there = [member for member in crew.members if members.works(member)]
        current = sum(
            objects.uid(member) in later
            or members.is_current(registry, member)
            for member in there
        )
        wanted = members.number(crew.keeper, registry)
        if not crew.hidden and wanted is not None and current < wanted:
            return (
                f"{ObjectRef.of(crew.keeper)}: {current} of {wanted} "
                "member(s) current"
            )
    return None
