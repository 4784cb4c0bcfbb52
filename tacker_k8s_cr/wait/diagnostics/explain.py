"""Explain why an object does not settle, from conditions and events."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import math

from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import PendingObject
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.wait.diagnostics import children
from tacker_k8s_cr.wait.diagnostics import finalizer_owners
from tacker_k8s_cr.wait.diagnostics import missing_references
from tacker_k8s_cr.wait.diagnostics import pod_node
from tacker_k8s_cr.wait.diagnostics import stalled
from tacker_k8s_cr.wait.diagnostics import volumes
from tacker_k8s_cr.wait.diagnostics.finalizer_owners import FinalizerDiagnosis

MAX_EVENTS = 3
"""Maximum number of warning events shown for one object."""

MAX_EXPLAINED = 20
"""Maximum number of explained objects; each costs a few requests."""

TIMEOUT = 10.0
"""Seconds for all explanations, which must not delay the result."""

FIRST_RESPONSE_TIMEOUT = 3.0
"""Seconds for the first response; without one, no more requests are sent."""


def with_explanations(
    cluster: Cluster,
    registry: Registry,
    unsettled: Sequence[PendingObject],
    seconds: float = math.inf,
) -> tuple[PendingObject, ...]:
    """Return the same objects, with notes that explain the first of them.

    :param seconds: maximum duration, if less than the default.
    """
    first = unsettled[:MAX_EXPLAINED]
    if not first:
        return ()
    if silence := _find_silence(cluster, first[0].ref, seconds):
        if silence.was_sent:
            note = f"this is the last known state: {silence.sentence()}"
            annotated = dataclasses.replace(first[0], notes=(note,))
            return (annotated, *unsettled[1:])
        return tuple(unsettled)
    limited = cluster.with_deadline(Deadline.after(min(TIMEOUT, seconds)))
    diagnosis = FinalizerDiagnosis(limited)
    notes = dict(
        limited.map_parallel(
            lambda item: _explain(limited, registry, diagnosis, item.ref),
            first,
        )
    )
    return tuple(
        dataclasses.replace(item, notes=item_notes)
        if isinstance(item_notes := notes.get(item), tuple)
        else item
        for item in unsettled
    )


def _find_silence(
    cluster: Cluster, ref: ObjectRef, seconds: float
) -> errors.Unavailable | errors.Unreachable | None:
    """Return why the server does not answer; None if it answers at all."""
    limited = cluster.with_deadline(
        Deadline.after(min(FIRST_RESPONSE_TIMEOUT, seconds))
    )
    try:
        limited.get_metadata(ref)
    except (errors.Unavailable, errors.Unreachable) as error:
        return error
    except errors.Error:
        return None
    return None


def _explain(
    cluster: Cluster,
    registry: Registry,
    diagnosis: FinalizerDiagnosis,
    ref: ObjectRef,
) -> tuple[str, ...]:
    notes: list[str] = []
    for obj in children.readable(children.get_if_exists(cluster, ref)):
        notes.extend(
            children.readable(_explain_deletion(cluster, diagnosis, obj))
        )
        notes.extend(children.readable(_explain_events(cluster, obj)))
        try:
            notes.extend(
                _explain_children(
                    cluster, registry, diagnosis, obj, children.MAX_DEPTH
                )
            )
        except errors.HandlerFailed as error:
            notes.append(str(error))
    return tuple(dict.fromkeys(notes))


def _explain_deletion(
    cluster: Cluster, diagnosis: FinalizerDiagnosis, obj: Manifest
) -> Iterator[str]:
    """Yield what blocks an object whose deletion is requested."""
    if not objects.field(obj, ("metadata", "deletionTimestamp")):
        return
    for condition in finalizer_owners.deletion_conditions(obj):
        yield _line(condition)
    for ref in missing_references.find_missing(cluster, obj):
        yield f"it refers to {ref}, which does not exist"
    for note in pod_node.describe_node(cluster, obj):
        yield _line(note)
    for note in volumes.describe_users(cluster, obj):
        yield _line(note)
    for note in diagnosis.describe(obj):
        yield _line(note)


def _explain_events(cluster: Cluster, obj: Manifest) -> Iterator[str]:
    """Yield the object's last warning events, the newest first."""
    events = children.list_events(cluster, obj, "Warning")
    for event in sorted(events, key=_event_time, reverse=True)[:MAX_EVENTS]:
        times = stalled.event_count(event)
        repeats = f" ({times} times)" if times > 1 else ""
        yield (
            f"event {event.get('reason')}{repeats}: "
            f"{_line(str(event.get('message', '')))}"
        )


def _event_time(event: Manifest) -> str:
    return str(
        objects.field(event, ("series", "lastObservedTime"))
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or ""
    )


def _explain_children(
    cluster: Cluster,
    registry: Registry,
    diagnosis: FinalizerDiagnosis,
    obj: Manifest,
    depth: int,
) -> Iterator[str]:
    """Yield notes on what the object created or uses and is not current."""
    if not depth:
        return
    unsettled = []
    for child in children.list_children(cluster, registry, obj):
        verdict = registry[ObjectRef.of(child).group_kind].assess(child)
        if verdict.state is not State.CURRENT:
            unsettled.append((child, verdict))
    for child, verdict in unsettled[: children.MAX_CHILDREN]:
        ref = ObjectRef.of(child)
        yield f"{ref}: {verdict.state.value}: {_line(verdict.reason)}"
        for note in children.readable(
            _explain_deletion(cluster, diagnosis, child)
        ):
            yield f"{ref}: {note}"
        for note in children.readable(_explain_events(cluster, child)):
            yield f"{ref}: {note}"
        yield from _explain_children(
            cluster, registry, diagnosis, child, depth - 1
        )
    if len(unsettled) > children.MAX_CHILDREN:
        more = len(unsettled) - children.MAX_CHILDREN
        yield f"and {more} more below {ObjectRef.of(obj)}"


def _line(text: str) -> str:
    """Return one line of at most 300 characters; conditions may have many."""
    joined = " ".join(text.split())
    return joined if len(joined) <= 300 else joined[:297] + "..."
