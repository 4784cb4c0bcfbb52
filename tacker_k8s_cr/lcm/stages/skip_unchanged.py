"""Wait for objects that an apply would not change, without sending them."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import logging

from tacker_k8s_cr.engine import find_unchanged
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan.steps import Apply
from tacker_k8s_cr.plan.unchanged import Unchanged
from tacker_k8s_cr.wait.progress import AwaitedObject

LOG = logging.getLogger(__name__)

FRESH_SECONDS = 10.0
"""Seconds for which the first read of the objects is used."""


def skip_unchanged(
    op: Session, steps: Sequence[Apply], name: str
) -> tuple[Apply, ...]:
    """Wait for objects that need not be sent; return the steps to send.

    The objects were read when the package was checked. They are read again
    if the operation has written something since: it may have changed them.
    """
    candidates = [
        step
        for step in steps
        if step.unchanged and step.ref.group_kind not in op.redefined
    ]
    unchanged = _current_state(op, candidates)
    remaining = [step for step in candidates if step.ref in unchanged]
    skipped: set[ObjectRef] = set()
    # An object that depends on one that is sent is sent after it.
    while ready := [
        step for step in remaining if not op.has_unready(step.after)
    ]:
        _add_unchanged(op, ready, unchanged, name)
        skipped.update(step.ref for step in ready)
        remaining = [step for step in remaining if step.ref not in skipped]
    if skipped:
        LOG.info(
            "%s: %s: %s: %d of %d object(s) unchanged, not sent",
            op.instance,
            op.name,
            name,
            len(skipped),
            len(steps),
        )
    return tuple(step for step in steps if step.ref not in skipped)


def _current_state(
    op: Session, steps: Collection[Apply]
) -> Mapping[ObjectRef, Unchanged]:
    if not op.wrote and op.deadline.now - op.begun < FRESH_SECONDS:
        return {step.ref: step.unchanged for step in steps if step.unchanged}
    if not steps:
        return {}
    return find_unchanged.compare_again(
        op.cluster, steps, op.instance, op.registry
    )


def _add_unchanged(
    op: Session,
    steps: Collection[Apply],
    unchanged: Mapping[ObjectRef, Unchanged],
    name: str,
) -> None:
    now = op.deadline.now
    awaited = {
        step.ref: AwaitedObject(
            step.uid, unchanged[step.ref].generation, now, unchanged=True
        )
        for step in steps
    }
    seen = {
        ref: dataclasses.replace(unchanged[ref].seen, unchanged_since=now)
        for ref in awaited
    }
    for ref in awaited:
        # An earlier step of the operation wrote it.
        op.actions.setdefault(ref, Action.UNCHANGED)
    op.progress = op.progress.with_awaited(awaited, name)
    op.on_progress(op.progress.with_observations(seen))
    op.ledger.add_owned({step.ref: step.uid for step in steps})
