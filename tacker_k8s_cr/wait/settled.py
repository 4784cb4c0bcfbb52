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

Listen = Callable[[WaitState], None]


@dataclasses.dataclass(frozen=True)
class Waiting:
    """What all waits of an operation have in common.

    :param instance: whose label the awaited objects carry; empty if none.
    :param listen: called with each change of what is waited for.
    :param guard: raises when the wait has to end.
    :param since: when the operation began, for errors.
    """

    cluster: Cluster
    instance: str
    deadline: Deadline
    listen: Listen = lambda progress: None
    guard: Callable[[], None] = lambda: None
    since: float | None = None


def wait_settled(
    waiting: Waiting,
    progress: WaitState,
    *,
    enough: Callable[[WaitState], bool] = lambda progress: progress.settled,
    seconds: float = math.inf,
) -> WaitState:
    """Watch until every object has reached the goal.

    :param enough: another condition that ends the wait.
    :param seconds: after which the wait ends in any case, without an error.

    Raises ObjectsFailed when one cannot (or, for a patient progress, when none
    of the open ones can), ReadinessTimeout or DeletionTimeout at the deadline;
    all of them name every object that is not settled, with the cause.
    """
    cluster, deadline = waiting.cluster, waiting.deadline
    waiting.listen(progress)
    if progress.settled or enough(progress):
        return progress
    begun = deadline.now
    start = begun if waiting.since is None else waiting.since
    sight = WatchState(progress)
    look = begun + LOOK

    def step(found: Sequence[WatchUpdate]) -> float | None:
        nonlocal sight, look
        now = deadline.now
        again = now >= look
        if again:
            look = now + LOOK
        after = sights.absorb_events(cluster, sight, found, now, again=again)
        if again:
            after = _looked_below(cluster, after, deadline)
        _tell(sight.progress, after, waiting.listen)
        sight = after
        if sight.progress.settled or enough(sight.progress):
            return None
        if not deadline.expired:
            over = sight.progress.should_stop(deadline.now)
            _check(cluster, sight.progress, over, start, deadline.now)
        if deadline.now >= begun + seconds:
            return None
        limit = deadline.at_most(begun + seconds - deadline.now)
        return _patience(sight.progress, limit, look)

    watches = streams(progress, waiting.instance)
    if wait_until(cluster, watches, step, deadline, waiting.guard):
        return sight.progress
    waiting.guard()
    if sight.lost:
        # The deadline is for what we wait for, and this for our answer.
        brief = cluster.with_deadline(Deadline.after(LAST))
        now = deadline.now
        after = sights.refresh(brief, sight, sight.lost, now)
        _tell(sight.progress, after, waiting.listen)
        sight = after
        if sight.progress.settled:
            return sight.progress
    bad = sight.progress.failed(deadline.now)
    _check(cluster, sight.progress, bad, start, deadline.now)
    raise _late(cluster, sight.progress, start, deadline.now)


LOOK = 5.0
"""Longest interval in seconds between two checks of the deadline and the
lock."""


LAST = 2.0
"""Seconds for a last read of what no stream shows, after the deadline."""


def _patience(progress: WaitState, deadline: Deadline, look: float) -> float:
    change = progress.next_change(deadline.now)
    limits = [look - deadline.now, deadline.remaining]
    if change is not None:
        limits.append(change)
    return max(0.01, min(limits))


def streams(progress: WaitState, instance: str) -> tuple[Watch, ...]:
    """One stream for each kind and namespace that has unsettled objects.

    :param instance: whose label the objects carry; empty if none.
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


def _looked_below(
    cluster: Cluster, sight: WatchState, deadline: Deadline
) -> WatchState:
    """Return the state after reading the children of some stalled objects.

    As long as all objects make progress, none is due, and no request is sent.
    """
    now = deadline.now
    due = sight.progress.due_for_inspection(now)
    if not due:
        return sight
    registry = sight.progress.registry
    found = children.inspect(cluster, registry, due, deadline.remaining)
    progress = sight.progress.with_children(found, now)
    return dataclasses.replace(sight, progress=progress)


def _check(
    cluster: Cluster,
    progress: WaitState,
    bad: Sequence[ObjectRef],
    begun: float,
    now: float,
) -> None:
    """Raise Failed when there is something bad."""
    if not bad:
        return
    rest = [ref for ref in progress.unsettled if ref not in set(bad)]
    items = _unsettled(progress, [*bad, *rest], now)
    found = explain.with_explanations(cluster, progress.registry, items)
    raise errors.ObjectsFailed(found, now - begun)


def _late(
    cluster: Cluster, progress: WaitState, begun: float, now: float
) -> errors.Error:
    items = _unsettled(progress, progress.unsettled, now)
    found = explain.with_explanations(cluster, progress.registry, items)
    if progress.goal is Goal.GONE:
        return errors.DeletionTimeout(found, now - begun)
    return errors.ReadinessTimeout(found, now - begun)


def _tell(before: WaitState, after: WatchState, listen: Listen) -> None:
    """Report a changed progress, and log one line for each new verdict.

    A new state is logged for the operator; a new replica count on the way
    there only at the debug level.
    """
    if after.progress is before:
        return
    listen(after.progress)
    if not LOG.isEnabledFor(logging.INFO):
        return
    for ref in after.touched:
        seen = after.progress.seen.get(ref)
        last = before.seen.get(ref)
        if seen and (last is None or last.verdict != seen.verdict):
            other = last is None or last.verdict.state != seen.verdict.state
            level = logging.INFO if other else logging.DEBUG
            LOG.log(level, "%s: %s", ref, seen.verdict)
        if ref in after.progress.gone and ref not in before.gone:
            LOG.info("%s: gone", ref)
