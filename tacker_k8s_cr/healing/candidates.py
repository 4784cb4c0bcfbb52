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
from tacker_k8s_cr.healing.members import Crew
from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.inventory import Healing
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict

CONTROL_PLANE = "cluster.x-k8s.io/control-plane"
"""Label of Cluster API on the Machines of a control plane."""

DAEMONS = GroupKind("apps", "DaemonSet")

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
        return CONTROL_PLANE in objects.labels(self.member)


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


# -- What is to go -----------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Choice:
    """What a heal replaces, and what it leaves though all was asked for."""

    healing: Healing
    kept: Mapping[ObjectRef, str]


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
    holds after its end as well, and any other name is another heal.

    :param asked: UIDs; None for all members.

    Raises RequestInvalid for a UID that is no member's, and NotHealable
    for members that nobody would replace.
    """
    last = inventory.healing or Healing()
    known = {goer.uid: goer for goer in last.goers}
    if asked is not None:
        if unknown := sorted(set(asked) - found.keys() - known.keys()):
            raise errors.RequestInvalid(
                f"heal: no member of the instance {inventory.instance} has "
                f"the UID {', '.join(unknown)}"
            )
        there = [uid for uid in asked if uid in found]
        refused = dict(_refused(inventory, found, registry, there))
        if refused:
            raise errors.NotHealable(refused)
        goers = tuple(
            found[uid].goer if uid in found else known[uid] for uid in asked
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
        for uid, place in found.items()
        if members.works(place.member)
        and not registry[place.goer.owner.group_kind].fleeting
    ]
    kept = dict(_refused(inventory, found, registry, whole))
    goers = tuple(
        found[uid].goer for uid in whole if found[uid].goer.ref not in kept
    )
    return Choice(Healing(True, goers, operation), kept)


def _refused(
    inventory: Inventory,
    found: Mapping[str, Place],
    registry: Registry,
    uids: Iterable[str],
) -> Iterator[tuple[ObjectRef, str]]:
    """Members that cannot go, and why."""
    held = {
        dataclasses.replace(ref, name=inventory.live_names.get(ref, ref.name))
        for ref in map(ObjectRef.of, inventory.manifests)
    }
    for uid in uids:
        place = found[uid]
        if place.control_plane and (why := _needed(place, registry)):
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


def _controlled(member: Manifest) -> bool:
    listed = objects.field(member, ("metadata", "ownerReferences"), ())
    return any(reference.get("controller") for reference in listed)


def _needed(place: Place, registry: Registry) -> str | None:
    """Why a control plane would not live on without this machine.

    The others keep its data, and have to agree by majority.
    """
    others = [
        member
        for member in place.crew.members
        if objects.uid(member) != place.goer.uid
        and CONTROL_PLANE in objects.labels(member)
        and members.works(member)
    ]
    if not others:
        return (
            "it is the only machine of its control plane, whose data would "
            "go with it"
        )
    current = sum(
        _verdict(registry, member).state is State.CURRENT for member in others
    )
    if 2 * current > len(others):
        return None
    return (
        f"only {current} of the {len(others)} other machine(s) of its "
        "control plane are current, and most of them have to be"
    )


def rounds(
    healing: Healing, found: Mapping[str, Place]
) -> tuple[tuple[Place, ...], ...]:
    """What goes at once: one control plane machine at a time, then the rest.

    What is gone already is in none, nor is what the instance owns directly.
    """
    going = [
        found[goer.uid]
        for goer in healing.goers
        if goer.uid in found and not found[goer.uid].direct
    ]
    rest = tuple(place for place in going if not place.control_plane)
    alone = tuple((place,) for place in going if place.control_plane)
    return (*alone, rest) if rest else alone


# -- When it has gone, and come again ----------------------------------------


def lacking(
    crews: Iterable[Crew], old: Collection[str], registry: Registry
) -> str | None:
    """What an object has still to replace, in a sentence; None for nothing.

    :param old: UIDs that were to go.
    """
    crews = tuple(crews)
    for crew in crews:
        for member in crew.members:
            if objects.uid(member) in old:
                return f"{ObjectRef.of(member)} is still there"
    for crew in crews:
        there = [member for member in crew.members if members.works(member)]
        verdicts = [_verdict(registry, member) for member in there]
        current = sum(v.state is State.CURRENT for v in verdicts)
        wanted = number(crew.keeper, registry)
        if wanted is not None and current < wanted:
            return (
                f"{ObjectRef.of(crew.keeper)}: {current} of {wanted} "
                "member(s) current"
            )
    return None


def number(keeper: Manifest, registry: Registry) -> int | None:
    """How many members are kept; None where that is not said."""
    kind = GroupKind.of(keeper)
    path = registry[kind].replicas or ("spec", "replicas")
    if kind == DAEMONS:
        path = ("status", "desiredNumberScheduled")
    found = objects.field(keeper, path)
    return found if isinstance(found, int) else None


def _verdict(registry: Registry, member: Manifest) -> Verdict:
    ref = ObjectRef.of(member)
    handler = registry.asked(ref) or registry[ref.group_kind]
    return handler.assess(member)
