"""Find objects that cannot get new members."""

from __future__ import annotations

from tacker_k8s_cr.kinds import observation
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.observation import Observation
from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.lcm.healing import remediation
from tacker_k8s_cr.lcm.healing.members import ReplicaGroup
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.wait.progress import WaitState


class BlockedReplacements:
    """Decides what prevents new members, from what each check has found.

    Keeps since when an object or member is in its state; reads nothing.

    :param old: UIDs of members to replace.
    :param later: UIDs of members that are replaced afterwards.
    """

    def __init__(
        self, registry: Registry, old: frozenset[str], later: frozenset[str]
    ):
        self._registry = registry
        self._old = old
        self._excluded = old | later
        self._seen: dict[str, Observation] = {}
        self._failed: dict[ObjectRef, float] = {}

    def find(
        self,
        ref: ObjectRef,
        groups: tuple[ReplicaGroup, ...],
        progress: WaitState,
        now: float,
    ) -> dict[ObjectRef, Verdict]:
        """Return what prevents new members of an object, if certain."""
        timeout = progress.stall_timeout
        return (
            self.find_stalled(ref, progress, now)
            | self._find_failed_members(groups, timeout, now)
            | self._find_not_remediated(groups, timeout, now)
        )

    def find_stalled(
        self, ref: ObjectRef, progress: WaitState, now: float
    ) -> dict[ObjectRef, Verdict]:
        """Return an object that creates no members, and will not in time.

        The status that it reported before its members were deleted may be the
        reason for the heal, so it gets time to report another.
        """
        verdict = progress.verdict(ref, now)
        since = self._failed.setdefault(ref, now)
        if verdict.state is State.BLOCKED:
            return {ref: verdict}
        if verdict.state is not State.FAILED:
            self._failed.pop(ref)
        elif now - since >= progress.stall_timeout:
            return {ref: verdict}
        return {}

    def _find_failed_members(
        self,
        groups: tuple[ReplicaGroup, ...],
        stall_timeout: float,
        now: float,
    ) -> dict[ObjectRef, Verdict]:
        """Return new members that will not become current."""
        blocked = {}
        for member in (
            member
            for group in groups
            for member in group.members
            if members.is_active(member)
            and objects.uid(member) not in self._excluded
        ):
            ref, uid = ObjectRef.of(member), objects.uid(member)
            seen = self._seen[uid] = observation.observe(
                member,
                self._registry[ref.group_kind],
                self._seen.get(uid, observation.UNSEEN),
                now,
                expected=True,
                override=self._registry.override_for(ref),
            )
            limit = seen.stall_timeout
            if limit is None:
                limit = stall_timeout
            if seen.verdict.error and now - seen.unchanged_since >= limit:
                blocked[ref] = Verdict(State.BLOCKED, seen.verdict.reason)
            elif seen.verdict.state is State.FAILED:
                blocked[ref] = seen.verdict
        return blocked

    def _find_not_remediated(
        self,
        groups: tuple[ReplicaGroup, ...],
        stall_timeout: float,
        now: float,
    ) -> dict[ObjectRef, Verdict]:
        """Return annotated Machines that no controller will replace."""
        blocked = {}
        for member in (m for group in groups for m in group.members):
            ref = ObjectRef.of(member)
            why = None
            if objects.uid(member) in self._old:
                why = remediation.remediation_failure(member)
            if why is None:
                self._failed.pop(ref, None)
            elif now - self._failed.setdefault(ref, now) >= stall_timeout:
                blocked[ref] = Verdict(State.BLOCKED, why)
        return blocked
