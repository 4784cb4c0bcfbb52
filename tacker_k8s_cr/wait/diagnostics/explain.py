"""Why an object does not settle, in the words of those who work on it."""

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

EVENTS = 3
"""Warning events that are shown of one object."""

EXPLAINED = 20
"""Objects that are explained at most; each costs a few requests."""

PATIENCE = 10.0
"""Seconds for all of it: an explanation must not hold up the answer."""

ANSWER = 3.0
"""Seconds for the first answer: who gives none explains nothing."""


def with_explanations(
    cluster: Cluster,
    registry: Registry,
    unsettled: Sequence[PendingObject],
    within: float = math.inf,
) -> tuple[PendingObject, ...]:
    """The same objects, the first of them with notes that explain them.

    :param within: seconds that it may take, if that is less than usual.
    """
    first = unsettled[:EXPLAINED]
    if not first:
        return ()
    if silence := _silence(cluster, first[0].ref, within):
        if silence.was_sent:
            note = f"this is the last known state: {silence.sentence()}"
            noted = dataclasses.replace(first[0], notes=(note,))
            return (noted, *unsettled[1:])
        return tuple(unsettled)
    brief = cluster.with_deadline(Deadline.after(min(PATIENCE, within)))
    held = FinalizerDiagnosis(brief)
    notes = dict(
        brief.map_parallel(
            lambda item: _notes(brief, registry, held, item.ref), first
        )
    )
    return tuple(
        dataclasses.replace(item, notes=found)
        if isinstance(found := notes.get(item), tuple)
        else item
        for item in unsettled
    )


def _silence(
    cluster: Cluster, ref: ObjectRef, within: float
) -> errors.Unavailable | errors.Unreachable | None:
    """Return why the server does not answer; None if it answers at all."""
    brief = cluster.with_deadline(Deadline.after(min(ANSWER, within)))
    try:
        brief.get_metadata(ref)
    except (errors.Unavailable, errors.Unreachable) as error:
        return error
    except errors.Error:
        return None
    return None


def _notes(
    cluster: Cluster,
    registry: Registry,
    held: FinalizerDiagnosis,
    ref: ObjectRef,
) -> tuple[str, ...]:
    notes: list[str] = []
    for obj in children.or_none(children.get_if_present(cluster, ref)):
        notes.extend(children.or_none(_going(cluster, held, obj)))
        notes.extend(children.or_none(_events(cluster, obj)))
        try:
            notes.extend(_below(cluster, registry, held, obj, children.DEPTH))
        except errors.HandlerFailed as error:
            notes.append(str(error))
    return tuple(dict.fromkeys(notes))


def _going(
    cluster: Cluster, held: FinalizerDiagnosis, obj: Manifest
) -> Iterator[str]:
    """Yield what blocks an object whose deletion is requested."""
    if not objects.field(obj, ("metadata", "deletionTimestamp")):
        return
    for said in finalizer_owners.deletion_conditions(obj):
        yield _line(said)
    for ref in missing_references.missing(cluster, obj):
        yield f"it refers to {ref}, which is not there"
    for note in pod_node.notes(cluster, obj):
        yield _line(note)
    for note in volumes.notes(cluster, obj):
        yield _line(note)
    for note in held.notes(obj):
        yield _line(note)


def _events(cluster: Cluster, obj: Manifest) -> Iterator[str]:
    """The object's last warning events, the newest first."""
    events = children.events(cluster, obj, "Warning")
    for event in sorted(events, key=_when, reverse=True)[:EVENTS]:
        times = stalled.event_count(event)
        often = f" ({times} times)" if times > 1 else ""
        yield (
            f"event {event.get('reason')}{often}: "
            f"{_line(str(event.get('message', '')))}"
        )


def _when(event: Manifest) -> str:
    return str(
        objects.field(event, ("series", "lastObservedTime"))
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or ""
    )


def _below(
    cluster: Cluster,
    registry: Registry,
    held: FinalizerDiagnosis,
    obj: Manifest,
    depth: int,
) -> Iterator[str]:
    """Words of what the object made or uses, where that is not current."""
    if not depth:
        return
    bad = []
    for child in children.children(cluster, registry, obj):
        verdict = registry[ObjectRef.of(child).group_kind].assess(child)
        if verdict.state is not State.CURRENT:
            bad.append((child, verdict))
    for child, verdict in bad[: children.CHILDREN]:
        ref = ObjectRef.of(child)
        yield f"{ref}: {verdict.state.value}: {_line(verdict.reason)}"
        for note in children.or_none(_going(cluster, held, child)):
            yield f"{ref}: {note}"
        for note in children.or_none(_events(cluster, child)):
            yield f"{ref}: {note}"
        yield from _below(cluster, registry, held, child, depth - 1)
    if len(bad) > children.CHILDREN:
        more = len(bad) - children.CHILDREN
        yield f"and {more} more below {ObjectRef.of(obj)}"


def _line(text: str) -> str:
    """One line of at most 300 characters: conditions speak in bullet lists."""
    joined = " ".join(text.split())
    return joined if len(joined) <= 300 else joined[:297] + "..."
