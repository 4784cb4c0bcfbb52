"""Wait until members are gone and others are in their places."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import views
from tacker_k8s_cr.causes import explain
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import Listed
from tacker_k8s_cr.cluster.protocol import Observation
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.cluster.protocol import Watching
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.errors import Unsettled
from tacker_k8s_cr.healing import candidates
from tacker_k8s_cr.healing import members
from tacker_k8s_cr.healing.members import Crew
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict
from tacker_k8s_cr.views import Seen

LOOK = 5.0
"""Seconds at most between two looks, whatever the streams show."""

Told = Callable[[Mapping[ObjectRef, Manifest]], Mapping[ObjectRef, Verdict]]
"""Shows objects that were looked at, and says how far they are."""


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What has to come about.

    :param old: UIDs of members that go.
    :param kinds: of the members.
    :param owned: the objects that they work for, with their UIDs.
    :param dwell: seconds after which a member that shows the same error,
        and does not move, is blocked.
    """

    old: frozenset[str]
    kinds: frozenset[GroupKind]
    owned: Mapping[ObjectRef, str]
    dwell: float


def until_replaced(
    cluster: Cluster,
    wanted: Wanted,
    registry: Registry,
    deadline: Deadline,
    *,
    told: Told,
    guard: Callable[[], None],
) -> None:
    """Look again whenever something moves, until all have new members.

    An object counts as soon as none of the old is left, as many members
    as it keeps are current, and it is current itself. Its own counters
    alone would not do: for a moment they are those before.

    Raises Failed for what is blocked, or gone, and NotReady when time is
    up.
    """
    begun = deadline.now
    look = Look(cluster, wanted, registry, begun)
    lacks = dict.fromkeys(wanted.owned, "not looked at yet")
    with cluster.watching(_watches(wanted)) as watching:
        while not deadline.passed:
            guard()
            try:
                lacks = look.at(lacks, told, deadline.now)
            except errors.Unavailable:
                if not deadline.passed:
                    raise
                break  # the deadline came amid the look
            if not lacks:
                return
            _await_move(watching, look, deadline)
    age = deadline.now - begun
    raise errors.NotReady(look.explained(lacks, age), age)


def _watches(wanted: Wanted) -> tuple[Watch, ...]:
    """The objects, and all that may be members in their namespaces."""
    places = {
        (kind, ref.namespace)
        for ref in wanted.owned
        for kind in (ref.group_kind, *wanted.kinds)
    }
    return tuple(Watch(kind, where, "") for kind, where in sorted(places))


def _await_move(watching: Watching, look: Look, deadline: Deadline) -> None:
    """Until something moves that a look is about, or a while has passed."""
    until = deadline.now + min(LOOK, max(0.01, deadline.left))
    while (left := until - deadline.now) > 0:
        found = watching.take(left)
        if any(look.concerns(item) for item in found):
            return


class Look:
    """What is seen of the members, from look to look."""

    def __init__(
        self,
        cluster: Cluster,
        wanted: Wanted,
        registry: Registry,
        begun: float,
    ):
        self._cluster = cluster
        self._wanted = wanted
        self._registry = registry
        self._begun = begun
        self._seen: dict[str, Seen] = {}
        self._failed: dict[ObjectRef, float] = {}
        self._keepers = set(wanted.owned.values())

    def concerns(self, item: Observation) -> bool:
        """Whether an observation is about the objects or their members.

        A list is: what moved between our look and it is in no event.
        """
        if isinstance(item, Listed):
            return True
        listed = objects.field(item.obj, ("metadata", "ownerReferences"), ())
        about = {str(reference.get("uid")) for reference in listed}
        return bool(self._keepers & {objects.uid(item.obj), *about})

    def at(
        self, refs: Collection[ObjectRef], told: Told, now: float
    ) -> dict[ObjectRef, str]:
        """What these objects still lack; those that lack nothing are out."""
        found = dict(raised(self._cluster.each(self._one, refs)))
        objs = {ref: obj for ref, (obj, _) in found.items()}
        crews = {ref: several for ref, (_, several) in found.items()}
        verdicts = told(objs)
        self._check(
            {**self._stuck(verdicts, now), **self._bad(crews, now)}, now
        )
        lacks = {}
        for ref, several in crews.items():
            self._keepers.update(objects.uid(c.keeper) for c in several)
            old = self._wanted.old
            why = candidates.lacking(several, old, self._registry)
            if why is None and verdicts[ref].state is not State.CURRENT:
                why = verdicts[ref].reason
            if why is not None:
                lacks[ref] = why
        return lacks

    def _one(self, ref: ObjectRef) -> tuple[Manifest, tuple[Crew, ...]]:
        obj = self._cluster.get(ref)
        if obj is None or objects.uid(obj) != self._wanted.owned[ref]:
            why = Verdict(State.FAILED, "somebody else removed it")
            raise errors.Failed([Unsettled(ref, why, 0.0)], 0.0)
        crews = members.crews(self._cluster, self._registry, obj)
        return obj, tuple(crews)

    def _stuck(
        self, verdicts: Mapping[ObjectRef, Verdict], now: float
    ) -> dict[ObjectRef, Verdict]:
        """Objects that make no members, and will not by waiting longer.

        What one said of itself before its members went may be the reason
        for the heal, so that it gets the time to say something else.
        """
        bad = {}
        for ref, verdict in verdicts.items():
            since = self._failed.setdefault(ref, now)
            if verdict.state is State.BLOCKED:
                bad[ref] = verdict
            elif verdict.state is not State.FAILED:
                self._failed.pop(ref)
            elif now - since >= self._wanted.dwell:
                bad[ref] = verdict
        return bad

    def _bad(
        self, crews: Mapping[ObjectRef, tuple[Crew, ...]], now: float
    ) -> dict[ObjectRef, Verdict]:
        """New members that will not become current."""
        bad = {}
        for member in (
            member
            for several in crews.values()
            for crew in several
            for member in crew.members
            if members.works(member)
            and objects.uid(member) not in self._wanted.old
        ):
            ref, uid = ObjectRef.of(member), objects.uid(member)
            seen = self._seen[uid] = views.seen(
                member,
                self._registry[ref.group_kind],
                self._seen.get(uid, views.UNSEEN),
                now,
                wanted=True,
                asked=self._registry.asked(ref),
            )
            dwell = self._wanted.dwell if seen.dwell is None else seen.dwell
            if seen.verdict.error and now - seen.still >= dwell:
                bad[ref] = Verdict(State.BLOCKED, seen.verdict.reason)
            elif seen.verdict.state is State.FAILED:
                bad[ref] = seen.verdict
        return bad

    def _check(self, bad: Mapping[ObjectRef, Verdict], now: float) -> None:
        if bad:
            age = now - self._begun
            items = [Unsettled(ref, why, age) for ref, why in bad.items()]
            found = explain.explained(self._cluster, self._registry, items)
            raise errors.Failed(found, age)

    def explained(
        self, lacks: Mapping[ObjectRef, str], age: float
    ) -> tuple[Unsettled, ...]:
        items = [
            Unsettled(ref, Verdict(State.IN_PROGRESS, why), age)
            for ref, why in lacks.items()
        ]
        return explain.explained(self._cluster, self._registry, items)
