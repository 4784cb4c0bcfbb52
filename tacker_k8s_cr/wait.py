"""Feed what a watch brings to a progress until that settles."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import logging
import time

import tenacity

from tacker_k8s_cr import errors
from tacker_k8s_cr import explain
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Changed
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import Observation
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.errors import Unsettled
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.progress import Goal
from tacker_k8s_cr.progress import Progress

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
) -> Progress:
    """Watch until every object has reached the goal.

    Raises Failed when one cannot, NotReady or NotGone when time is up; all
    of them name every object that is on its way, with what explains it.
    """
    listen(progress)
    if progress.settled:
        return progress
    begun = deadline.now
    watches = streams(progress, instance)
    with cluster.watching(watches) as watching:
        while True:
            guard()
            now = deadline.now
            if bad := progress.hopeless(now):
                raise _failed(cluster, progress, bad, begun, now)
            if deadline.passed:
                raise _late(cluster, progress, begun, now)
            found = watching.take(_patience(progress, deadline))
            after = _taken_in(cluster, progress, found, deadline.now)
            if after is not progress:
                _log(progress, after, deadline.now)
                progress = after
                listen(progress)
            if progress.settled:
                return progress


def until_served(
    cluster: Cluster,
    kinds: Mapping[GroupKind, Sequence[str]],
    deadline: Deadline,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Ask discovery until it has all these versions of these kinds.

    A definition that is Established appears there a moment later. Raises
    KindUnknown when time is up.
    """

    def once() -> None:
        for group in {kind.group for kind in kinds}:
            cluster.forget(group)
        for kind, versions in kinds.items():
            for version in versions:
                cluster.resource(kind, version)

    tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(errors.KindUnknown),
        wait=tenacity.wait_exponential(multiplier=0.02, max=1),
        stop=lambda state: deadline.passed,
        sleep=sleep,
        reraise=True,
    )(once)


LOOK = 5.0
"""Seconds at most between two looks at the deadline, and at the lock."""


def _patience(progress: Progress, deadline: Deadline) -> float:
    change = progress.next_change(deadline.now)
    limits = [LOOK, deadline.left, *([] if change is None else [change])]
    return max(0.01, min(limits))


def streams(progress: Progress, instance: str) -> tuple[Watch, ...]:
    """One stream for each kind and namespace that has unsettled objects."""
    names: dict[tuple[objects.GroupKind, str], set[str]] = {}
    for ref in progress.unsettled:
        key = (ref.group_kind, ref.namespace)
        names.setdefault(key, set()).add(ref.name)
    selector = f"{objects.INSTANCE}={instance}"
    return tuple(
        Watch(kind, namespace, selector, frozenset(found))
        for (kind, namespace), found in sorted(names.items())
    )


def _taken_in(
    cluster: Cluster,
    progress: Progress,
    found: Sequence[Observation],
    now: float,
) -> Progress:
    """The progress after what the streams brought."""
    missing: set[ObjectRef] = set()
    views: list[Manifest] = []
    for item in found:
        if isinstance(item, Changed):
            ref = ObjectRef.of(item.obj)
            if item.gone:
                missing.add(ref)
            else:
                missing.discard(ref)
                views.append(item.obj)
        else:
            views.extend(item.objs)
            there = {obj["metadata"]["name"] for obj in item.objs}
            missing |= {
                ref
                for ref in progress.awaited
                if ref.group_kind == item.watch.group_kind
                and ref.namespace == item.watch.namespace
                and ref.name in item.watch.names - there
            }
    progress = progress.observed(views, now)
    return _without(cluster, progress, missing, views, now)


def _without(
    cluster: Cluster,
    progress: Progress,
    missing: Iterable[ObjectRef],
    views: Sequence[Manifest],
    now: float,
) -> Progress:
    """Find out whether objects that a stream lost sight of are gone.

    A selector no longer matching may only mean that a label went. And
    another object may bear the name by now.
    """
    waited = [ref for ref in missing if ref in progress.awaited]
    replaced = [
        ref
        for obj in views
        if (ref := ObjectRef.of(obj)) in progress.awaited
        and objects.uid(obj) != progress.awaited[ref].uid
    ]
    gone = list(replaced)
    for ref, obj in raised(cluster.each(cluster.get, waited)):
        if obj is None or objects.uid(obj) != progress.awaited[ref].uid:
            gone.append(ref)
        else:
            progress = progress.observed([obj], now)
    return progress.vanished(gone)


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


def _failed(
    cluster: Cluster,
    progress: Progress,
    bad: Sequence[ObjectRef],
    begun: float,
    now: float,
) -> errors.Failed:
    rest = [ref for ref in progress.unsettled if ref not in set(bad)]
    items = _unsettled(progress, [*bad, *rest], now)
    found = explain.explained(cluster, progress.registry, items)
    return errors.Failed(found, now - begun)


def _late(
    cluster: Cluster, progress: Progress, begun: float, now: float
) -> errors.Error:
    items = _unsettled(progress, progress.unsettled, now)
    found = explain.explained(cluster, progress.registry, items)
    if progress.goal is Goal.GONE:
        return errors.NotGone(found, now - begun)
    return errors.NotReady(found, now - begun)


def _log(before: Progress, after: Progress, now: float) -> None:
    """One line for each change of verdict."""
    if not LOG.isEnabledFor(logging.INFO):
        return
    for ref, seen in after.seen.items():
        last = before.seen.get(ref)
        if last is None or last.verdict != seen.verdict:
            LOG.info("%s: %s", ref, seen.verdict)
    for ref in after.gone - before.gone:
        LOG.info("%s: gone", ref)
