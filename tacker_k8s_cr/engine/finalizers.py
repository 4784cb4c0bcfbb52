"""Remove finalizers from objects of an instance, where requested."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import logging

from tacker_k8s_cr.engine.conflicts import retry_on_conflict
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

LOG = logging.getLogger(__name__)

CRD_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""Finalizer of a CustomResourceDefinition. Without it the stored objects would
exist again with the next definition of the kind, and could not be deleted
until then."""


def resolve_requested(
    cluster: Cluster,
    requested: Iterable[ObjectRef],
    owned: Collection[ObjectRef],
    instance: str,
    namespace: str,
) -> frozenset[ObjectRef]:
    """Return the requested objects, with their namespaces.

    A requested object that no longer exists is ignored: the operation may be a
    retry. Raises RequestInvalid for an object that the instance may not
    delete.

    :param owned: objects that are about to be deleted.
    :param namespace: of an object that is given without one.
    """
    resolved = set()
    foreign = []
    for unresolved in sorted(requested):
        ref = _with_namespace(cluster, unresolved, namespace)
        if ref in owned:
            resolved.add(ref)
        elif cluster.get_metadata(ref) is not None:
            foreign.append(ref)
    if foreign:
        raise errors.RequestInvalid(
            "remove_finalizers: "
            + ", ".join(map(str, foreign))
            + f": not an object that the termination of {instance} deletes"
        )
    return frozenset(resolved)


def _with_namespace(
    cluster: Cluster, ref: ObjectRef, namespace: str
) -> ObjectRef:
    try:
        namespaced = cluster.resource(ref.group_kind).namespaced
    except errors.KindNotServed:
        return ref
    if ref.namespace or not namespaced:
        return ref
    return ObjectRef(ref.group, ref.kind, namespace, ref.name)


def remove_finalizers(
    cluster: Cluster,
    terminating: Mapping[ObjectRef, Manifest],
    requested: Collection[ObjectRef],
    manager: str,
    guard: Callable[[], None] = lambda: None,
) -> dict[ObjectRef, tuple[str, ...]]:
    """Remove all finalizers from those of the objects that are requested.

    :param terminating: objects whose deletion is requested and that still
        exist, as the server answered; a recreated object of that name is not
        changed.

    Returns the removed finalizers by object.
    """
    return {
        ref: removed
        for ref, obj in sorted(terminating.items())
        if ref in requested
        and (
            removed := _remove(cluster, ref, objects.uid(obj), manager, guard)
        )
    }


def _remove(
    cluster: Cluster,
    ref: ObjectRef,
    uid: str,
    manager: str,
    guard: Callable[[], None],
) -> tuple[str, ...]:
    def remove() -> tuple[str, ...]:
        obj = cluster.get_metadata(ref)
        if obj is None or objects.uid(obj) != uid:
            return ()
        metadata = obj["metadata"]
        present = tuple(metadata.get("finalizers") or ())
        removed = tuple(name for name in present if name != CRD_CLEANUP)
        if not removed or not metadata.get("deletionTimestamp"):
            return ()
        body = {
            "metadata": {
                "uid": uid,
                "resourceVersion": metadata["resourceVersion"],
                "finalizers": [n for n in present if n == CRD_CLEANUP] or None,
            }
        }
        guard()
        cluster.patch(ref, body, manager)
        return removed

    removed = retry_on_conflict(remove)
    if removed:
        LOG.warning(
            "%s: finalizers removed, as requested: %s; their controllers may "
            "not have finished the cleanup",
            ref,
            ", ".join(removed),
        )
    return removed
