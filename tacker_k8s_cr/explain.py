"""Why an object does not settle, in the words of those who work on it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
from typing import TypeVar

from tacker_k8s_cr import dependents
from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.errors import Unsettled
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State

Found = TypeVar("Found")

EVENT = GroupKind("", "Event")

CLUSTER = GroupKind(contract.GROUP, "Cluster")

EVENTS = 3
"""Warning events that are shown of one object."""

CHILDREN = 5
"""Objects that one object made or uses, of which words are shown."""

DEPTH = 3
"""How far below an object we look: MachineDeployment, Machine, its parts."""

EXPLAINED = 20
"""Objects that are explained at most; each costs a few requests."""

PATIENCE = 10.0
"""Seconds for all of it: an explanation must not hold up the answer."""


def explained(
    cluster: Cluster, registry: Registry, unsettled: Sequence[Unsettled]
) -> tuple[Unsettled, ...]:
    """The same objects, the first of them with notes that explain them."""
    brief = cluster.until(Deadline.after(PATIENCE))
    first = unsettled[:EXPLAINED]
    notes = dict(
        brief.each(lambda item: _notes(brief, registry, item.ref), first)
    )
    return tuple(
        dataclasses.replace(item, notes=found)
        if isinstance(found := notes.get(item), tuple)
        else item
        for item in unsettled
    )


def _notes(
    cluster: Cluster, registry: Registry, ref: ObjectRef
) -> tuple[str, ...]:
    notes: list[str] = []
    for obj in _readable(_there(cluster, ref)):
        notes.extend(_going(obj))
        notes.extend(_readable(_events(cluster, obj)))
        notes.extend(_below(cluster, registry, obj, DEPTH))
    return tuple(dict.fromkeys(notes))


def _readable(found: Iterable[Found]) -> Iterator[Found]:
    """As far as it can be read: what cannot explains nothing.

    Each part is read for itself, so that none hides another.
    """
    with contextlib.suppress(errors.ClusterError, errors.KindUnknown):
        yield from found


def _there(cluster: Cluster, ref: ObjectRef) -> Iterator[Manifest]:
    obj = cluster.get(ref)
    if obj is not None:
        yield obj


def _going(obj: Manifest) -> Iterator[str]:
    """What keeps an object that is asked to go."""
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        for name in objects.field(obj, ("metadata", "finalizers"), ()):
            yield f"finalizer {name} is still there"
        deleting = objects.conditions(obj).get("Deleting", {})
        if deleting.get("message"):
            yield f"Deleting: {_line(str(deleting['message']))}"


def _events(cluster: Cluster, obj: Manifest) -> Iterator[str]:
    """The object's last warning events, the newest first."""
    uid = objects.uid(obj)
    ref = ObjectRef.of(obj)
    events = cluster.list_objects(
        EVENT,
        ref.namespace or "default",
        fields=f"involvedObject.uid={uid},type=Warning",
    )
    for event in sorted(events, key=_when, reverse=True)[:EVENTS]:
        times = objects.field(event, ("series", "count"), event.get("count"))
        often = f" ({times} times)" if times and times > 1 else ""
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
    cluster: Cluster, registry: Registry, obj: Manifest, depth: int
) -> Iterator[str]:
    """Words of what the object made or uses, where that is not current."""
    if not depth:
        return
    bad = []
    for child in _children(cluster, registry, obj):
        verdict = registry[ObjectRef.of(child).group_kind].assess(child)
        if verdict.state is not State.CURRENT:
            bad.append((child, verdict))
    for child, verdict in bad[:CHILDREN]:
        ref = ObjectRef.of(child)
        yield f"{ref}: {verdict.state.value}: {_line(verdict.reason)}"
        for note in _readable(_events(cluster, child)):
            yield f"{ref}: {note}"
        yield from _below(cluster, registry, child, depth - 1)
    if len(bad) > CHILDREN:
        yield f"and {len(bad) - CHILDREN} more below {ObjectRef.of(obj)}"


def _children(
    cluster: Cluster, registry: Registry, obj: Manifest
) -> Iterator[Manifest]:
    handler = registry[ObjectRef.of(obj).group_kind]
    if handler.children:
        for ref in handler.children(obj):
            yield from _readable(_there(cluster, ref))
    if handler.made:
        listed: list[Manifest] = []
        namespace = ObjectRef.of(obj).namespace
        for kind, selector in handler.made(obj):
            listed.extend(
                _readable(_selected(cluster, kind, namespace, selector))
            )
        # Others may bear such labels, too.
        ours = dependents.closed(listed, [objects.uid(obj)])
        for child in listed:
            if objects.uid(child) in ours or _of_cluster(child, obj):
                yield child


def _selected(
    cluster: Cluster, kind: GroupKind, namespace: str, selector: str
) -> Iterator[Manifest]:
    yield from cluster.list_objects(kind, namespace, selector)


def _of_cluster(child: Manifest, obj: Manifest) -> bool:
    """Whether both are of one Cluster, which a child shows by a label.

    Its owner reference comes later.
    """
    ref = ObjectRef.of(obj)
    name = objects.labels(obj).get(contract.CLUSTER_NAME)
    if ref.group_kind == CLUSTER:
        name = ref.name
    return (
        name is not None
        and GroupKind.of(child).group == contract.GROUP
        and objects.labels(child).get(contract.CLUSTER_NAME) == name
    )


def _line(text: str) -> str:
    """One line of at most 300 characters: conditions speak in bullet lists."""
    joined = " ".join(text.split())
    return joined if len(joined) <= 300 else joined[:297] + "..."
