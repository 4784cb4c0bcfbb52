"""Other instances: whether they live, and what of ours they use."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import record
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef


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
        return any(
            ObjectRef.of(obj).namespace != elsewhere_than for obj in found
        )
    except errors.Forbidden:
        return True


def users(
    cluster: Cluster, instance: str, refs: Collection[ObjectRef]
) -> Mapping[ObjectRef, frozenset[str]]:
    """By object of these: the other instances that share it.

    An instance that ends uses nothing any more. Where we may not list the
    Secrets of all namespaces, those are asked in which the objects lie.

    :param instance: the owner, whose own record does not count.

    Raises InstanceExists, naming the other, where a record that tells of
    shared objects cannot be read: they may be any of these.
    """
    if not refs:
        return {}
    heads = {
        ref: objects.annotation(obj, record.SHARES) is not None
        for obj, ref in _records(cluster, refs)
        if ref.name == record.NAME + objects.labels(obj)[record.RECORD]
        and ref.name != record.NAME + instance
        and objects.annotation(obj, record.SHARES) != "0"
    }
    found: dict[ObjectRef, frozenset[str]] = {}
    wanted = frozenset(refs)
    for ref, shared in raised(
        cluster.each(lambda head: _shared(cluster, head, heads[head]), heads)
    ):
        used = wanted.intersection(shared)
        user = ref.name.removeprefix(record.NAME)
        for each in used:
            found[each] = found.get(each, frozenset()) | {user}
    return found


def _records(
    cluster: Cluster, refs: Collection[ObjectRef]
) -> Iterator[tuple[Manifest, ObjectRef]]:
    """Metadata of what lies in records, of any instance."""
    try:
        listed = list(cluster.list_metadata(record.SECRET, "", record.RECORD))
    except errors.Forbidden:
        listed = []
        for place in {ref.namespace for ref in refs if ref.namespace}:
            try:
                listed += cluster.list_metadata(
                    record.SECRET, place, record.RECORD
                )
            except errors.Forbidden:
                continue
    for obj in listed:
        yield obj, ObjectRef.of(obj)


def _shared(
    cluster: Cluster, head: ObjectRef, told: bool
) -> tuple[ObjectRef, ...]:
    """What the instance of this head shares.

    :param told: the head says that it does share something. A former one
        does not say, but has it all itself.
    """
    if not told:
        secret = cluster.get(head)
        return record.formerly_shared(secret) if secret else ()
    instance = head.name.removeprefix(record.NAME)
    entry = record.read(cluster, instance, head.namespace)
    return entry.inventory.shared if entry else ()


def used(
    cluster: Cluster, instance: str, refs: Collection[ObjectRef]
) -> dict[ObjectRef, str]:
    """Of these objects, those that others share: by whom, in words."""
    return {
        ref: "used by the instance"
        + ("s " if len(names) > 1 else " ")
        + ", ".join(sorted(names))
        for ref, names in users(cluster, instance, refs).items()
    }
