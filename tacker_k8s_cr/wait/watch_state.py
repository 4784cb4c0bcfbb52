"""Combine watch updates with GETs of objects that no watch covers."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import contextlib
import dataclasses

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import WatchEvent
from tacker_k8s_cr.kube.protocol import WatchUpdate
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.wait.progress import WaitState

_TRANSIENT = (errors.DependencyMissing, errors.Unavailable, errors.Unreachable)
"""Errors that may resolve: the wait continues until its deadline."""


@dataclasses.dataclass(frozen=True)
class WatchState:
    """The state of a wait, and the objects that only a GET can show.

    :param lost: unsettled objects that no watch shows, such as those whose
        label another client removed; and those for which a GET could not
        determine whether they exist.
    :param touched: the objects of the last step; nothing else changed.
    """

    progress: WaitState
    lost: frozenset[ObjectRef] = frozenset()
    touched: frozenset[ObjectRef] = frozenset()


def absorb_events(
    cluster: Cluster,
    state: WatchState,
    updates: Sequence[WatchUpdate],
    now: float,
    *,
    reread_lost: bool,
) -> WatchState:
    """Return the state after updates, and a GET of what no watch shows.

    :param reread_lost: whether to read the objects lost before, too.
    """
    views, missing = _read_updates(updates)
    progress = state.progress.with_observed((obj for _, obj in views), now)
    # The name may belong to another object by now, or may have before: a
    # lagging server shows the object that was replaced.
    missing |= {
        ref for ref, obj in views if _is_other_object(progress, ref, obj)
    }
    shown = frozenset(ref for ref, _ in views)
    lost = state.lost - shown
    due = (lost | missing) if reread_lost else missing
    return refresh(cluster, WatchState(progress, lost, shown), due, now)


def refresh(
    cluster: Cluster, state: WatchState, refs: Iterable[ObjectRef], now: float
) -> WatchState:
    """Return the state after a GET of these objects.

    Raises errors that end the wait; transient ones do not.
    """
    awaited, deleted = state.progress.awaited, state.progress.deleted
    to_read = [ref for ref in refs if ref in awaited and ref not in deleted]
    if not to_read:
        return state
    progress = state.progress
    views = []
    no_longer_existing = []
    unknown = set()
    with contextlib.closing(
        cluster.map_parallel(cluster.get, to_read)
    ) as outcomes:
        for ref, outcome in outcomes:
            if isinstance(outcome, _TRANSIENT):
                unknown.add(ref)
            elif isinstance(outcome, Error):
                raise outcome
            elif outcome is None or _is_other_object(progress, ref, outcome):
                no_longer_existing.append(ref)
            else:
                views.append(outcome)
    progress = progress.with_observed(views, now).with_deleted(
        no_longer_existing, now
    )
    existing = {ObjectRef.of(obj) for obj in views}
    lost = state.lost.difference(to_read) | unknown
    return WatchState(
        progress,
        lost | {ref for ref in existing if progress.is_open(ref)},
        state.touched.union(to_read),
    )


def _read_updates(
    updates: Sequence[WatchUpdate],
) -> tuple[list[tuple[ObjectRef, Manifest]], set[ObjectRef]]:
    """Return all observations, and the objects that no longer exist.

    A selector that no longer matches may only mean a removed label.
    """
    views: list[tuple[ObjectRef, Manifest]] = []
    missing: set[ObjectRef] = set()
    for item in updates:
        if isinstance(item, WatchEvent):
            ref = ObjectRef.of(item.obj)
            if item.deleted:
                missing.add(ref)
            else:
                missing.discard(ref)
                views.append((ref, item.obj))
            continue
        listed = {ObjectRef.of(obj): obj for obj in item.objs}
        views.extend(listed.items())
        missing.difference_update(listed)
        kind = item.watch.group_kind
        namespace = item.watch.namespace
        wanted = {
            ObjectRef(kind.group, kind.kind, namespace, name)
            for name in item.watch.names
        }
        missing.update(wanted.difference(listed))
    return views, missing


def _is_other_object(
    progress: WaitState, ref: ObjectRef, obj: Manifest
) -> bool:
    awaited = progress.awaited.get(ref)
    return awaited is not None and objects.uid(obj) != awaited.uid
