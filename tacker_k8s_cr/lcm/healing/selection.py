"""Select the members that a heal replaces, and their order."""

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
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Healing
from tacker_k8s_cr.plan.journal import MemberRef
from tacker_k8s_cr.plan.journal import Phase

GroupsByOwner = Mapping[ObjectRef, tuple[ReplicaGroup, ...]]
"""By object of the instance, its replica groups."""


@dataclasses.dataclass(frozen=True)
class MemberLocation:
    """A member, its live object and its replica group."""

    member: MemberRef
    obj: Manifest
    group: ReplicaGroup

    @property
    def is_standalone(self) -> bool:
        return self.member.owner == self.member.ref

    @property
    def control_plane(self) -> bool:
        return quorum.is_voter(self.obj)


def locate_members(groups: GroupsByOwner) -> dict[str, MemberLocation]:
    """Return all members by UID. Direct owners precede a Cluster."""
    found: dict[str, MemberLocation] = {}
    for owner, owner_groups in groups.items():
        for group in owner_groups:
            for obj in group.members:
                uid = objects.uid(obj)
                member = MemberRef(ObjectRef.of(obj), uid, owner)
                found.setdefault(uid, MemberLocation(member, obj, group))
    return found


def unlisted_members(groups: GroupsByOwner) -> dict[str, ObjectRef]:
    """Return by UID the owners whose members have no API objects."""
    return {
        objects.uid(group.controller): ObjectRef.of(group.controller)
        for owner_groups in groups.values()
        for group in owner_groups
        if group.hidden
    }


HIDDEN = (
    "its provider creates no Machine objects that could be replaced one by "
    "one, and replaces the machines itself"
)
"""Why a heal skips such an owner."""


# -- What is to be deleted ---------------------------------------------------


@dataclasses.dataclass(frozen=True)
class HealSelection:
    """The members that a heal replaces, and those that it has to skip."""

    healing: Healing
    retained: Mapping[ObjectRef, str]

    def without(self, refused: Mapping[ObjectRef, str]) -> HealSelection:
        """Return the selection without these members."""
        member_refs = tuple(
            g for g in self.healing.members if g.ref not in refused
        )
        return HealSelection(
            dataclasses.replace(self.healing, members=member_refs),
            {**self.retained, **refused},
        )


def select_members(
    inventory: Inventory,
    found: Mapping[str, MemberLocation],
    registry: Registry,
    requested: Collection[str] | None,
    operation: str = "",
) -> HealSelection:
    """Select the members to replace.

    Repeating a heal of all that ended early continues it: what it has replaced
    is not replaced again. If operations are named, this also applies after its
    end, and another name means another heal. Any heal recreates what the
    previous one deleted and did not recreate.

    :param requested: UIDs; None for all members.

    Raises RequestInvalid for a UID that does not belong to a member, and
    NotHealable for members that no controller would replace.
    """
    last = inventory.healing or Healing()
    recorded = pending_members.recorded_members(inventory)
    live = {uid: location.obj for uid, location in found.items()}
    to_recreate = {
        member.uid: member
        for member in pending_members.members_to_recreate(inventory, live)
    }
    in_order = _not_current_first(found, registry)
    if requested is not None:
        if unknown := sorted(set(requested) - found.keys() - recorded.keys()):
            raise errors.RequestInvalid(
                f"heal: no member of the instance {inventory.instance} has "
                f"the UID {', '.join(unknown)}"
            )
        selected = [
            uid
            for uid in in_order
            if uid in requested and uid not in to_recreate
        ]
        refused = dict(_find_refused(inventory, found, registry, selected))
        if refused:
            raise errors.NotHealable(refused)
        deleted = {uid: recorded[uid] for uid in requested if uid not in found}
        member_refs = (
            *(found[uid].member for uid in selected),
            *(deleted | to_recreate).values(),
        )
        return HealSelection(Healing(False, member_refs, operation), {})
    is_interrupted = inventory.phase is Phase.HEALING
    if (
        last.all_members
        and operation == last.operation
        and (is_interrupted or operation)
    ):
        return HealSelection(last, {})
    active_uids = [
        uid
        for uid in in_order
        if members.is_active((location := found[uid]).obj)
        and not registry[location.member.owner.group_kind].ephemeral
    ]
    retained = dict(_find_refused(inventory, found, registry, active_uids))
    member_refs = (
        *(
            found[uid].member
            for uid in active_uids
            if found[uid].member.ref not in retained
        ),
        *to_recreate.values(),
    )
    return HealSelection(Healing(True, member_refs, operation), retained)


def _not_current_first(
    found: Mapping[str, MemberLocation], registry: Registry
) -> tuple[str, ...]:
    """Return members by UID, those that are not current first.

    A control plane whose failed Machine is replaced can spare another one.
    """
    return tuple(
        sorted(
            found,
            key=lambda uid: members.is_current(registry, found[uid].obj),
        )
    )


def _find_refused(
    inventory: Inventory,
    found: Mapping[str, MemberLocation],
    registry: Registry,
    uids: Iterable[str],
) -> Iterator[tuple[ObjectRef, str]]:
    """Yield members that cannot be replaced in this order, and why."""
    package = pending_members.package_refs(inventory)
    replaced: set[str] = set()
    for uid in uids:
        location = found[uid]
        if location.control_plane and (
            why := quorum.quorum_violation(
                location.member.uid, location.group, registry, replaced
            )
        ):
            yield location.member.ref, why
        elif location.is_standalone:
            if location.member.ref not in package:
                yield (
                    location.member.ref,
                    "no controller recreates it and it is not in the package "
                    "of the instance",
                )
        elif not _controlled(location.obj):
            yield location.member.ref, "no controller recreates it"
        else:
            # It is replaced before the next one is deleted.
            replaced.add(uid)


def _controlled(obj: Manifest) -> bool:
    listed = objects.field(obj, ("metadata", "ownerReferences"), ())
    return any(reference.get("controller") for reference in listed)


def split_batches(
    healing: Healing,
    found: Mapping[str, MemberLocation],
    marked: Collection[str] = (),
) -> tuple[tuple[MemberLocation, ...], ...]:
    """Return batches: one control plane Machine at a time, then all others.

    Objects that are already deleted and those that the instance owns directly
    are in no batch.

    :param marked: UIDs of Machines to annotate only. A health check stops if
        too many are unhealthy, so these are annotated one by one, too.
    """
    selected = [
        found[member.uid]
        for member in healing.members
        if member.uid in found and not found[member.uid].is_standalone
    ]
    single = [location for location in selected if location.control_plane]
    workers = [location for location in selected if not location.control_plane]
    single += [
        location for location in workers if location.member.uid in marked
    ]
    to_recreate = tuple(p for p in workers if p.member.uid not in marked)
    single_batches = tuple((location,) for location in single)
    return (*single_batches, to_recreate) if to_recreate else single_batches


# -- When it is deleted and replaced -----------------------------------------


def missing_replacements(
    groups: Iterable[ReplicaGroup],
    old: Collection[str],
    registry: Registry,
    later: Collection[str] = (),
) -> str | None:
    """Return what an object has still to replace; None for nothing.

    :param old: UIDs that were to be deleted.
    :param later: UIDs that are deleted after these; they need not be current.
    """
    groups = tuple(groups)
    for group in groups:
        for obj in group.members:
            if objects.uid(obj) in old:
                return f"{ObjectRef.of(obj)} still exists"
    for group in groups:
        live = [obj for obj in group.members if members.is_active(obj)]
        current = sum(
            objects.uid(obj) in later or members.is_current(registry, obj)
            for obj in live
        )
        wanted = members.desired_count(group.controller, registry)
        if not group.hidden and wanted is not None and current < wanted:
            return (
                f"{ObjectRef.of(group.controller)}: {current} of {wanted} "
                "member(s) current"
            )
    return None
