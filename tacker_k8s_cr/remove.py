"""Carry out the deletes of one stage, and find what must not go with them."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools

from tacker_k8s_cr import objects
from tacker_k8s_cr import plan
from tacker_k8s_cr import record
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.errors import Error
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.plan import Delete


@dataclasses.dataclass(frozen=True)
class Requested:
    """What came of asking for deletion.

    :param gone: objects that are not there any more.
    :param going: objects that go on to exist until their finalizers are
        removed, as the server answered.
    """

    gone: tuple[ObjectRef, ...]
    going: Mapping[ObjectRef, Manifest]


def requested(
    cluster: Cluster,
    steps: Sequence[Delete],
    *,
    grace_seconds: int | None = None,
    guard: Callable[[], None] = lambda: None,
) -> Requested:
    """Ask for the deletion of every object, by its UID.

    Raises the first error when all have been asked.
    """

    def one(step: Delete) -> Manifest | None:
        guard()
        return cluster.delete(
            step.ref,
            step.uid,
            grace_seconds=grace_seconds,
            propagation=step.propagation,
        )

    gone = []
    going = {}
    failed: list[Error] = []
    for step, outcome in cluster.each(one, steps):
        if isinstance(outcome, Error):
            failed.append(outcome)
        elif outcome is None:
            gone.append(step.ref)
        else:
            going[step.ref] = outcome
    if failed:
        raise failed[0]
    return Requested(tuple(gone), going)


def foreign(
    cluster: Cluster, owned: Mapping[ObjectRef, str]
) -> dict[ObjectRef, str]:
    """Objects that would go with ours and are not ours: by object, why.

    They are the objects of a kind that our CustomResourceDefinition
    defines, and all that lies in a namespace of ours. What our objects own,
    directly or not, counts as ours, as does what Kubernetes itself puts
    into every namespace.
    """
    found: dict[ObjectRef, str] = {}
    kept = set(owned.values())
    for ref in owned:
        if ref.group_kind == plan.DEFINITION:
            why = f"it would go with {ref}"
            found.update(_strangers(_of_definition(cluster, ref), kept, why))
    namespaces = [r for r in owned if r.group_kind == plan.NAMESPACE]
    if not namespaces:
        return found
    kinds = [
        resource.group_kind
        for resource in cluster.resources()
        if resource.namespaced
        and {"list", "delete"} <= resource.verbs
        and resource.group_kind not in _NOT_LOOKED_AT
    ]
    for ref in namespaces:
        why = f"it would go with {ref}"
        inside: list[Manifest] = []
        look = functools.partial(_inside, cluster, ref.name)
        for _, listed in raised(cluster.each(look, kinds)):
            inside.extend(obj for obj in listed if not _usual(obj))
        found.update(_strangers(inside, kept, why))
    return {ref: why for ref, why in found.items() if ref not in owned}


_NOT_LOOKED_AT = frozenset(
    {
        GroupKind("", "Event"),
        GroupKind("events.k8s.io", "Event"),
        GroupKind("coordination.k8s.io", "Lease"),
        # Kubernetes makes and removes them for Services.
        GroupKind("", "Endpoints"),
        GroupKind("discovery.k8s.io", "EndpointSlice"),
        # The metrics server answers for pods and nodes; nothing is stored.
        GroupKind("metrics.k8s.io", "PodMetrics"),
    }
)


def _inside(
    cluster: Cluster, namespace: str, kind: GroupKind
) -> tuple[Manifest, ...]:
    return tuple(cluster.list_metadata(kind, namespace))


def _usual(obj: Manifest) -> bool:
    """Whether Kubernetes, or our record, puts this into any namespace."""
    ref = ObjectRef.of(obj)
    return record.RECORD in objects.labels(obj) or (
        (ref.kind, ref.name)
        in (("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt"))
    )


def _of_definition(cluster: Cluster, ref: ObjectRef) -> Iterable[Manifest]:
    definition = cluster.get(ref)
    if definition is None or objects.field(
        definition, ("metadata", "deletionTimestamp")
    ):
        return ()
    spec = definition["spec"]
    kind = GroupKind(spec["group"], spec["names"]["kind"])
    return cluster.list_metadata(kind)


def _strangers(
    objs: Iterable[Manifest], uids: set[str], why: str
) -> dict[ObjectRef, str]:
    """Those that neither are ours nor belong, by owners, to what is."""
    listed = list(objs)
    ours = set(uids)
    grown = True
    while grown:
        more = {
            objects.uid(obj)
            for obj in listed
            if objects.uid(obj) not in ours
            and any(
                owner.get("uid") in ours
                for owner in objects.field(
                    obj, ("metadata", "ownerReferences"), ()
                )
            )
        }
        ours |= more
        grown = bool(more)
    return {
        ObjectRef.of(obj): why
        for obj in listed
        if objects.uid(obj) not in ours
    }
