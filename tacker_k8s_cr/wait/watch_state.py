"""What streams show of the awaited objects, and what they lose sight of."""

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

_PASSING = (errors.DependencyMissing, errors.Unavailable, errors.Unreachable)
"""Errors that may pass: a wait lasts as long as its deadline."""


@dataclasses.dataclass(frozen=True)
class WatchState:
    """A progress, and the objects that only a GET can show.

    :param lost: open objects that no stream shows, such as those whose label
        another client removed; and those for which a GET could not determine
        whether they exist.
    :param touched: the objects of the last step; nothing else changed.
    """

    progress: WaitState
    lost: frozenset[ObjectRef] = frozenset()
    touched: frozenset[ObjectRef] = frozenset()


def absorb_events(
    cluster: Cluster,
    sight: WatchState,
    found: Sequence[WatchUpdate],
    now: float,
    *,
    again: bool,
) -> WatchState:
    """Return the state after events, and a GET of what streams do not show.

    :param again: whether to read the objects lost before, too.
    """
    views, missing = _shown(found)
    progress = sight.progress.observed((obj for _, obj in views), now)
    # Another object may bear the name by now, or may have borne it before:
    # a server that is behind the others shows what was replaced.
    missing |= {ref for ref, obj in views if _other(progress, ref, obj)}
    shown = frozenset(ref for ref, _ in views)
    lost = sight.lost - shown
    due = (lost | missing) if again else missing
    return refresh(cluster, WatchState(progress, lost, shown), due, now)


def refresh(
    cluster: Cluster, sight: WatchState, refs: Iterable[ObjectRef], now: float
) -> WatchState:
    """After a GET of these objects.

    Raises what ends a wait: an error that may pass does not.
    """
    awaited, gone = sight.progress.awaited, sight.progress.gone
    asked = [ref for ref in refs if ref in awaited and ref not in gone]
    if not asked:
        return sight
    progress = sight.progress
    views = []
    ended = []
    unknown = set()
    with contextlib.closing(
        cluster.map_parallel(cluster.get, asked)
    ) as outcomes:
        for ref, outcome in outcomes:
            if isinstance(outcome, _PASSING):
                unknown.add(ref)
            elif isinstance(outcome, Error):
                raise outcome
            elif outcome is None or _other(progress, ref, outcome):
                ended.append(ref)
            else:
                views.append(outcome)
    progress = progress.observed(views, now).with_deleted(ended)
    there = {ObjectRef.of(obj) for obj in views}
    lost = sight.lost.difference(asked) | unknown
    return WatchState(
        progress,
        lost | {ref for ref in there if progress.is_open(ref)},
        sight.touched.union(asked),
    )


def _shown(
    found: Sequence[WatchUpdate],
) -> tuple[list[tuple[ObjectRef, Manifest]], set[ObjectRef]]:
    """Return all views of objects, and the objects that no longer exist.

    A selector that no longer matches may only mean a removed label.
    """
    views: list[tuple[ObjectRef, Manifest]] = []
    missing: set[ObjectRef] = set()
    for item in found:
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
        place = item.watch.namespace
        wanted = {
            ObjectRef(kind.group, kind.kind, place, name)
            for name in item.watch.names
        }
        missing.update(wanted.difference(listed))
    return views, missing


def _other(progress: WaitState, ref: ObjectRef, obj: Manifest) -> bool:
    awaited = progress.awaited.get(ref)
    return awaited is not None and objects.uid(obj) != awaited.uid
