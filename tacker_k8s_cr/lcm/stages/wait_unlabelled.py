"""Wait for what no stream of an instance shows, as it bears no label."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import logging

from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.engine.set_replicas import ScaleTarget
from tacker_k8s_cr.kinds import observation
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchUpdate
from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import PendingObject
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.wait.diagnostics import explain
from tacker_k8s_cr.wait.wait_until import wait_until

LOG = logging.getLogger(__name__)

LOOK = 5.0
"""Seconds at most between two looks, whatever the streams show."""

Lacking = Mapping[ObjectRef, str]
"""By object, what is not as it is to be; none when all is."""


def wait_complete(
    op: Session, watches: Iterable[Watch], look: Callable[[], Lacking]
) -> None:
    """Check after each event; at the deadline raise ReadinessTimeout."""
    begun = op.deadline.now
    lacking = look()
    if not lacking:
        return

    def step(_: Sequence[WatchUpdate]) -> float | None:
        nonlocal lacking
        if op.deadline.expired:
            return 0.0
        try:
            lacking = look()
        except (errors.Unavailable, errors.Unreachable) as error:
            # The deadline may have passed during the check.
            if not (error.late or op.deadline.expired):
                raise
        return LOOK if lacking else None

    if wait_until(op.cluster, watches, step, op.deadline, op.ledger.check):
        return
    age = op.deadline.now - begun
    items = [
        PendingObject(ref, Verdict(State.IN_PROGRESS, why), age)
        for ref, why in lacking.items()
    ]
    registry = op.progress.registry
    found = explain.with_explanations(op.cluster, registry, items)
    raise errors.ReadinessTimeout(found, age)


def wait_replicas(op: Session, targets: Sequence[ScaleTarget]) -> None:
    """Wait until the objects below have the replica counts that were set.

    A topology is reconciled, and its Cluster counts its Machines, a moment
    before and after the replica count arrives there. A controller that counts
    Machines may still report those of the former count.
    """
    bearers = {
        ObjectRef.of(target.scaled_object): target
        for target in targets
        if target.scaled_object
        and contract.is_capi_group(target.written.group)
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
        wait_complete(op, watches, look)
    except errors.Forbidden as error:
        # Who may not look has what the objects themselves have told.
        LOG.warning("no look at the machines: %s", error)


def pending_reason(op: Session, ref: ObjectRef, obj: Manifest) -> str:
    """Why an object is not current by its own word; empty if it is."""
    registry = op.progress.registry
    verdict = observation.observe(
        obj,
        registry[ref.group_kind],
        observation.UNSEEN,
        op.deadline.now,
        wanted=True,
        asked=registry.override_for(ref),
    ).verdict
    return "" if verdict.state is State.CURRENT else verdict.reason


MACHINE = GroupKind(contract.GROUP, "Machine")
MACHINE_SET = GroupKind(contract.GROUP, "MachineSet")


def _lacking(op: Session, ref: ObjectRef, target: ScaleTarget) -> str:
    obj = op.cluster.get(ref)
    if obj is None:
        return "is gone from the cluster"
    number = objects.field(obj, replicas.REPLICAS)
    # An autoscaler may go on from the number at once.
    if number != target.number and target.autoscaler is None:
        return f"spec.replicas {number}, {target.number} asked"
    if why := pending_reason(op, ref, obj):
        return why
    registry = op.progress.registry
    machines = 0
    for crew in members.replica_groups(op.cluster, registry, obj):
        keeper = ObjectRef.of(crew.keeper)
        told = registry[keeper.group_kind].assess(crew.keeper)
        if told.state is not State.CURRENT:
            return f"{keeper}: {told.reason}"
        machines += len(crew.members)
    # A control plane may do without any.
    if machines and machines != number:
        return f"{machines} Machine(s), {number} asked"
    return ""
