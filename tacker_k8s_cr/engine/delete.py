"""Carry out the deletes of one stage, and find what must not go with them."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses

from tacker_k8s_cr.engine import owner_references
from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.plan import Delete


@dataclasses.dataclass(frozen=True)
class DeletionRequest:
    """The result of a deletion request.

    :param gone: objects that no longer exist.
    :param going: objects that continue to exist until their finalizers are
        removed, as the server answered.
    """

    deleted: tuple[ObjectRef, ...]
    terminating: Mapping[ObjectRef, Manifest]


def request_deletion(
    cluster: Cluster,
    steps: Sequence[Delete],
    *,
    grace_seconds: int | None = None,
    guard: Callable[[], None] = lambda: None,
) -> DeletionRequest:
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
    for step, outcome in cluster.map_parallel(one, steps):
        if isinstance(outcome, Error):
            failed.append(outcome)
        elif outcome is None:
            gone.append(step.ref)
        else:
            going[step.ref] = outcome
    if failed:
        raise failed[0]
    return DeletionRequest(tuple(gone), going)


def foreign_dependents(
    cluster: Cluster,
    going: Mapping[ObjectRef, str],
    instance: str = "",
    *,
    begun: bool = False,
    rules: Sequence[ClaimRule] = (),
) -> dict[ObjectRef, str]:
    """Find foreign objects that would be deleted too: by object, why.

    They are the objects of a kind that a CustomResourceDefinition being
    deleted defines, and all objects in a namespace being deleted. Dependents
    of an object being deleted count as the instance's, as do objects that
    Kubernetes creates in every namespace, and the record of the instance. A
    kind that the user may not list counts as one object with the name ``*``.

    :param going: what is about to be deleted, with UIDs.
    :param instance: whose record may be deleted; empty for that of any.
    :param begun: some objects are deleted already. Objects with an owner are
        left out: the garbage collector may be about to delete them.
    :param rules: of StatefulSets whose claims belong to the instance.
    """
    listed, unknown = _listed(cluster, _places(cluster, going))
    objs = [obj for obj, _ in listed]
    ours = owner_references.dependents_of(cluster, objs, going, rules)
    found = {
        ObjectRef.of(obj): f"it would go with {root}{_of(obj, instance)}"
        for obj, root in listed
        if objects.uid(obj) not in ours
        and not _usual(obj, instance)
        and not _going(obj)
        and not (begun and owner_references.owners(obj))
    }
    return {**found, **unknown}


def _of(obj: Manifest, instance: str) -> str:
    """Whose it is, where it is another instance's."""
    other = objects.labels(obj).get(objects.INSTANCE, instance)
    return f"; it is the instance {other}'s" if other != instance else ""


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

_Place = tuple[GroupKind, str]
"""A kind, and the namespace to list it in; empty for all of them."""


def _places(
    cluster: Cluster, going: Mapping[ObjectRef, str]
) -> dict[_Place, ObjectRef]:
    """Where to look, and for each the object that would take it all along."""
    roots = [
        ref
        for ref in going
        if ref.group_kind in (placement.DEFINITION, placement.NAMESPACE)
    ]
    found = {}
    namespaces = []
    for ref, obj in results_or_raise(cluster.map_parallel(cluster.get, roots)):
        if obj is None or objects.uid(obj) != going[ref] or _going(obj):
            continue  # nothing more will go with it than does already
        if ref.group_kind == placement.NAMESPACE:
            namespaces.append(ref)
        else:
            spec = obj["spec"]
            kind = GroupKind(spec["group"], spec["names"]["kind"])
            found[(kind, "")] = ref
    if not namespaces:
        return found
    kinds = [
        resource.group_kind
        for resource in cluster.resources()
        if resource.namespaced
        and {"list", "delete"} <= resource.verbs
        and resource.group_kind not in _NOT_LOOKED_AT
        and (resource.group_kind, "") not in found
    ]
    inside = {(kind, ref.name): ref for ref in namespaces for kind in kinds}
    return {**found, **inside}


def _listed(
    cluster: Cluster, places: Mapping[_Place, ObjectRef]
) -> tuple[list[tuple[Manifest, ObjectRef]], dict[ObjectRef, str]]:
    """What lies there, with what takes it along; and what is not known."""

    def look(place: _Place) -> tuple[Manifest, ...]:
        return tuple(cluster.list_metadata(*place))

    found: list[tuple[Manifest, ObjectRef]] = []
    unknown = {}
    with contextlib.closing(cluster.map_parallel(look, places)) as outcomes:
        for place, outcome in outcomes:
            if isinstance(outcome, errors.Forbidden):
                kind, namespace = place
                ref = ObjectRef(kind.group, kind.kind, namespace, "*")
                unknown[ref] = (
                    f"it would go with {places[place]}, but may not be "
                    f"listed: {outcome.message}"
                )
            elif isinstance(outcome, errors.KindNotServed):
                continue  # served no more, or not at all
            elif isinstance(outcome, Error):
                raise outcome
            else:
                found.extend((obj, places[place]) for obj in outcome)
    return found, unknown


def _usual(obj: Manifest, instance: str) -> bool:
    """Whether Kubernetes, or the instance, puts this into a namespace."""
    of = objects.labels(obj).get(record_names.LABEL)
    if of is not None:
        return not instance or of == instance
    ref = ObjectRef.of(obj)
    return (ref.kind, ref.name) in (
        ("ServiceAccount", "default"),
        ("ConfigMap", "kube-root-ca.crt"),
    )


def _going(obj: Manifest) -> bool:
    """Return whether the deletion of an object is requested already."""
    return bool(objects.field(obj, ("metadata", "deletionTimestamp")))
