"""Take finalizers off objects of an instance, where that is asked for."""

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

SERVERS_OWN = "customresourcecleanup.apiextensions.k8s.io"
"""Finalizer of a definition: without it the stored objects would exist again
with the next definition of the kind, and could not be deleted until then."""


def resolve_named(
    cluster: Cluster,
    named: Iterable[ObjectRef],
    owned: Collection[ObjectRef],
    instance: str,
    namespace: str,
) -> frozenset[ObjectRef]:
    """Return the objects that are named, with their namespaces.

    A named object that no longer exists is ignored: the operation may be a
    retry. Raises RequestInvalid for an object that the instance may not
    delete.

    :param owned: what is about to be deleted.
    :param namespace: of an object that is named without one.
    """
    found = set()
    strangers = []
    for given in sorted(named):
        ref = _placed(cluster, given, namespace)
        if ref in owned:
            found.add(ref)
        elif cluster.get_metadata(ref) is not None:
            strangers.append(ref)
    if strangers:
        raise errors.RequestInvalid(
            "remove_finalizers: "
            + ", ".join(map(str, strangers))
            + f": not an object that the end of {instance} deletes"
        )
    return frozenset(found)


def _placed(cluster: Cluster, ref: ObjectRef, namespace: str) -> ObjectRef:
    try:
        namespaced = cluster.resource(ref.group_kind).namespaced
    except errors.KindNotServed:
        return ref
    if ref.namespace or not namespaced:
        return ref
    return ObjectRef(ref.group, ref.kind, namespace, ref.name)


def remove_finalizers(
    cluster: Cluster,
    going: Mapping[ObjectRef, Manifest],
    named: Collection[ObjectRef],
    manager: str,
    guard: Callable[[], None] = lambda: None,
) -> dict[ObjectRef, tuple[str, ...]]:
    """Remove all finalizers from those of the objects that are named.

    :param going: objects whose deletion is requested and that still exist, as
        the server answered; a recreated object of that name is not changed.

    Returns what was removed.
    """
    return {
        ref: taken
        for ref, obj in sorted(going.items())
        if ref in named
        and (taken := _taken(cluster, ref, objects.uid(obj), manager, guard))
    }


def _taken(
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
        there = tuple(metadata.get("finalizers") or ())
        taken = tuple(name for name in there if name != SERVERS_OWN)
        if not taken or not metadata.get("deletionTimestamp"):
            return ()
        body = {
            "metadata": {
                "uid": uid,
                "resourceVersion": metadata["resourceVersion"],
                "finalizers": [n for n in there if n == SERVERS_OWN] or None,
            }
        }
        guard()
        cluster.patch(ref, body, manager)
        return taken

    taken = retry_on_conflict(remove)
    if taken:
        LOG.warning(
            "%s: finalizers removed, as requested: %s; their controllers may "
            "not have finished the cleanup",
            ref,
            ", ".join(taken),
        )
    return taken
