"""Wait until members are deleted and replaced by others."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.kinds import observation
from tacker_k8s_cr.kinds.observation import Observation
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Snapshot
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchUpdate
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.lcm.healing import quorum
from tacker_k8s_cr.lcm.healing import remediation
from tacker_k8s_cr.lcm.healing import selection
from tacker_k8s_cr.lcm.healing.members import ReplicaGroup
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import PendingObject
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.wait.diagnostics import children
from tacker_k8s_cr.wait.diagnostics import explain
from tacker_k8s_cr.wait.progress import WaitState
from tacker_k8s_cr.wait.wait_until import wait_until

LOOK = 5.0
"""Seconds at most between two looks, whatever the streams show."""
GONE = "deleted by another client"


@dataclasses.dataclass(frozen=True)
class ReplacementGoal:
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


def wait_replaced(
    cluster: Cluster,
    wanted: ReplacementGoal,
    progress: WaitState,
    deadline: Deadline,
    *,
    listen: Callable[[WaitState], None],
    guard: Callable[[], None],
) -> None:
    """Check after each event, until all objects have new members.

    An object counts as soon as none of the old members is left, as many
    members as its replica count are current, and it is current itself. Its own
    counters are not sufficient: for a moment they still have the former
    values.

    :param progress: of a wait for the objects.

    Raises ObjectsFailed for blocked or deleted objects (or, for a patient
    progress, when that applies to all that remain), and NotReady when time is
    up; both name every incomplete object, with the cause.
    """
    look = ReplacementWatch(cluster, wanted, progress, deadline)
    until = deadline.now

    def step(found: Sequence[WatchUpdate]) -> float | None:
        nonlocal until
        now = deadline.now
        if now < until and not any(map(look.concerns, found)):
            return until - now
        if deadline.expired:
            return 0.0
        try:
            look.take(listen, now)
        except (errors.Unavailable, errors.Unreachable) as error:
            # The deadline may have passed during the look.
            if not (error.late or deadline.expired):
                raise
        if not look.lacks:
            return None
        if look.is_over:
            raise look.error()
        until = deadline.now + LOOK
        return LOOK

    if not wait_until(cluster, _watches(wanted), step, deadline, guard):
        raise look.error()


def _watches(wanted: ReplacementGoal) -> tuple[Watch, ...]:
    """The objects, and all that may be members in their namespaces."""
    places = {
        (kind, ref.namespace)
        for ref in wanted.owned
        for kind in (ref.group_kind, *wanted.kinds)
    }
    return tuple(Watch(kind, where, "") for kind, where in sorted(places))


class ReplacementWatch:
    """The observed state of the members, updated by each check.

    :ivar lacks: what each object still misses; complete objects are left out.
    """

    def __init__(
        self,
        cluster: Cluster,
        wanted: ReplacementGoal,
        progress: WaitState,
        deadline: Deadline,
    ):
        self._cluster = cluster
        self._wanted = wanted
        self._progress = progress
        self._registry = progress.registry
        self._deadline = deadline
        self._begun = deadline.now
        self._seen: dict[str, Observation] = {}
        self._failed: dict[ObjectRef, float] = {}
        self._keepers = set(wanted.owned.values())
        self._bad: dict[ObjectRef, dict[ObjectRef, Verdict]] = {}
        self.lacks = dict.fromkeys(wanted.owned, "not looked at yet")

    def concerns(self, item: WatchUpdate) -> bool:
        """Whether an observation is about the objects or their members.

        A list is: what moved between our look and it is in no event.
        """
        if isinstance(item, Snapshot):
            return True
        listed = objects.field(item.obj, ("metadata", "ownerReferences"), ())
        about = {str(reference.get("uid")) for reference in listed}
        return bool(self._keepers & {objects.uid(item.obj), *about})

    @property
    def is_over(self) -> bool:
        """Whether waiting longer would not help."""
        if self._progress.wait_all:
            return self._bad.keys() >= self.lacks.keys()
        return bool(self._bad)

    def take(self, listen: Callable[[WaitState], None], now: float) -> None:
        """Read the incomplete objects once more."""
        found = dict(
            results_or_raise(self._cluster.map_parallel(self._one, self.lacks))
        )
        there = [obj for obj, _ in found.values() if obj is not None]
        self._progress = self._sounded(
            self._progress.with_observed(there, now), now
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

    def _one(
        self, ref: ObjectRef
    ) -> tuple[Manifest | None, tuple[ReplicaGroup, ...]]:
        """An object, if it is still that, and whatever keeps members."""
        obj = self._cluster.get(ref)
        if obj is None or objects.uid(obj) != self._wanted.owned[ref]:
            return None, ()
        crews = members.replica_groups(self._cluster, self._registry, obj)
        return obj, tuple(crews)

    def _sounded(self, progress: WaitState, now: float) -> WaitState:
        """Add the state of the objects below those that are stalled."""
        due = [
            ref
            for ref in progress.due_for_inspection(now)
            if ref in self.lacks
        ]
        if not due:
            return progress
        left = self._deadline.remaining
        looked = children.inspect(self._cluster, self._registry, due, left)
        return progress.with_children(looked, now)

    def _lacking(
        self, ref: ObjectRef, crews: tuple[ReplicaGroup, ...], now: float
    ) -> str | None:
        old, later = self._wanted.old, self._wanted.later
        if self._wanted.before:
            return quorum.deletion_blocked_reason(crews, old, self._registry)
        why = selection.missing_replacements(crews, old, self._registry, later)
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
        crews: tuple[ReplicaGroup, ...],
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
        """Return an object that creates no members, and will not in time.

        The status that it reported before its members were deleted may be the
        reason for the heal, so it gets time to report another.
        """
        verdict = self._progress.verdict(ref, now)
        since = self._failed.setdefault(ref, now)
        if verdict.state is State.BLOCKED:
            return {ref: verdict}
        if verdict.state is not State.FAILED:
            self._failed.pop(ref)
        elif now - since >= self._progress.stall_timeout:
            return {ref: verdict}
        return {}

    def _sick(
        self, crews: tuple[ReplicaGroup, ...], now: float
    ) -> dict[ObjectRef, Verdict]:
        """New members that will not become current."""
        bad = {}
        others = self._wanted.old | self._wanted.later
        for member in (
            member
            for crew in crews
            for member in crew.members
            if members.is_active(member) and objects.uid(member) not in others
        ):
            ref, uid = ObjectRef.of(member), objects.uid(member)
            seen = self._seen[uid] = observation.observe(
                member,
                self._registry[ref.group_kind],
                self._seen.get(uid, observation.UNSEEN),
                now,
                wanted=True,
                asked=self._registry.override_for(ref),
            )
            limit = seen.stall_timeout
            if limit is None:
                limit = self._progress.stall_timeout
            if seen.verdict.error and now - seen.still >= limit:
                bad[ref] = Verdict(State.BLOCKED, seen.verdict.reason)
            elif seen.verdict.state is State.FAILED:
                bad[ref] = seen.verdict
        return bad

    def _staying(
        self, crews: tuple[ReplicaGroup, ...], now: float
    ) -> dict[ObjectRef, Verdict]:
        """Return marked Machines that no controller will replace."""
        bad = {}
        stall_timeout = self._progress.stall_timeout
        for member in (m for crew in crews for m in crew.members):
            ref = ObjectRef.of(member)
            why = None
            if objects.uid(member) in self._wanted.old:
                why = remediation.remediation_failure(member)
            if why is None:
                self._failed.pop(ref, None)
            elif now - self._failed.setdefault(ref, now) >= stall_timeout:
                bad[ref] = Verdict(State.BLOCKED, why)
        return bad

    def error(self) -> errors.Error:
        """Return the error of the wait: why each object is incomplete."""
        age = self._deadline.now - self._begun
        bad = {r: v for found in self._bad.values() for r, v in found.items()}
        rest = {
            ref: Verdict(State.IN_PROGRESS, why)
            for ref, why in self.lacks.items()
            if ref not in self._bad
        }
        items = [PendingObject(r, why, age) for r, why in (bad | rest).items()]
        found = explain.with_explanations(self._cluster, self._registry, items)
        return (errors.ObjectsFailed if bad else errors.ReadinessTimeout)(
            found, age
        )
