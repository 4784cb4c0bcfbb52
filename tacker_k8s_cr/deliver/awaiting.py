"""Waiting for one object to be there, and to hold what it should."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable

from tacker_k8s_cr import errors
from tacker_k8s_cr.cluster.protocol import Changed
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.cluster.protocol import Watching
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict

LAST_LOOK = 5.0
"""Seconds for a last look when time is up."""

Has = Callable[[Manifest], bool]


def awaited(
    cluster: Cluster,
    ref: ObjectRef,
    selector: str,
    deadline: Deadline,
    *,
    has: Has = lambda obj: True,
    why: str,
) -> Manifest:
    """The object, once it is there and has what it should.

    :param selector: what is watched; it should select little else.
    :param why: what to say in the error when time is up.

    Raises NotReady when time is up.
    """
    begun = deadline.now
    found = cluster.get(ref)
    if found and has(found):
        return found
    watch = Watch(
        ref.group_kind, ref.namespace, selector, frozenset({ref.name})
    )
    with cluster.watching([watch]) as watching:
        found = _seen(watching, ref, has, deadline)
    found = found or _without_label(cluster, ref, has, deadline)
    if found is None:
        seconds = deadline.now - begun
        verdict = Verdict(State.IN_PROGRESS, why)
        raise errors.NotReady(
            [errors.Unsettled(ref, verdict, seconds)], seconds
        )
    return found


def _without_label(
    cluster: Cluster, ref: ObjectRef, has: Has, deadline: Deadline
) -> Manifest | None:
    """One that a person made may lack the label; one last look."""
    brief = Deadline.after(LAST_LOOK, deadline.clock)
    try:
        found = cluster.until(brief).get(ref)
    except errors.ClusterError:
        return None
    return found if found and has(found) else None


def _seen(
    watching: Watching, ref: ObjectRef, has: Has, deadline: Deadline
) -> Manifest | None:
    while not deadline.passed:
        for item in watching.take(deadline.left):
            objs: Iterable[Manifest]
            if isinstance(item, Changed):
                objs = () if item.gone else (item.obj,)
            else:
                objs = item.objs
            for obj in objs:
                if ObjectRef.of(obj) == ref and has(obj):
                    return obj
    return None
