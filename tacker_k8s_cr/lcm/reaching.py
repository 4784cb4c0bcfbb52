"""Wait for what no stream of an instance shows, as it bears no label."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import logging

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import views
from tacker_k8s_cr.applying import replicas
from tacker_k8s_cr.applying.routes import Target
from tacker_k8s_cr.causes import explain
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.errors import Unsettled
from tacker_k8s_cr.healing import members
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict

LOG = logging.getLogger(__name__)

LOOK = 5.0
"""Seconds at most between two looks, whatever the streams show."""

Lacking = Mapping[ObjectRef, str]
"""By object, what is not as it is to be; none when all is."""


def until(
    op: Operation, watches: Iterable[Watch], look: Callable[[], Lacking]
) -> None:
    """Look again whenever something moves. Raises NotReady in the end."""
    begun = op.deadline.now
    lacking = look()
    if not lacking:
        return
    with op.cluster.watching(tuple(dict.fromkeys(watches))) as watching:
        while not op.deadline.passed:
            op.ledger.check()
            try:
                lacking = look()
            except (errors.Unavailable, errors.Unreachable) as error:
                if not (error.late or op.deadline.passed):
                    raise
                break  # the deadline passed during the check
            if not lacking:
                return
            watching.take(min(LOOK, max(0.01, op.deadline.left)))
    age = op.deadline.now - begun
    items = [
        Unsettled(ref, Verdict(State.IN_PROGRESS, why), age)
        for ref, why in lacking.items()
    ]
    registry = op.progress.registry
    found = explain.explained(op.cluster, registry, items)
    raise errors.NotReady(found, age)


def numbers(op: Operation, targets: Sequence[Target]) -> None:
    """Wait for what the numbers that were set are to make come about.

    A topology is reconciled, and its Cluster counts its machines, a moment
    before and after the number arrives there. And whoever counts machines
    may count those of a number before.
    """
    bearers = {
        ObjectRef.of(target.bearer): target
        for target in targets
        if target.bearer and contract.in_family(target.written.group)
    }
    if not bearers:
        return

    def look() -> Lacking:
        found = {}
        for ref, target in bearers.items():
            if why := _lacking(op, ref, target):
                found[ref] = why
        return found

    watches = [
        Watch(kind, ref.namespace, "")
        for ref in bearers
        for kind in (ref.group_kind, MACHINE_SET, MACHINE)
    ]
    try:
        until(op, watches, look)
    except errors.Forbidden as error:
        # Who may not look has what the objects themselves have told.
        LOG.warning("no look at the machines: %s", error)


def unsettled(op: Operation, ref: ObjectRef, obj: Manifest) -> str:
    """Why an object is not current by its own word; empty if it is."""
    registry = op.progress.registry
    verdict = views.seen(
        obj,
        registry[ref.group_kind],
        views.UNSEEN,
        op.deadline.now,
        wanted=True,
        asked=registry.asked(ref),
    ).verdict
    return "" if verdict.state is State.CURRENT else verdict.reason


MACHINE = GroupKind(contract.GROUP, "Machine")
MACHINE_SET = GroupKind(contract.GROUP, "MachineSet")


def _lacking(op: Operation, ref: ObjectRef, target: Target) -> str:
    obj = op.cluster.get(ref)
    if obj is None:
        return "is gone from the cluster"
    number = objects.field(obj, replicas.REPLICAS)
    # An autoscaler may go on from the number at once.
    if number != target.number and target.keeper is None:
        return f"spec.replicas {number}, {target.number} asked"
    if why := unsettled(op, ref, obj):
        return why
    registry = op.progress.registry
    machines = 0
    for crew in members.crews(op.cluster, registry, obj):
        keeper = ObjectRef.of(crew.keeper)
        told = registry[keeper.group_kind].assess(crew.keeper)
        if told.state is not State.CURRENT:
            return f"{keeper}: {told.reason}"
        machines += len(crew.members)
    # A control plane may do without any.
    if machines and machines != number:
        return f"{machines} Machine(s), {number} asked"
    return ""
