"""Decide which claims of StatefulSets a termination deletes, and when."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.kinds.claims import RETAIN
from tacker_k8s_cr.kinds.claims import VOLUME
from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.kinds.claims import bound_claim
from tacker_k8s_cr.kinds.claims import has_claim_name
from tacker_k8s_cr.kinds.claims import reason_not_created
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import placement

BY_NAME = "on_terminate retains it by its name"


@dataclasses.dataclass(frozen=True)
class ClaimDecisions:
    """What a termination does with the claims of StatefulSets.

    :param deleted: claims to delete, with UIDs.
    :param retained: claims to retain, with the reason.
    :param requested: those retained because something requires it, and not
        because the instance did not create them.
    """

    deleted: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)
    retained: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)
    requested: frozenset[ObjectRef] = frozenset()


def decide(
    claims: Iterable[Manifest],
    rules: Sequence[ClaimRule],
    retained_sets: Mapping[ObjectRef, str],
    excluded: Collection[ObjectRef],
    by_name: Callable[[ObjectRef], str] = lambda claim: "",
) -> ClaimDecisions:
    """Decide about each claim that has the name of a rule.

    :param claims: metadata of the claims.
    :param retained_sets: StatefulSets that keep using their claims, with the
        reason.
    :param excluded: claims that are objects of the instance, or shared by it;
        the rules for objects apply to them.
    :param by_name: retention requested for a single claim, which overrides
        that of its StatefulSet.
    """
    deleted = {}
    retained = {}
    requested = set()
    for obj in claims:
        ref = ObjectRef.of(obj)
        matching = [one for one in rules if has_claim_name(one, ref)]
        if (
            not matching
            or ref in excluded
            or objects.INSTANCE in objects.labels(obj)
        ):
            continue
        reasons = {one: reason_not_created(one, obj) for one in matching}
        own = [one for one in matching if not reasons[one]]
        retaining = [
            one
            for one in own
            if (by_name(ref) or one.retention) == RETAIN
            or one.stateful_set in retained_sets
        ]
        if own and not retaining:
            deleted[ref] = objects.uid(obj)
        elif objects.field(obj, ("metadata", "deletionTimestamp")):
            continue  # another client has requested its deletion
        elif retaining:
            requested.add(ref)
            why = BY_NAME if by_name(ref) == RETAIN else retaining[0].reason
            retained[ref] = retained_sets.get(retaining[0].stateful_set, why)
        else:
            retained[ref] = reasons[matching[0]]
    return ClaimDecisions(deleted, retained, frozenset(requested))


def retain_unlisted(
    decisions: ClaimDecisions, claim: ObjectRef, rules: Iterable[ClaimRule]
) -> ClaimDecisions:
    """Add a claim that cannot be read, but to which a volume is bound.

    Its name decides: all claims of the rules in that namespace are retained.
    """
    matching = [one for one in rules if has_claim_name(one, claim)]
    if not matching:
        return decisions
    return dataclasses.replace(
        decisions,
        retained={**decisions.retained, claim: matching[0].reason},
        requested=decisions.requested | {claim},
    )


def bound_volumes(
    volumes: Iterable[Manifest], claims: Collection[ObjectRef]
) -> dict[ObjectRef, ObjectRef]:
    """Return the volumes that are bound to one of the claims, with the claim.

    Kubernetes does not delete a volume before its claim is deleted.
    """
    return {
        ObjectRef.of(volume): claim
        for volume in volumes
        if (claim := bound_claim(volume)) is not None and claim in claims
    }


def schedule_rules(
    stages: Sequence[Collection[ObjectRef]], rules: Iterable[ClaimRule]
) -> tuple[tuple[ClaimRule, ...], ...]:
    """Return the rules whose claims to delete before each stage, and last.

    The claims of a StatefulSet are deleted right after it. Those of a
    StatefulSet that no longer exists are deleted as late as possible, when
    the workloads that may mount them are deleted, but before volumes and
    namespaces, whose deletion waits for them.

    :param stages: the objects that each stage deletes.
    """
    scheduled: list[list[ClaimRule]] = [[] for _ in range(len(stages) + 1)]
    waiting = [
        index
        for index, refs in enumerate(stages)
        if any(ref.group_kind in (VOLUME, placement.NAMESPACE) for ref in refs)
    ]
    latest = min(waiting, default=len(stages))
    for one in rules:
        after = [
            index
            for index, refs in enumerate(stages, 1)
            if one.stateful_set in refs
        ]
        scheduled[after[0] if after else latest].append(one)
    return tuple(map(tuple, scheduled))
