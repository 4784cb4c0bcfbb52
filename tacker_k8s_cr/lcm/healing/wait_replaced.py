"""Wait until members are deleted and replaced."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Snapshot
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchUpdate
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.lcm.healing import quorum
from tacker_k8s_cr.lcm.healing import selection
from tacker_k8s_cr.lcm.healing.blocked_replacements import BlockedReplacements
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

CHECK_INTERVAL = 5.0
"""Maximum seconds between two checks, whatever the watches report."""
DELETED_BY_OTHER = "deleted by another client"


@dataclasses.dataclass(frozen=True)
class ReplacementGoal:
    """The goal of a wait.

    :param old: UIDs of members to replace.
    :param kinds: of the members.
    :param owned: the objects that they belong to, with UIDs.
    :param later: UIDs of members that are replaced afterwards. Their state is
        ignored, and so is the state of objects that still have one.
    :param before: wait until the old members may be deleted, instead of until
        they are replaced.
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

    An object is complete when none of its old members exists, as many members
    as its replica count are current, and it is current itself. Its own
    counters are not sufficient: for a moment they have the former values.

    :param progress: of a wait for the objects.

    Raises ObjectsFailed for blocked or deleted objects (for a patient progress
    only if no other object is incomplete), and ReadinessTimeout at the
    deadline; both name every incomplete object, with the cause.
    """
    watch = ReplacementWatch(cluster, wanted, progress, deadline)
    next_check = deadline.now

    def step(found: Sequence[WatchUpdate]) -> float | None:
        nonlocal next_check
        now = deadline.now
        if now < next_check and not any(map(watch.is_relevant, found)):
            return next_check - now
        if deadline.expired:
            return 0.0
        try:
            watch.update(listen, now)
        except (errors.Unavailable, errors.Unreachable) as error:
            # The deadline may have passed during the check.
            if not (error.deadline_passed or deadline.expired):
                raise
        if not watch.incomplete:
            return None
        if watch.is_hopeless:
            raise watch.create_error()
        next_check = deadline.now + CHECK_INTERVAL
        return CHECK_INTERVAL

    if not wait_until(cluster, _watches(wanted), step, deadline, guard):
        raise watch.create_error()


def _watches(wanted: ReplacementGoal) -> tuple[Watch, ...]:
    """Return watches for the objects, and for members in their namespaces."""
    watched = {
        (kind, ref.namespace)
        for ref in wanted.owned
        for kind in (ref.group_kind, *wanted.kinds)
    }
    return tuple(
        Watch(kind, namespace, "") for kind, namespace in sorted(watched)
    )


class ReplacementWatch:
    """The observed state of the members, updated by each check.

    :ivar incomplete: by object that is incomplete, the reason.
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
        self._blockers = BlockedReplacements(
            progress.registry, wanted.old, wanted.later
        )
        self._controller_uids = set(wanted.owned.values())
        self._blocked: dict[ObjectRef, dict[ObjectRef, Verdict]] = {}
        self.incomplete = dict.fromkeys(wanted.owned, "not checked yet")

    def is_relevant(self, item: WatchUpdate) -> bool:
        """Return whether an update is about the objects or their members.

        A list always is: changes since our last read are in no event.
        """
        if isinstance(item, Snapshot):
            return True
        listed = objects.field(item.obj, ("metadata", "ownerReferences"), ())
        about = {str(reference.get("uid")) for reference in listed}
        return bool(self._controller_uids & {objects.uid(item.obj), *about})

    @property
    def is_hopeless(self) -> bool:
        """Whether waiting longer cannot help."""
        if self._progress.wait_all:
            return self._blocked.keys() >= self.incomplete.keys()
        return bool(self._blocked)

    def update(self, listen: Callable[[WaitState], None], now: float) -> None:
        """Read the incomplete objects."""
        found = dict(
            results_or_raise(
                self._cluster.map_parallel(self._read_object, self.incomplete)
            )
        )
        existing = [obj for obj, _ in found.values() if obj is not None]
        self._progress = self._with_inspected_children(
            self._progress.with_observed(existing, now), now
        )
        listen(self._progress)
        self.incomplete = {}
        self._blocked = {}
        for ref, (obj, groups) in found.items():
            self._controller_uids.update(
                objects.uid(c.controller) for c in groups
            )
            why = (
                DELETED_BY_OTHER
                if obj is None
                else self._incomplete_reason(ref, groups, now)
            )
            if why is None:
                continue
            self.incomplete[ref] = why
            if blocked := self._find_blocked(ref, obj, groups, now):
                self._blocked[ref] = blocked

    def _read_object(
        self, ref: ObjectRef
    ) -> tuple[Manifest | None, tuple[ReplicaGroup, ...]]:
        """Return an object, unless it was replaced, and its replica groups."""
        obj = self._cluster.get(ref)
        if obj is None or objects.uid(obj) != self._wanted.owned[ref]:
            return None, ()
        groups = members.find_replica_groups(
            self._cluster, self._registry, obj
        )
        return obj, tuple(groups)

    def _with_inspected_children(
        self, progress: WaitState, now: float
    ) -> WaitState:
        """Add the state of the objects below those that are stalled."""
        due = [
            ref
            for ref in progress.due_for_inspection(now)
            if ref in self.incomplete
        ]
        if not due:
            return progress
        remaining = self._deadline.remaining
        inspected = children.inspect(
            self._cluster, self._registry, due, remaining
        )
        return progress.with_children(inspected, now)

    def _incomplete_reason(
        self, ref: ObjectRef, groups: tuple[ReplicaGroup, ...], now: float
    ) -> str | None:
        old, later = self._wanted.old, self._wanted.later
        if self._wanted.before:
            return quorum.deletion_blocked_reason(groups, old, self._registry)
        why = selection.missing_replacements(
            groups, old, self._registry, later
        )
        remaining = {objects.uid(m) for group in groups for m in group.members}
        verdict = self._progress.verdict(ref, now)
        if why or later & remaining or verdict.state is State.CURRENT:
            return why
        return verdict.reason

    def _find_blocked(
        self,
        ref: ObjectRef,
        obj: Manifest | None,
        groups: tuple[ReplicaGroup, ...],
        now: float,
    ) -> dict[ObjectRef, Verdict]:
        """Return what prevents an object from becoming complete."""
        if obj is None:
            return {ref: Verdict(State.FAILED, DELETED_BY_OTHER)}
        if self._wanted.before:
            return self._blockers.find_stalled(ref, self._progress, now)
        return self._blockers.find(ref, groups, self._progress, now)

    def create_error(self) -> errors.Error:
        """Return the error of the wait: why each object is incomplete."""
        age = self._deadline.now - self._begun
        blocked = {
            r: v for found in self._blocked.values() for r, v in found.items()
        }
        pending = {
            ref: Verdict(State.IN_PROGRESS, why)
            for ref, why in self.incomplete.items()
            if ref not in self._blocked
        }
        items = [
            PendingObject(r, why, age)
            for r, why in (blocked | pending).items()
        ]
        found = explain.with_explanations(self._cluster, self._registry, items)
        return (errors.ObjectsFailed if blocked else errors.ReadinessTimeout)(
            found, age
        )
