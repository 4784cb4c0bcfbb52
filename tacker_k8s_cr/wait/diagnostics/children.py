"""What an object made or uses, and the events that are about it."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import math
from typing import TypeVar

from tacker_k8s_cr.engine import owner_references
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.wait.diagnostics.stalled import ChildObservation

Found = TypeVar("Found")

EVENT = GroupKind("", "Event")

CLUSTER = GroupKind(contract.GROUP, "Cluster")

WORKLOADS = (
    GroupKind("apps", "Deployment"),
    GroupKind("apps", "StatefulSet"),
    GroupKind("apps", "DaemonSet"),
    GroupKind("batch", "Job"),
    GroupKind("", "Pod"),
)
"""What operators make for their own kinds."""

CHILDREN = 5
"""Objects that one object made or uses, of which more is looked at."""

DEPTH = 3
"""How far below an object we look: MachineDeployment, Machine, its parts."""

PATIENCE = 5.0
"""Seconds for a round of reads: it must not stall the wait."""


def inspect(
    cluster: Cluster,
    registry: Registry,
    refs: Collection[ObjectRef],
    within: float = math.inf,
) -> Mapping[ObjectRef, tuple[ChildObservation, ...]]:
    """Return each of these objects, and what below it is not current.

    One that cannot be read, or does not exist, is left out. Raises
    HandlerFailed: without a third party's handler the state is unknown.

    :param within: seconds that it may take, if that is less than usual.
    """
    brief = cluster.with_deadline(Deadline.after(min(PATIENCE, within)))
    made = _workloads(
        brief,
        {
            ref.namespace
            for ref in refs
            if _by_operator(ref, registry[ref.group_kind])
        },
    )
    outcomes = dict(
        brief.map_parallel(
            lambda ref: _parts(brief, registry, ref, made), refs
        )
    )
    for error in outcomes.values():
        if isinstance(error, errors.HandlerFailed):
            raise error
    return {
        ref: parts
        for ref, parts in outcomes.items()
        if not isinstance(parts, errors.Error) and parts
    }


def _parts(
    cluster: Cluster,
    registry: Registry,
    ref: ObjectRef,
    workloads: Sequence[Manifest],
) -> tuple[ChildObservation, ...]:
    found = [
        _part(registry, obj, 0)
        for obj in or_none(get_if_present(cluster, ref))
    ]
    level = list(found)
    for depth in range(1, DEPTH + 1):
        made = {
            objects.uid(child): _part(registry, child, depth)
            for part in level
            for child in children(cluster, registry, part.obj, workloads)
        }
        unsettled = [
            part
            for part in made.values()
            if part.verdict.state is not State.CURRENT
        ]
        found += unsettled
        level = unsettled[:CHILDREN]
    if any(part.error for part in found):
        return tuple(found)
    # No status reports the cause. Events may.
    return tuple(
        dataclasses.replace(
            part, events=tuple(or_none(events(cluster, part.obj)))
        )
        if number <= CHILDREN * DEPTH
        else part
        for number, part in enumerate(found)
    )


def _part(registry: Registry, obj: Manifest, depth: int) -> ChildObservation:
    verdict = registry[GroupKind.of(obj)].assess(obj)
    return ChildObservation(obj, verdict, depth)


def or_none(found: Iterable[Found]) -> Iterator[Found]:
    """As far as it can be read: what cannot explains nothing.

    Each part is read for itself, so that none hides another.
    """
    with contextlib.suppress(errors.ClusterError, errors.KindNotServed):
        yield from found


def get_if_present(cluster: Cluster, ref: ObjectRef) -> Iterator[Manifest]:
    obj = cluster.get(ref)
    if obj is not None:
        yield obj


def events(
    cluster: Cluster, obj: Manifest, kind: str = ""
) -> Iterator[Manifest]:
    """The events that are about an object, of one type or of all."""
    selected = f"involvedObject.uid={objects.uid(obj)}"
    yield from cluster.list_objects(
        EVENT,
        ObjectRef.of(obj).namespace or "default",
        fields=f"{selected},type={kind}" if kind else selected,
    )


def children(
    cluster: Cluster,
    registry: Registry,
    obj: Manifest,
    workloads: Sequence[Manifest] | None = None,
) -> Iterator[Manifest]:
    """Return what an object is known to use, and what it created.

    :param workloads: the metadata of all in its namespace, where the caller
        has listed them.
    """
    handler = registry[GroupKind.of(obj)]
    if handler.references:
        for ref in handler.references(obj):
            yield from or_none(get_if_present(cluster, ref))
    if handler.child_selectors:
        listed: list[Manifest] = []
        namespace = ObjectRef.of(obj).namespace
        for kind, selector in handler.child_selectors(obj):
            listed.extend(
                or_none(_selected(cluster, kind, namespace, selector))
            )
        # Others may bear such labels, too.
        ours = owner_references.transitive_dependents(
            listed, [objects.uid(obj)]
        )
        for child in listed:
            if objects.uid(child) in ours or _of_cluster(child, obj):
                yield child
    elif _by_operator(ref := ObjectRef.of(obj), handler):
        if workloads is None:
            workloads = _workloads(cluster, {ref.namespace})
        uid = objects.uid(obj)
        owned = [
            one for one in workloads if uid in owner_references.owners(one)
        ]
        for one in owned[:CHILDREN]:
            yield from or_none(get_if_present(cluster, ObjectRef.of(one)))


def _by_operator(ref: ObjectRef, handler: Handler) -> bool:
    """Return whether an operator may create unknown children of an object.

    Objects that Kubernetes' own projects define have known children.
    """
    known = "." not in ref.group or ref.group.endswith("k8s.io")
    return bool(ref.namespace) and not known and not handler.references


def _workloads(cluster: Cluster, namespaces: Iterable[str]) -> list[Manifest]:
    """The metadata of the workloads in these namespaces."""
    places = [(kind, place) for place in namespaces for kind in WORKLOADS]
    listed = cluster.map_parallel(
        lambda place: list(or_none(_metadata(cluster, *place))), places
    )
    return [
        obj for _, objs in listed if isinstance(objs, list) for obj in objs
    ]


def _metadata(
    cluster: Cluster, kind: GroupKind, namespace: str
) -> Iterator[Manifest]:
    yield from cluster.list_metadata(kind, namespace)


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
