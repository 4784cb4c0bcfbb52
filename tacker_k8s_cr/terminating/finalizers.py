"""Take finalizers off objects of an instance, where that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import logging

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef

LOG = logging.getLogger(__name__)

SERVERS_OWN = "customresourcecleanup.apiextensions.k8s.io"
"""Of a definition: without it what was stored would be there again with the
next definition of the kind, and nobody could delete it until then."""

TRIES = 5
"""Writes of one object, where its controllers write it at the same time."""


def checked(
    cluster: Cluster,
    named: Iterable[ObjectRef],
    owned: Collection[ObjectRef],
    instance: str,
    namespace: str,
) -> frozenset[ObjectRef]:
    """The objects that are named, with their namespaces.

    One that is not there any more is no error: the operation may be tried
    again. Raises RequestInvalid for one that is not the instance's to
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
    except errors.KindUnknown:
        return ref
    if ref.namespace or not namespaced:
        return ref
    return ObjectRef(ref.group, ref.kind, namespace, ref.name)


def removed(
    cluster: Cluster,
    going: Mapping[ObjectRef, Manifest],
    named: Collection[ObjectRef],
    manager: str,
    guard: Callable[[], None] = lambda: None,
) -> dict[ObjectRef, tuple[str, ...]]:
    """Take all finalizers off those of the objects that are named.

    :param going: objects that were asked to go and are still there, as the
        server answered; another of the name is not touched.

    Returns what was taken off.
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
    for number in range(TRIES):
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
        try:
            cluster.patch(ref, body, manager)
        except errors.Outdated:
            if number == TRIES - 1:
                raise
            continue
        LOG.warning(
            "%s: finalizers removed, as asked for: %s; what their "
            "controllers had yet to clean up may be left behind",
            ref,
            ", ".join(taken),
        )
        return taken
    return ()
