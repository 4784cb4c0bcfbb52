"""Wait until objects are current or deleted."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import logging
import math

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchUpdate
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import PendingObject
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.wait import watch_state as sights
from tacker_k8s_cr.wait.diagnostics import children
from tacker_k8s_cr.wait.diagnostics import explain
from tacker_k8s_cr.wait.progress import Goal
from tacker_k8s_cr.wait.progress import WaitState
from tacker_k8s_cr.wait.wait_until import wait_until
from tacker_k8s_cr.wait.watch_state import WatchState

LOG = logging.getLogger(__name__)

OnProgress = Callable[[WaitState], None]


@dataclasses.dataclass(frozen=True)
class Waiting:
    """Parameters that all waits of an operation share.

    :param instance: whose label the awaited objects have; empty if none.
    :param on_progress: called with each change of what is waited for.
    :param guard: raises when the wait has to end.
    :param since: when the operation began, for errors.
    """

    cluster: Cluster
    instance: str
    deadline: Deadline
    on_progress: OnProgress = lambda progress: None
    guard: Callable[[], None] = lambda: None
    since: float | None = None


def wait_settled(
    waiting: Waiting,
    progress: WaitState,
    *,
    is_enough: Callable[[WaitState], bool] = lambda progress: (
        progress.is_settled
    ),
    seconds: float = math.inf,
) -> WaitState:
    """Watch until every object has reached the goal.

    :param is_enough: another condition that ends the wait.
    :param seconds: after which the wait ends in any case, without an error.

    Raises ObjectsFailed when one cannot (with ``wait_all``, when none of the
    unsettled ones can), ReadinessTimeout or DeletionTimeout at the deadline;
    all of them name every object that is not settled, with the cause.
    """
    cluster, deadline = waiting.cluster, waiting.deadline
    waiting.on_progress(progress)
    if progress.is_settled or is_enough(progress):
        return progress
    wait_started = deadline.now
    started = wait_started if waiting.since is None else waiting.since
    state = WatchState(progress)
    next_check = wait_started + CHECK_INTERVAL

    def step(updates: Sequence[WatchUpdate]) -> float | None:
        nonlocal state, next_check
        now = deadline.now
        check_due = now >= next_check
        if check_due:
            next_check = now + CHECK_INTERVAL
        after = sights.absorb_events(
            cluster, state, updates, now, reread_lost=check_due
        )
        if check_due:
            after = _inspect_stalled(cluster, after, deadline)
        _report(state.progress, after, waiting.on_progress)
        state = after
        if state.progress.is_settled or is_enough(state.progress):
            return None
        if not deadline.expired:
            failed = state.progress.failures_to_stop_for(deadline.now)
            _raise_failures(
                cluster, state.progress, failed, started, deadline.now
            )
        if deadline.now >= wait_started + seconds:
            return None
        limit = deadline.at_most(wait_started + seconds - deadline.now)
        return _pause_seconds(state.progress, limit, next_check)

    watches = watches_for(progress, waiting.instance)
    if wait_until(cluster, watches, step, deadline, waiting.guard):
        return state.progress
    waiting.guard()
    if state.lost:
        # The deadline limits the wait; this limits the last read.
        final_cluster = cluster.with_deadline(
            Deadline.after(FINAL_READ_SECONDS)
        )
        now = deadline.now
        after = sights.refresh(final_cluster, state, state.lost, now)
        _report(state.progress, after, waiting.on_progress)
        state = after
        if state.progress.is_settled:
            return state.progress
    failed_at_end = state.progress.failed_objects(deadline.now)
    _raise_failures(
        cluster, state.progress, failed_at_end, started, deadline.now
    )
    raise _timeout_error(cluster, state.progress, started, deadline.now)


CHECK_INTERVAL = 5.0
"""Maximum seconds between two checks of the deadline and the lock."""


FINAL_READ_SECONDS = 2.0
"""Seconds for a last read of objects that no watch covers, after the
deadline."""


def _pause_seconds(
    progress: WaitState, deadline: Deadline, next_check: float
) -> float:
    until_blocked = progress.seconds_until_blocked(deadline.now)
    limits = [next_check - deadline.now, deadline.remaining]
    if until_blocked is not None:
        limits.append(until_blocked)
    return max(0.01, min(limits))


def watches_for(progress: WaitState, instance: str) -> tuple[Watch, ...]:
    """Return a watch for each kind and namespace that has unsettled objects.

    :param instance: whose label the objects have; empty if none.
    """
    names: dict[tuple[objects.GroupKind, str], set[str]] = {}
    for ref in progress.unsettled:
        key = (ref.group_kind, ref.namespace)
        names.setdefault(key, set()).add(ref.name)
    selector = f"{objects.INSTANCE}={instance}" if instance else ""
    return tuple(
        Watch(kind, namespace, selector, frozenset(found))
        for (kind, namespace), found in sorted(names.items())
    )


def _unsettled(
    progress: WaitState, refs: Iterable[ObjectRef], now: float
) -> list[PendingObject]:
    return [
        PendingObject(
            ref,
            progress.verdict(ref, now),
            now - progress.awaited[ref].since,
        )
        for ref in refs
    ]


def _inspect_stalled(
    cluster: Cluster, state: WatchState, deadline: Deadline
) -> WatchState:
    """Return the state after reading the children of some stalled objects.

    As long as all objects make progress, none is due, and no request is sent.
    """
    now = deadline.now
    due = state.progress.due_for_inspection(now)
    if not due:
        return state
    registry = state.progress.registry
    found = children.inspect(cluster, registry, due, deadline.remaining)
    progress = state.progress.with_children(found, now)
    return dataclasses.replace(state, progress=progress)


def _raise_failures(
    cluster: Cluster,
    progress: WaitState,
    failed: Sequence[ObjectRef],
    started: float,
    now: float,
) -> None:
    """Raise ObjectsFailed if any object failed."""
    if not failed:
        return
    others = [ref for ref in progress.unsettled if ref not in set(failed)]
    items = _unsettled(progress, [*failed, *others], now)
    found = explain.with_explanations(cluster, progress.registry, items)
    raise errors.ObjectsFailed(found, now - started)


def _timeout_error(
    cluster: Cluster, progress: WaitState, started: float, now: float
) -> errors.Error:
    items = _unsettled(progress, progress.unsettled, now)
    found = explain.with_explanations(cluster, progress.registry, items)
    if progress.goal is Goal.DELETED:
        return errors.DeletionTimeout(found, now - started)
    return errors.ReadinessTimeout(found, now - started)


def _report(
    before: WaitState, after: WatchState, on_progress: OnProgress
) -> None:
    """Report changed progress, and log one line for each new verdict.

    A new state is logged at the info level, a new reason at the debug level.
    """
    if after.progress is before:
        return
    on_progress(after.progress)
    if not LOG.isEnabledFor(logging.INFO):
        return
    for ref in after.touched:
        observed = after.progress.observations.get(ref)
        last = before.observations.get(ref)
        if observed and (last is None or last.verdict != observed.verdict):
            state_changed = (
                last is None or last.verdict.state != observed.verdict.state
            )
            level = logging.INFO if state_changed else logging.DEBUG
            LOG.log(level, "%s: %s", ref, observed.verdict)
        if ref in after.progress.deleted and ref not in before.deleted:
            LOG.info("%s: deleted", ref)
