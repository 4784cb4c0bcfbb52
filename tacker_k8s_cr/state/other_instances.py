"""Other instances: whether they live, and which shared objects they use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.state import serialization
from tacker_k8s_cr.state import store


def has_record(
    cluster: Cluster, instance: str, elsewhere_than: str = ""
) -> bool:
    """Whether there is a record of an instance, in any namespace.

    Where we may not list Secrets it counts as alive: an object is never
    taken from an owner on a guess.

    :param elsewhere_than: a namespace that does not count.
    """
    try:
        found = cluster.list_metadata(
            store.SECRET, "", store.selector(instance)
        )
        # A chunk without its index was written after the record was deleted.
        return any(
            ref.name == record_names.PREFIX + instance
            and ref.namespace != elsewhere_than
            for ref in map(ObjectRef.of, found)
        )
    except errors.Forbidden:
        return True


def terminating_record(cluster: Cluster, instance: str) -> str:
    """Where the record lies of an instance that is being removed, in words.

    With when it was last written: an end that hangs writes nothing. Empty
    for an instance that does not end, as far as is shown.
    """
    try:
        found = cluster.list_metadata(
            store.SECRET, "", store.selector(instance)
        )
        for obj in found:
            if objects.annotation(obj, store.ENDS):
                where = ObjectRef.of(obj).namespace
                written = ownership.last_write_time(obj)
                last = f", last written at {written}" if written else ""
                return f"its record is in the namespace {where}{last}"
    except errors.Forbidden:
        pass
    return ""


def record_namespaces(cluster: Cluster, instance: str) -> tuple[str, ...]:
    """The namespaces that have a record of an instance.

    None where we may not list Secrets.
    """
    try:
        found = cluster.list_metadata(
            store.SECRET, "", store.selector(instance)
        )
        refs = tuple(map(ObjectRef.of, found))
    except errors.Forbidden:
        return ()
    heads = {
        r.namespace for r in refs if r.name == record_names.PREFIX + instance
    }
    return tuple(sorted(heads))


def sharing_instances(
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
    places = {ref.namespace for ref in refs} | {home}
    for obj in _records(cluster, places - {""}):
        ref = ObjectRef.of(obj)
        other = objects.labels(obj)[record_names.LABEL]
        if other == instance or ref.name != record_names.PREFIX + other:
            continue  # our own, or a piece
        told = objects.annotation(obj, store.SHARES)
        if told and not by_digest:  # most instances share nothing
            by_digest = {serialization.digest(ref): ref for ref in refs}
        for each in by_digest.keys() & (told or "").split():
            found[by_digest[each]].add(other)
    return {ref: frozenset(names) for ref, names in found.items()}


def _records(cluster: Cluster, places: Collection[str]) -> list[Manifest]:
    """Metadata of what lies in records, of any instance."""
    try:
        return list(
            cluster.list_metadata(store.SECRET, "", record_names.LABEL)
        )
    except errors.Forbidden:
        listed: list[Manifest] = []
        for place in places:
            try:
                listed += cluster.list_metadata(
                    store.SECRET, place, record_names.LABEL
                )
            except errors.Forbidden:
                continue
    return listed


def shared_refs(
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
        for ref, names in sharing_instances(
            cluster, instance, refs, home
        ).items()
    }
