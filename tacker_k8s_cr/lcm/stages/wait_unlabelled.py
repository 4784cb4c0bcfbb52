"""Wait for objects without the instance label, which no watch selects."""

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

CHECK_INTERVAL = 5.0
"""Maximum seconds between two checks, whatever the watches report."""

Incomplete = Mapping[ObjectRef, str]
"""By object, why it is incomplete; empty when all are complete."""


def wait_complete(
    op: Session,
    watches: Iterable[Watch],
    find_incomplete: Callable[[], Incomplete],
) -> None:
    """Check after each event; at the deadline raise ReadinessTimeout."""
    begun = op.deadline.now
    incomplete = find_incomplete()
    if not incomplete:
        return

    def step(_: Sequence[WatchUpdate]) -> float | None:
        nonlocal incomplete
        if op.deadline.expired:
            return 0.0
        try:
            incomplete = find_incomplete()
        except (errors.Unavailable, errors.Unreachable) as error:
            # The deadline may have passed during the check.
            if not (error.deadline_passed or op.deadline.expired):
                raise
        return CHECK_INTERVAL if incomplete else None

    if wait_until(op.cluster, watches, step, op.deadline, op.ledger.check):
        return
    age = op.deadline.now - begun
    items = [
        PendingObject(ref, Verdict(State.IN_PROGRESS, why), age)
        for ref, why in incomplete.items()
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
    targets_by_ref = {
        ObjectRef.of(target.scaled_object): target
        for target in targets
        if target.scaled_object
        and contract.is_capi_group(target.written.group)
    }
    if not targets_by_ref:
        return

    def find_incomplete() -> Incomplete:
        found = {}
        for ref, target in targets_by_ref.items():
            if why := _incomplete_reason(op, ref, target):
                found[ref] = why
        return found

    watches = [
        Watch(kind, ref.namespace, "")
        for ref in targets_by_ref
        for kind in (ref.group_kind, MACHINE_SET, MACHINE)
    ]
    try:
        wait_complete(op, watches, find_incomplete)
    except errors.Forbidden as error:
        # The status of the scaled objects has to be sufficient.
        LOG.warning("cannot list Machines: %s", error)


def pending_reason(op: Session, ref: ObjectRef, obj: Manifest) -> str:
    """Return why an object reports that it is not current, or empty."""
    registry = op.progress.registry
    verdict = observation.observe(
        obj,
        registry[ref.group_kind],
        observation.UNSEEN,
        op.deadline.now,
        expected=True,
        override=registry.override_for(ref),
    ).verdict
    return "" if verdict.state is State.CURRENT else verdict.reason


MACHINE = GroupKind(contract.GROUP, "Machine")
MACHINE_SET = GroupKind(contract.GROUP, "MachineSet")


def _incomplete_reason(
    op: Session, ref: ObjectRef, target: ScaleTarget
) -> str:
    obj = op.cluster.get(ref)
    if obj is None:
        return "no longer exists in the cluster"
    number = objects.field(obj, replicas.REPLICAS)
    # An autoscaler may change the count at once.
    if number != target.number and target.autoscaler is None:
        return f"spec.replicas is {number}, expected {target.number}"
    if why := pending_reason(op, ref, obj):
        return why
    registry = op.progress.registry
    machines = 0
    for group in members.find_replica_groups(op.cluster, registry, obj):
        controller = ObjectRef.of(group.controller)
        verdict = registry[controller.group_kind].assess(group.controller)
        if verdict.state is not State.CURRENT:
            return f"{controller}: {verdict.reason}"
        machines += len(group.members)
    # A control plane provider may create no Machines.
    if machines and machines != number:
        return f"{machines} Machine(s), expected {number}"
    return ""
