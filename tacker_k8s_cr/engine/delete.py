"""Delete the objects of a stage; find objects that must not be deleted."""

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
from tacker_k8s_cr.plan.steps import Delete


@dataclasses.dataclass(frozen=True)
class DeletionRequest:
    """The result of a deletion request.

    :param deleted: objects that no longer exist.
    :param terminating: objects that continue to exist until their finalizers
        are removed, as the server answered.
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
    """Request the deletion of every object, by its UID.

    Raises the first error after all requests were sent.
    """

    def delete(step: Delete) -> Manifest | None:
        guard()
        return cluster.delete(
            step.ref,
            step.uid,
            grace_seconds=grace_seconds,
            propagation=step.propagation,
        )

    deleted = []
    terminating = {}
    failed: list[Error] = []
    for step, outcome in cluster.map_parallel(delete, steps):
        if isinstance(outcome, Error):
            failed.append(outcome)
        elif outcome is None:
            deleted.append(step.ref)
        else:
            terminating[step.ref] = outcome
    if failed:
        raise failed[0]
    return DeletionRequest(tuple(deleted), terminating)


def find_foreign_dependents(
    cluster: Cluster,
    deleting: Mapping[ObjectRef, str],
    instance: str = "",
    *,
    in_progress: bool = False,
    rules: Sequence[ClaimRule] = (),
) -> dict[ObjectRef, str]:
    """Find foreign objects that would be deleted too: by object, why.

    They are the objects of a kind that a CustomResourceDefinition being
    deleted defines, and all objects in a namespace being deleted. Dependents
    of an object being deleted count as the instance's, as do objects that
    Kubernetes creates in every namespace, and the record of the instance. A
    kind that the user may not list counts as one object with the name ``*``.

    :param deleting: what is about to be deleted, with UIDs.
    :param instance: whose record may be deleted; empty for that of any.
    :param in_progress: some objects are deleted already. Objects with an owner
        are left out: the garbage collector may be about to delete them.
    :param rules: of StatefulSets whose claims belong to the instance.
    """
    listed, unknown = _list_scoped_objects(
        cluster, _list_scopes(cluster, deleting)
    )
    objs = [obj for obj, _ in listed]
    dependent_uids = owner_references.dependents_of(
        cluster, objs, deleting, rules
    )
    foreign = {
        ObjectRef.of(obj): (
            f"it would be deleted with {root}"
            f"{_describe_other_instance(obj, instance)}"
        )
        for obj, root in listed
        if objects.uid(obj) not in dependent_uids
        and not _is_expected(obj, instance)
        and not _is_terminating(obj)
        and not (in_progress and owner_references.owners(obj))
    }
    return {**foreign, **unknown}


def _describe_other_instance(obj: Manifest, instance: str) -> str:
    """Return a remark on the instance of an object, if it is another one."""
    other = objects.labels(obj).get(objects.INSTANCE, instance)
    return f"; it belongs to instance {other}" if other != instance else ""


_IGNORED_KINDS = frozenset(
    {
        GroupKind("", "Event"),
        GroupKind("events.k8s.io", "Event"),
        GroupKind("coordination.k8s.io", "Lease"),
        # Kubernetes creates and deletes them for Services.
        GroupKind("", "Endpoints"),
        GroupKind("discovery.k8s.io", "EndpointSlice"),
        # The metrics server computes them; nothing is stored.
        GroupKind("metrics.k8s.io", "PodMetrics"),
    }
)

_ListScope = tuple[GroupKind, str]
"""A kind, and the namespace to list it in; empty for all of them."""


def _list_scopes(
    cluster: Cluster, deleting: Mapping[ObjectRef, str]
) -> dict[_ListScope, ObjectRef]:
    """Return what to list, and the object whose deletion includes it."""
    roots = [
        ref
        for ref in deleting
        if ref.group_kind in (placement.DEFINITION, placement.NAMESPACE)
    ]
    scopes = {}
    namespaces = []
    for ref, obj in results_or_raise(cluster.map_parallel(cluster.get, roots)):
        if (
            obj is None
            or objects.uid(obj) != deleting[ref]
            or _is_terminating(obj)
        ):
            continue  # its deletion has begun, or it is another object
        if ref.group_kind == placement.NAMESPACE:
            namespaces.append(ref)
        else:
            spec = obj["spec"]
            kind = GroupKind(spec["group"], spec["names"]["kind"])
            scopes[(kind, "")] = ref
    if not namespaces:
        return scopes
    kinds = [
        resource.group_kind
        for resource in cluster.resources()
        if resource.namespaced
        and {"list", "delete"} <= resource.verbs
        and resource.group_kind not in _IGNORED_KINDS
        and (resource.group_kind, "") not in scopes
    ]
    inside = {(kind, ref.name): ref for ref in namespaces for kind in kinds}
    return {**scopes, **inside}


def _list_scoped_objects(
    cluster: Cluster, scopes: Mapping[_ListScope, ObjectRef]
) -> tuple[list[tuple[Manifest, ObjectRef]], dict[ObjectRef, str]]:
    """Return the objects, with their roots, and what could not be listed."""

    def list_scope(scope: _ListScope) -> tuple[Manifest, ...]:
        return tuple(cluster.list_metadata(*scope))

    found: list[tuple[Manifest, ObjectRef]] = []
    forbidden = {}
    with contextlib.closing(
        cluster.map_parallel(list_scope, scopes)
    ) as outcomes:
        for scope, outcome in outcomes:
            if isinstance(outcome, errors.Forbidden):
                kind, namespace = scope
                ref = ObjectRef(kind.group, kind.kind, namespace, "*")
                forbidden[ref] = (
                    f"it would be deleted with {scopes[scope]}, but may "
                    f"not be listed: {outcome.message}"
                )
            elif isinstance(outcome, errors.KindNotServed):
                continue  # no longer served, or not at all
            elif isinstance(outcome, Error):
                raise outcome
            else:
                found.extend((obj, scopes[scope]) for obj in outcome)
    return found, forbidden


def _is_expected(obj: Manifest, instance: str) -> bool:
    """Whether Kubernetes or the instance creates this in a namespace."""
    record_instance = objects.labels(obj).get(record_names.LABEL)
    if record_instance is not None:
        return not instance or record_instance == instance
    ref = ObjectRef.of(obj)
    return (ref.kind, ref.name) in (
        ("ServiceAccount", "default"),
        ("ConfigMap", "kube-root-ca.crt"),
    )


def _is_terminating(obj: Manifest) -> bool:
    """Return whether the deletion of an object is requested already."""
    return bool(objects.field(obj, ("metadata", "deletionTimestamp")))
