"""Wait until members are gone and others are in their places."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import views
from tacker_k8s_cr.causes import below
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
from tacker_k8s_cr.healing import quorum
from tacker_k8s_cr.healing import remediating
from tacker_k8s_cr.healing.members import Crew
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict
from tacker_k8s_cr.progress import Progress
from tacker_k8s_cr.views import Seen

LOOK = 5.0
"""Seconds at most between two looks, whatever the streams show."""
GONE = "somebody else removed it"


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What has to come about.

    :param old: UIDs of members that go.
    :param kinds: of the members.
    :param owned: the objects that they work for, with their UIDs.
    :param later: UIDs of members that go after these. How they are counts
        for nothing, nor does how the objects are as long as they have them.
    :param before: wait until the old ones may go, rather than until others
        are in their places.
    """

    old: frozenset[str]
    kinds: frozenset[GroupKind]
    owned: Mapping[ObjectRef, str]
    later: frozenset[str] = frozenset()
    before: bool = False


def until_replaced(
    cluster: Cluster,
    wanted: Wanted,
    progress: Progress,
    deadline: Deadline,
    *,
    listen: Callable[[Progress], None],
    guard: Callable[[], None],
) -> None:
    """Look again whenever something moves, until all have new members.

    An object counts as soon as none of the old is left, as many members
    as it keeps are current, and it is current itself. Its own counters
    alone would not do: for a moment they are those before.

    :param progress: of a wait for the objects.

    Raises Failed for what is blocked, or gone (or, for a patient progress,
    when that is so of all that is left), and NotReady when time is up; both
    name every object that lacks something, with what explains it.
    """
    look = Look(cluster, wanted, progress, deadline)
    with cluster.watching(_watches(wanted)) as watching:
        while not deadline.passed:
            guard()
            try:
                look.take(listen, deadline.now)
            except (errors.Unavailable, errors.Unreachable) as error:
                if not (error.late or deadline.passed):
                    raise
                break  # the deadline came amid the look
            if not look.lacks:
                return
            if look.over:
                raise look.error()
            _await_move(watching, look, deadline)
    raise look.error()


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
    """What is seen of the members, from look to look.

    :ivar lacks: what each object still lacks; those that lack nothing are
        out.
    """

    def __init__(
        self,
        cluster: Cluster,
        wanted: Wanted,
        progress: Progress,
        deadline: Deadline,
    ):
        self._cluster = cluster
        self._wanted = wanted
        self._progress = progress
        self._registry = progress.registry
        self._deadline = deadline
        self._begun = deadline.now
        self._seen: dict[str, Seen] = {}
        self._failed: dict[ObjectRef, float] = {}
        self._keepers = set(wanted.owned.values())
        self._bad: dict[ObjectRef, dict[ObjectRef, Verdict]] = {}
        self.lacks = dict.fromkeys(wanted.owned, "not looked at yet")

    def concerns(self, item: Observation) -> bool:
        """Whether an observation is about the objects or their members.

        A list is: what moved between our look and it is in no event.
        """
        if isinstance(item, Listed):
            return True
        listed = objects.field(item.obj, ("metadata", "ownerReferences"), ())
        about = {str(reference.get("uid")) for reference in listed}
        return bool(self._keepers & {objects.uid(item.obj), *about})

    @property
    def over(self) -> bool:
        """Whether waiting longer would not help."""
        if self._progress.patient:
            return self._bad.keys() >= self.lacks.keys()
        return bool(self._bad)

    def take(self, listen: Callable[[Progress], None], now: float) -> None:
        """Look once more at what lacks something."""
        found = dict(raised(self._cluster.each(self._one, self.lacks)))
        there = [obj for obj, _ in found.values() if obj is not None]
        self._progress = self._sounded(
            self._progress.observed(there, now), now
        )
        listen(self._progress)
        self.lacks = {}
        self._bad = {}
        for ref, (obj, crews) in found.items():
            self._keepers.update(objects.uid(c.keeper) for c in crews)
            why = GONE if obj is None else self._lacking(ref, crews, now)
            if why is None:
                continue
            self.lacks[ref] = why
            if bad := self._hopeless(ref, obj, crews, now):
                self._bad[ref] = bad

    def _one(self, ref: ObjectRef) -> tuple[Manifest | None, tuple[Crew, ...]]:
        """An object, if it is still that, and whatever keeps members."""
        obj = self._cluster.get(ref)
        if obj is None or objects.uid(obj) != self._wanted.owned[ref]:
            return None, ()
        crews = members.crews(self._cluster, self._registry, obj)
        return obj, tuple(crews)

    def _sounded(self, progress: Progress, now: float) -> Progress:
        """With what is below the objects that stand still."""
        due = [ref for ref in progress.due(now) if ref in self.lacks]
        if not due:
            return progress
        left = self._deadline.left
        looked = below.looked(self._cluster, self._registry, due, left)
        return progress.sounded(looked, now)

    def _lacking(
        self, ref: ObjectRef, crews: tuple[Crew, ...], now: float
    ) -> str | None:
        old, later = self._wanted.old, self._wanted.later
        if self._wanted.before:
            return quorum.hindered(crews, old, self._registry)
        why = candidates.lacking(crews, old, self._registry, later)
        left = {objects.uid(m) for crew in crews for m in crew.members}
        verdict = self._progress.verdict(ref, now)
        if why or later & left or verdict.state is State.CURRENT:
            return why
        return verdict.reason

    # -- What will not come about --------------------------------------------

    def _hopeless(
        self,
        ref: ObjectRef,
        obj: Manifest | None,
        crews: tuple[Crew, ...],
        now: float,
    ) -> dict[ObjectRef, Verdict]:
        """What keeps one object from having new members, if it is certain."""
        if obj is None:
            return {ref: Verdict(State.FAILED, GONE)}
        stuck = self._stuck(ref, now)
        if self._wanted.before:
            return stuck
        return stuck | self._sick(crews, now) | self._staying(crews, now)

    def _stuck(self, ref: ObjectRef, now: float) -> dict[ObjectRef, Verdict]:
        """An object that makes no members, and will not by waiting longer.

        What it said of itself before its members went may be the reason
        for the heal, so that it gets the time to say something else.
        """
        verdict = self._progress.verdict(ref, now)
        since = self._failed.setdefault(ref, now)
        if verdict.state is State.BLOCKED:
            return {ref: verdict}
        if verdict.state is not State.FAILED:
            self._failed.pop(ref)
        elif now - since >= self._progress.dwell:
            return {ref: verdict}
        return {}

    def _sick(
        self, crews: tuple[Crew, ...], now: float
    ) -> dict[ObjectRef, Verdict]:
        """New members that will not become current."""
        bad = {}
        others = self._wanted.old | self._wanted.later
        for member in (
            member
            for crew in crews
            for member in crew.members
            if members.works(member) and objects.uid(member) not in others
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
            dwell = self._progress.dwell if seen.dwell is None else seen.dwell
            if seen.verdict.error and now - seen.still >= dwell:
                bad[ref] = Verdict(State.BLOCKED, seen.verdict.reason)
            elif seen.verdict.state is State.FAILED:
                bad[ref] = seen.verdict
        return bad

    def _staying(
        self, crews: tuple[Crew, ...], now: float
    ) -> dict[ObjectRef, Verdict]:
        """Machines that are marked, and that nobody will replace for it."""
        bad = {}
        dwell = self._progress.dwell
        for member in (m for crew in crews for m in crew.members):
            ref = ObjectRef.of(member)
            why = None
            if objects.uid(member) in self._wanted.old:
                why = remediating.vain(member)
            if why is None:
                self._failed.pop(ref, None)
            elif now - self._failed.setdefault(ref, now) >= dwell:
                bad[ref] = Verdict(State.BLOCKED, why)
        return bad

    def error(self) -> errors.Error:
        """What the wait ends with: why each object lacks something."""
        age = self._deadline.now - self._begun
        bad = {r: v for found in self._bad.values() for r, v in found.items()}
        rest = {
            ref: Verdict(State.IN_PROGRESS, why)
            for ref, why in self.lacks.items()
            if ref not in self._bad
        }
        items = [Unsettled(r, why, age) for r, why in (bad | rest).items()]
        found = explain.explained(self._cluster, self._registry, items)
        return (errors.Failed if bad else errors.NotReady)(found, age)
