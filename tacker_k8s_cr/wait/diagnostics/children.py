"""Read what an object created or uses, and its events."""

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
"""Kinds that operators create for their custom resources."""

MAX_CHILDREN = 5
"""Maximum number of children whose own children are read."""

MAX_DEPTH = 3
"""Levels of children: MachineDeployment, Machine, its dependencies."""

TIMEOUT = 5.0
"""Seconds for all reads of one inspection, which must not delay the wait."""


def inspect(
    cluster: Cluster,
    registry: Registry,
    refs: Collection[ObjectRef],
    seconds: float = math.inf,
) -> Mapping[ObjectRef, tuple[ChildObservation, ...]]:
    """Return each of these objects, with its children that are not current.

    One that cannot be read, or does not exist, is left out. Raises
    HandlerFailed: without a third party's handler the state is unknown.

    :param seconds: maximum duration, if less than the default.
    """
    limited = cluster.with_deadline(Deadline.after(min(TIMEOUT, seconds)))
    workloads = _list_workloads(
        limited,
        {
            ref.namespace
            for ref in refs
            if _may_have_unknown_children(ref, registry[ref.group_kind])
        },
    )
    outcomes = dict(
        limited.map_parallel(
            lambda ref: _observe_children(limited, registry, ref, workloads),
            refs,
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


def _observe_children(
    cluster: Cluster,
    registry: Registry,
    ref: ObjectRef,
    workloads: Sequence[Manifest],
) -> tuple[ChildObservation, ...]:
    observations = [
        _observe(registry, obj, 0)
        for obj in readable(get_if_exists(cluster, ref))
    ]
    level = list(observations)
    for depth in range(1, MAX_DEPTH + 1):
        by_uid = {
            objects.uid(child): _observe(registry, child, depth)
            for part in level
            for child in list_children(cluster, registry, part.obj, workloads)
        }
        unsettled = [
            part
            for part in by_uid.values()
            if part.verdict.state is not State.CURRENT
        ]
        observations += unsettled
        level = unsettled[:MAX_CHILDREN]
    if any(part.error for part in observations):
        return tuple(observations)
    # No status reports the cause. Events may.
    return tuple(
        dataclasses.replace(
            part, events=tuple(readable(list_events(cluster, part.obj)))
        )
        if number <= MAX_CHILDREN * MAX_DEPTH
        else part
        for number, part in enumerate(observations)
    )


def _observe(
    registry: Registry, obj: Manifest, depth: int
) -> ChildObservation:
    verdict = registry[GroupKind.of(obj)].assess(obj)
    return ChildObservation(obj, verdict, depth)


def readable(found: Iterable[Found]) -> Iterator[Found]:
    """Yield the items until an error of the cluster, which is ignored.

    Each source is read separately, so that none hides another.
    """
    with contextlib.suppress(errors.ClusterError, errors.KindNotServed):
        yield from found


def get_if_exists(cluster: Cluster, ref: ObjectRef) -> Iterator[Manifest]:
    obj = cluster.get(ref)
    if obj is not None:
        yield obj


def list_events(
    cluster: Cluster, obj: Manifest, event_type: str = ""
) -> Iterator[Manifest]:
    """Yield the events about an object, of one type or of all."""
    selected = f"involvedObject.uid={objects.uid(obj)}"
    yield from cluster.list_objects(
        EVENT,
        ObjectRef.of(obj).namespace or "default",
        fields=f"{selected},type={event_type}" if event_type else selected,
    )


def list_children(
    cluster: Cluster,
    registry: Registry,
    obj: Manifest,
    workloads: Sequence[Manifest] | None = None,
) -> Iterator[Manifest]:
    """Return what an object is known to use, and what it created.

    :param workloads: the metadata of all workloads in its namespace, if the
        caller has listed them.
    """
    handler = registry[GroupKind.of(obj)]
    if handler.references:
        for ref in handler.references(obj):
            yield from readable(get_if_exists(cluster, ref))
    if handler.child_selectors:
        listed: list[Manifest] = []
        namespace = ObjectRef.of(obj).namespace
        for kind, selector in handler.child_selectors(obj):
            listed.extend(
                readable(_list_selected(cluster, kind, namespace, selector))
            )
        # Other objects may have such labels, too.
        dependent_uids = owner_references.transitive_dependents(
            listed, [objects.uid(obj)]
        )
        for child in listed:
            if objects.uid(child) in dependent_uids or _is_in_same_cluster(
                child, obj
            ):
                yield child
    elif _may_have_unknown_children(ref := ObjectRef.of(obj), handler):
        if workloads is None:
            workloads = _list_workloads(cluster, {ref.namespace})
        uid = objects.uid(obj)
        owned = [
            workload
            for workload in workloads
            if uid in owner_references.owners(workload)
        ]
        for workload in owned[:MAX_CHILDREN]:
            yield from readable(get_if_exists(cluster, ObjectRef.of(workload)))


def _may_have_unknown_children(ref: ObjectRef, handler: Handler) -> bool:
    """Return whether an operator may create unknown children of an object.

    Objects that Kubernetes' own projects define have known children.
    """
    is_kubernetes_group = "." not in ref.group or ref.group.endswith("k8s.io")
    return (
        bool(ref.namespace)
        and not is_kubernetes_group
        and not handler.references
    )


def _list_workloads(
    cluster: Cluster, namespaces: Iterable[str]
) -> list[Manifest]:
    """Return the metadata of the workloads in these namespaces."""
    scopes = [(kind, scope) for scope in namespaces for kind in WORKLOADS]
    listed = cluster.map_parallel(
        lambda scope: list(readable(_list_metadata(cluster, *scope))), scopes
    )
    return [
        obj for _, objs in listed if isinstance(objs, list) for obj in objs
    ]


def _list_metadata(
    cluster: Cluster, kind: GroupKind, namespace: str
) -> Iterator[Manifest]:
    yield from cluster.list_metadata(kind, namespace)


def _list_selected(
    cluster: Cluster, kind: GroupKind, namespace: str, selector: str
) -> Iterator[Manifest]:
    yield from cluster.list_objects(kind, namespace, selector)


def _is_in_same_cluster(child: Manifest, obj: Manifest) -> bool:
    """Whether both belong to the same Cluster, according to their labels.

    The owner reference of the child may be set later.
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
