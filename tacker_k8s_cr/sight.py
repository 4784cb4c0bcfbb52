"""What streams show of the awaited objects, and what they lose sight of."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import contextlib
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Changed
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import Observation
from tacker_k8s_cr.errors import Error
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.progress import Progress

_PASSING = (errors.NotYet, errors.Unavailable, errors.Unreachable)
"""Errors that may pass: a wait lasts as long as its deadline."""


@dataclasses.dataclass(frozen=True)
class Sight:
    """A progress, and the objects that only a GET tells about.

    :param lost: open objects that no stream shows, such as those whose
        label somebody took away; and those of which a GET could not tell
        whether they are there.
    :param touched: what the last step was about; nothing else changed.
    """

    progress: Progress
    lost: frozenset[ObjectRef] = frozenset()
    touched: frozenset[ObjectRef] = frozenset()


def taken_in(
    cluster: Cluster,
    sight: Sight,
    found: Sequence[Observation],
    now: float,
    *,
    again: bool,
) -> Sight:
    """After what the streams brought, and a GET of what they do not show.

    :param again: whether to look at what was lost before, too.
    """
    views, missing = _shown(found)
    progress = sight.progress.observed((obj for _, obj in views), now)
    # Another object may bear the name by now, or may have borne it before:
    # a server that is behind the others shows what was replaced.
    missing |= {ref for ref, obj in views if _other(progress, ref, obj)}
    shown = frozenset(ref for ref, _ in views)
    lost = sight.lost - shown
    due = (lost | missing) if again else missing
    return looked_at(cluster, Sight(progress, lost, shown), due, now)


def looked_at(
    cluster: Cluster, sight: Sight, refs: Iterable[ObjectRef], now: float
) -> Sight:
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
    with contextlib.closing(cluster.each(cluster.get, asked)) as outcomes:
        for ref, outcome in outcomes:
            if isinstance(outcome, _PASSING):
                unknown.add(ref)
            elif isinstance(outcome, Error):
                raise outcome
            elif outcome is None or _other(progress, ref, outcome):
                ended.append(ref)
            else:
                views.append(outcome)
    progress = progress.observed(views, now).vanished(ended)
    there = {ObjectRef.of(obj) for obj in views}
    lost = sight.lost.difference(asked) | unknown
    return Sight(
        progress,
        lost | {ref for ref in there if progress.is_open(ref)},
        sight.touched.union(asked),
    )


def _shown(
    found: Sequence[Observation],
) -> tuple[list[tuple[ObjectRef, Manifest]], set[ObjectRef]]:
    """All views of objects, and the objects that are not there any more.

    A selector that no longer matches may only mean that a label went.
    """
    views: list[tuple[ObjectRef, Manifest]] = []
    missing: set[ObjectRef] = set()
    for item in found:
        if isinstance(item, Changed):
            ref = ObjectRef.of(item.obj)
            if item.gone:
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


def _other(progress: Progress, ref: ObjectRef, obj: Manifest) -> bool:
    awaited = progress.awaited.get(ref)
    return awaited is not None and objects.uid(obj) != awaited.uid
