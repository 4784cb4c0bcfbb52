"""Feed what a watch brings to a progress until that settles."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import logging
import math
import time

import tenacity

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import sight as sights
from tacker_k8s_cr.causes import below
from tacker_k8s_cr.causes import explain
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.errors import Unsettled
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.progress import Goal
from tacker_k8s_cr.progress import Progress
from tacker_k8s_cr.sight import Sight

LOG = logging.getLogger(__name__)

Listen = Callable[[Progress], None]


def until_settled(
    cluster: Cluster,
    progress: Progress,
    instance: str,
    deadline: Deadline,
    *,
    listen: Listen = lambda progress: None,
    guard: Callable[[], None] = lambda: None,
    enough: Callable[[Progress], bool] = lambda progress: progress.settled,
    seconds: float = math.inf,
    since: float | None = None,
) -> Progress:
    """Watch until every object has reached the goal.

    :param enough: what is enough instead.
    :param seconds: after which it is enough in any case, without an error.
    :param since: when that began of which this is a part, for errors.

    Raises Failed when one cannot (or, for a patient progress, when none of
    the open ones can), NotReady or NotGone when time is up; all of them name
    every object that is on its way, with what explains it.
    """
    listen(progress)
    if progress.settled or enough(progress):
        return progress
    begun = deadline.now
    start = begun if since is None else since
    sight = Sight(progress)
    with cluster.watching(streams(progress, instance)) as watching:
        look = begun + LOOK
        while not deadline.passed:
            guard()
            over = sight.progress.over(deadline.now)
            _check(cluster, sight.progress, over, start, deadline.now)
            if deadline.now >= begun + seconds:
                return sight.progress
            limit = deadline.sooner(begun + seconds - deadline.now)
            patience = _patience(sight.progress, limit, look)
            found = watching.take(patience)
            now = deadline.now
            again = now >= look
            if again:
                look = now + LOOK
            after = sights.taken_in(cluster, sight, found, now, again=again)
            if again:
                after = _looked_below(cluster, after, deadline)
            _tell(sight.progress, after, listen)
            sight = after
            if sight.progress.settled or enough(sight.progress):
                return sight.progress
    guard()
    if sight.lost:
        # The deadline is for what we wait for, and this for our answer.
        brief = cluster.until(Deadline.after(LAST))
        now = deadline.now
        after = sights.looked_at(brief, sight, sight.lost, now)
        _tell(sight.progress, after, listen)
        sight = after
        if sight.progress.settled:
            return sight.progress
    bad = sight.progress.hopeless(deadline.now)
    _check(cluster, sight.progress, bad, start, deadline.now)
    raise _late(cluster, sight.progress, start, deadline.now)


def until_served(
    cluster: Cluster,
    kinds: Mapping[GroupKind, Sequence[str]],
    deadline: Deadline,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Repeat discovery until it has all these versions of these kinds.

    A definition that is Established appears there a moment later, at a
    different time on each of several API servers. Raises KindUnknown or
    NotYet at the deadline.
    """

    last: errors.KindUnknown | None = None

    def once() -> None:
        nonlocal last
        try:
            for group in {kind.group for kind in kinds}:
                cluster.forget(group)
            for kind, versions in kinds.items():
                for version in versions:
                    cluster.resource(kind, version)
        except errors.KindUnknown as error:
            error.late = deadline.passed
            last = error
            raise
        except errors.Unavailable as error:
            if last is None or error.was_sent:
                raise
            last.late = True
            raise last from error

    tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(
            (errors.KindUnknown, errors.NotYet)
        ),
        wait=tenacity.wait_exponential(multiplier=0.02, max=1),
        stop=lambda state: deadline.passed,
        sleep=sleep,
        reraise=True,
    )(once)


LOOK = 5.0
"""Seconds at most between two looks at the deadline, and at the lock."""


LAST = 2.0
"""Seconds for a last look at what no stream shows, after the deadline."""


def _patience(progress: Progress, deadline: Deadline, look: float) -> float:
    change = progress.next_change(deadline.now)
    limits = [look - deadline.now, deadline.left]
    if change is not None:
        limits.append(change)
    return max(0.01, min(limits))


def streams(progress: Progress, instance: str) -> tuple[Watch, ...]:
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
    progress: Progress, refs: Iterable[ObjectRef], now: float
) -> list[Unsettled]:
    return [
        Unsettled(
            ref,
            progress.verdict(ref, now),
            now - progress.awaited[ref].since,
        )
        for ref in refs
    ]


def _looked_below(cluster: Cluster, sight: Sight, deadline: Deadline) -> Sight:
    """After a look below some of the objects that stand still.

    As long as all of them move, none is due, and this costs no request.
    """
    now = deadline.now
    due = sight.progress.due(now)
    if not due:
        return sight
    registry = sight.progress.registry
    found = below.looked(cluster, registry, due, deadline.left)
    progress = sight.progress.sounded(found, now)
    return dataclasses.replace(sight, progress=progress)


def _check(
    cluster: Cluster,
    progress: Progress,
    bad: Sequence[ObjectRef],
    begun: float,
    now: float,
) -> None:
    """Raise Failed when there is something bad."""
    if not bad:
        return
    rest = [ref for ref in progress.unsettled if ref not in set(bad)]
    items = _unsettled(progress, [*bad, *rest], now)
    found = explain.explained(cluster, progress.registry, items)
    raise errors.Failed(found, now - begun)


def _late(
    cluster: Cluster, progress: Progress, begun: float, now: float
) -> errors.Error:
    items = _unsettled(progress, progress.unsettled, now)
    found = explain.explained(cluster, progress.registry, items)
    if progress.goal is Goal.GONE:
        return errors.NotGone(found, now - begun)
    return errors.NotReady(found, now - begun)


def _tell(before: Progress, after: Sight, listen: Listen) -> None:
    """Show a progress that moved, and one line for each new verdict.

    Another state is worth a line to an operator; another number of
    replicas on the way there only to who looks for the details.
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
