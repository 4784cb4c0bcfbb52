"""Wait until one object exists and has the expected content."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import math

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchEvent
from tacker_k8s_cr.kube.protocol import WatchUpdate
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.wait.wait_until import wait_until

LAST_LOOK = 5.0
"""Seconds for a last read after the deadline."""

Has = Callable[[Manifest], bool]


def wait_for(
    cluster: Cluster,
    ref: ObjectRef,
    selector: str,
    deadline: Deadline,
    *,
    has: Has = lambda obj: True,
    why: str,
) -> Manifest:
    """Return the object, once it exists and has the expected content.

    :param selector: of the watch; it should select few other objects.
    :param why: reason in the error when the deadline passes.

    Raises ReadinessTimeout when the deadline passes.
    """
    begun = deadline.now
    found = cluster.get(ref)
    if found and has(found):
        return found
    watch = Watch(
        ref.group_kind, ref.namespace, selector, frozenset({ref.name})
    )
    found = _seen(cluster, watch, ref, has, deadline)
    found = found or _without_label(cluster, ref, has, deadline)
    if found is None:
        seconds = deadline.now - begun
        verdict = Verdict(State.IN_PROGRESS, why)
        raise errors.ReadinessTimeout(
            [errors.PendingObject(ref, verdict, seconds)], seconds
        )
    return found


def _without_label(
    cluster: Cluster, ref: ObjectRef, has: Has, deadline: Deadline
) -> Manifest | None:
    """Read once more: an object that a user created may have no label."""
    brief = Deadline.after(LAST_LOOK, deadline.clock)
    try:
        found = cluster.with_deadline(brief).get(ref)
    except errors.ClusterError:
        return None
    return found if found and has(found) else None


def _seen(
    cluster: Cluster,
    watch: Watch,
    ref: ObjectRef,
    has: Has,
    deadline: Deadline,
) -> Manifest | None:
    seen: Manifest | None = None

    def step(found: Sequence[WatchUpdate]) -> float | None:
        nonlocal seen
        for item in found:
            objs: Iterable[Manifest]
            if isinstance(item, WatchEvent):
                objs = () if item.deleted else (item.obj,)
            else:
                objs = item.objs
            for obj in objs:
                if ObjectRef.of(obj) == ref and has(obj):
                    seen = obj
                    return None
        return math.inf

    wait_until(cluster, [watch], step, deadline)
    return seen
