"""Other instances: whether they live, and what of ours they use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import ownership
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.recording import stored


def alive(cluster: Cluster, instance: str, elsewhere_than: str = "") -> bool:
    """Whether there is a record of an instance, in any namespace.

    Where we may not list Secrets it counts as alive: an object is never
    taken from an owner on a guess.

    :param elsewhere_than: a namespace that does not count.
    """
    try:
        found = cluster.list_metadata(
            record.SECRET, "", record.selector(instance)
        )
        # A piece without its head is what came after the record was gone.
        return any(
            ref.name == record.NAME + instance
            and ref.namespace != elsewhere_than
            for ref in map(ObjectRef.of, found)
        )
    except errors.Forbidden:
        return True


def ending(cluster: Cluster, instance: str) -> str:
    """Where the record lies of an instance that is being removed, in words.

    With when it was last written: an end that hangs writes nothing. Empty
    for an instance that does not end, as far as is shown.
    """
    try:
        found = cluster.list_metadata(
            record.SECRET, "", record.selector(instance)
        )
        for obj in found:
            if objects.annotation(obj, record.ENDS):
                where = ObjectRef.of(obj).namespace
                written = ownership.written(obj)
                last = f", last written at {written}" if written else ""
                return f"its record is in the namespace {where}{last}"
    except errors.Forbidden:
        pass
    return ""


def homes(cluster: Cluster, instance: str) -> tuple[str, ...]:
    """The namespaces that have a record of an instance.

    None where we may not list Secrets.
    """
    try:
        found = cluster.list_metadata(
            record.SECRET, "", record.selector(instance)
        )
        refs = tuple(map(ObjectRef.of, found))
    except errors.Forbidden:
        return ()
    heads = {r.namespace for r in refs if r.name == record.NAME + instance}
    return tuple(sorted(heads))


def users(
    cluster: Cluster,
    instance: str,
    refs: Collection[ObjectRef],
    home: str = "",
) -> Mapping[ObjectRef, frozenset[str]]:
    """By object of these: the other instances that share it.

    An instance that ends uses nothing any more. Where we may not list the
    Secrets of all namespaces, those are asked in which the objects lie, and
    that of the owner's record.

    :param instance: the owner, whose own record does not count.
    :param home: the namespace of that record.
    """
    if not refs:
        return {}
    found: dict[ObjectRef, set[str]] = defaultdict(set)
    by_digest: dict[str, ObjectRef] = {}
    former = {}
    places = {ref.namespace for ref in refs} | {home}
    for obj in _records(cluster, places - {""}):
        ref = ObjectRef.of(obj)
        other = objects.labels(obj)[record.RECORD]
        if other == instance or ref.name != record.NAME + other:
            continue  # our own, or a piece
        told = objects.annotation(obj, record.SHARES)
        if told is None:
            former[ref] = other
        if told and not by_digest:  # most instances share nothing
            by_digest = {stored.digest(ref): ref for ref in refs}
        for each in by_digest.keys() & (told or "").split():
            found[by_digest[each]].add(other)
    for ref, secret in raised(cluster.each(cluster.get, former)):
        for shared in record.formerly_shared(secret) if secret else ():
            if shared in refs:
                found[shared].add(former[ref])
    return {ref: frozenset(names) for ref, names in found.items()}


def _records(cluster: Cluster, places: Collection[str]) -> list[Manifest]:
    """Metadata of what lies in records, of any instance."""
    try:
        return list(cluster.list_metadata(record.SECRET, "", record.RECORD))
    except errors.Forbidden:
        listed: list[Manifest] = []
        for place in places:
            try:
                listed += cluster.list_metadata(
                    record.SECRET, place, record.RECORD
                )
            except errors.Forbidden:
                continue
    return listed


def used(
    cluster: Cluster,
    instance: str,
    refs: Collection[ObjectRef],
    home: str = "",
) -> dict[ObjectRef, str]:
    """Of these objects, those that others share: by whom, in words."""
    return {
        ref: "used by the instance"
        + ("s " if len(names) > 1 else " ")
        + ", ".join(sorted(names))
        for ref, names in users(cluster, instance, refs, home).items()
    }
