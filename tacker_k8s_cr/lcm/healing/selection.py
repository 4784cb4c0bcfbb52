"""Which members a heal replaces, in what order, and when it has."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.lcm.healing import pending_members
from tacker_k8s_cr.lcm.healing import quorum
from tacker_k8s_cr.lcm.healing.members import ReplicaGroup
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Healing
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.inventory import MemberRef
from tacker_k8s_cr.plan.inventory import Phase

Crews = Mapping[ObjectRef, tuple[ReplicaGroup, ...]]
"""By object of the instance, whatever keeps members for it."""


@dataclasses.dataclass(frozen=True)
class MemberLocation:
    """A member, and where it stands."""

    goer: MemberRef
    member: Manifest
    crew: ReplicaGroup

    @property
    def is_standalone(self) -> bool:
        return self.goer.owner == self.goer.ref

    @property
    def control_plane(self) -> bool:
        return quorum.is_voter(self.member)


def places(crews: Crews) -> dict[str, MemberLocation]:
    """All members, by UID. Who keeps a Machine goes before its Cluster."""
    found: dict[str, MemberLocation] = {}
    for owner, several in crews.items():
        for crew in several:
            for member in crew.members:
                uid = objects.uid(member)
                goer = MemberRef(ObjectRef.of(member), uid, owner)
                found.setdefault(uid, MemberLocation(goer, member, crew))
    return found


def unlisted_members(crews: Crews) -> dict[str, ObjectRef]:
    """Return by UID the owners whose members have no API objects."""
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


# -- What is to be deleted ---------------------------------------------------


@dataclasses.dataclass(frozen=True)
class HealSelection:
    """What a heal replaces, and what it leaves though all was asked for."""

    healing: Healing
    kept: Mapping[ObjectRef, str]

    def without(self, refused: Mapping[ObjectRef, str]) -> HealSelection:
        """The choice without these members."""
        goers = tuple(g for g in self.healing.members if g.ref not in refused)
        return HealSelection(
            dataclasses.replace(self.healing, members=goers),
            {**self.kept, **refused},
        )


def select_members(
    inventory: Inventory,
    found: Mapping[str, MemberLocation],
    registry: Registry,
    asked: Collection[str] | None,
    operation: str = "",
) -> HealSelection:
    """Select what to delete, at rest or after a heal that ended early.

    Repeating a heal of all that ended early continues it: what it has replaced
    is not replaced again. With the name of its operation that applies after
    its end as well, and any other name is another heal. Any heal recreates
    what the previous one deleted and did not recreate.

    :param asked: UIDs; None for all members.

    Raises RequestInvalid for a UID that does not belong to a member, and
    NotHealable for members that no controller would replace.
    """
    last = inventory.healing or Healing()
    known = pending_members.recorded(inventory)
    there = {uid: place.member for uid, place in found.items()}
    rest = {
        goer.uid: goer
        for goer in pending_members.members_to_recreate(inventory, there)
    }
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
        return HealSelection(Healing(False, goers, operation), {})
    early = inventory.phase is Phase.HEALING
    if (
        last.all_members
        and operation == last.operation
        and (early or operation)
    ):
        return HealSelection(last, {})
    whole = [
        uid
        for uid in in_order
        if members.is_active((place := found[uid]).member)
        and not registry[place.goer.owner.group_kind].ephemeral
    ]
    kept = dict(_refused(inventory, found, registry, whole))
    goers = (
        *(found[uid].goer for uid in whole if found[uid].goer.ref not in kept),
        *rest.values(),
    )
    return HealSelection(Healing(True, goers, operation), kept)


def _sick_first(
    found: Mapping[str, MemberLocation], registry: Registry
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
    found: Mapping[str, MemberLocation],
    registry: Registry,
    uids: Iterable[str],
) -> Iterator[tuple[ObjectRef, str]]:
    """Members that cannot go, in this order, and why."""
    held = pending_members.package_refs(inventory)
    mended: set[str] = set()
    for uid in uids:
        place = found[uid]
        if place.control_plane and (
            why := quorum.quorum_violation(
                place.goer.uid, place.crew, registry, mended
            )
        ):
            yield place.goer.ref, why
        elif place.is_standalone:
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


def batches(
    healing: Healing,
    found: Mapping[str, MemberLocation],
    marked: Collection[str] = (),
) -> tuple[tuple[MemberLocation, ...], ...]:
    """Return batches: one control plane Machine at a time, then the rest.

    Objects that are already deleted and those that the instance owns directly
    are in no batch.

    :param marked: UIDs of Machines that are only marked. A health check stops
        where too many are unhealthy, so these are marked one by one, too.
    """
    going = [
        found[goer.uid]
        for goer in healing.members
        if goer.uid in found and not found[goer.uid].is_standalone
    ]
    first = [place for place in going if place.control_plane]
    workers = [place for place in going if not place.control_plane]
    first += [place for place in workers if place.goer.uid in marked]
    rest = tuple(p for p in workers if p.goer.uid not in marked)
    alone = tuple((place,) for place in first)
    return (*alone, rest) if rest else alone


# -- When it is deleted and replaced -----------------------------------------


def missing_replacements(
    crews: Iterable[ReplicaGroup],
    old: Collection[str],
    registry: Registry,
    later: Collection[str] = (),
) -> str | None:
    """Return what an object has still to replace; None for nothing.

    :param old: UIDs that were to be deleted.
    :param later: UIDs that are deleted after these; they need not be current.
    """
    crews = tuple(crews)
    for crew in crews:
        for member in crew.members:
            if objects.uid(member) in old:
                return f"{ObjectRef.of(member)} is still there"
    for crew in crews:
        there = [
            member for member in crew.members if members.is_active(member)
        ]
        current = sum(
            objects.uid(member) in later
            or members.is_current(registry, member)
            for member in there
        )
        wanted = members.desired_count(crew.keeper, registry)
        if not crew.hidden and wanted is not None and current < wanted:
            return (
                f"{ObjectRef.of(crew.keeper)}: {current} of {wanted} "
                "member(s) current"
            )
    return None
