"""Store the inventory in the cluster: an index Secret and its chunks.

The index is the Secret ``tacker-k8s-cr.<instance>``. A chunk is a Secret with
that name and the hash of its content; it never changes. One write of the
index with the resourceVersion that was read replaces the whole state, so that
no reader ever sees half of a state.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Result
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.state import record_secrets
from tacker_k8s_cr.state import serialization as texts
from tacker_k8s_cr.state.record_secrets import StoredRecord

UNDO_SECONDS = 10.0
"""Seconds for deleting a record that could not be completed."""

ONE_BY_ONE = 3
"""Up to this many chunks of an idle instance are read by name; more are
listed."""

READS = 5
"""Attempts to read a record that changes while its chunks are read."""


def read(
    cluster: Cluster, instance: str, namespace: str
) -> StoredRecord | None:
    """Return the instance's inventory; None if it has no record."""
    ref = record_secrets.secret_ref(instance, namespace)
    for _ in range(READS):
        index = cluster.get(ref)
        if index is None:
            return None
        names = record_secrets.chunk_names(index, instance)
        # An interrupted write may have left chunks that no index names.
        listing = len(names) > ONE_BY_ONE or not record_secrets.is_idle(index)
        if listing and (found := _read_by_list(cluster, index, instance)):
            return found
        secrets = _map_chunks(
            cluster,
            lambda name: cluster.get(record_secrets.chunk_ref(ref, name)),
            names,
        )
        existing = {n: s for n, s in secrets.items() if s}
        if len(existing) == len(secrets):
            return record_secrets.decode_record(instance, index, existing)
    raise errors.RecordInvalid(instance, f"{ref} is incomplete")


def _read_by_list(
    cluster: Cluster, index: Manifest, instance: str
) -> StoredRecord | None:
    """Read a record by one list; None if that does not contain all of it.

    A list is of one moment, so its index and its chunks belong together.
    A list older than the index that was read is not used.
    """
    ref = ObjectRef.of(index)
    try:
        secrets = {
            ObjectRef.of(obj): obj
            for obj in cluster.list_objects(
                record_secrets.SECRET,
                ref.namespace,
                record_secrets.selector(instance),
            )
        }
    except errors.Forbidden:
        return None
    listed = secrets.pop(ref, index)
    if objects.is_before(listed, objects.resource_version(index)):
        return None
    index = listed
    names = {
        record_secrets.chunk_ref(ref, name): name
        for name in record_secrets.chunk_names(index, instance)
    }
    if not secrets.keys() >= names.keys():
        return None
    chunks = {name: secrets[chunk] for chunk, name in names.items()}
    uids = {chunk: objects.uid(obj) for chunk, obj in secrets.items()}
    entry = record_secrets.decode_record(instance, index, chunks)
    return dataclasses.replace(entry, chunk_uids=uids)


def write(
    cluster: Cluster, inventory: Inventory, entry: StoredRecord | None
) -> StoredRecord:
    """Store the inventory to replace the entry; None for a new one.

    Raises Conflict when another client wrote the record since it was read. A
    new record that cannot be completed is deleted again.
    """
    if entry is not None:
        return _write_next(cluster, inventory, entry)
    # The index first, if an empty one: after a crash, chunks without an index
    # could not be found.
    empty = Inventory(
        inventory.instance,
        inventory.namespace,
        separate_record_namespace=inventory.separate_record_namespace,
    )
    ref = record_secrets.secret_ref(
        inventory.instance, inventory.record_namespace
    )
    index = record_secrets.index_secret(ref, texts.encode(empty).index, empty)
    manager = objects.MANAGER + inventory.instance
    entry = StoredRecord(empty, cluster.create(index, manager), empty)
    try:
        return _write_next(cluster, inventory, entry)
    except errors.Conflict:
        raise  # It has another owner now.
    except errors.ClusterError:
        limited = cluster.with_deadline(Deadline.after(UNDO_SECONDS))
        with contextlib.suppress(Error):
            for name in texts.encode(inventory).chunks:
                delete_record_object(
                    limited, record_secrets.chunk_ref(ref, name)
                )
            limited.delete(ref, objects.uid(entry.index))
        raise


def _write_next(
    cluster: Cluster,
    inventory: Inventory,
    entry: StoredRecord,
    last: bool = False,
) -> StoredRecord:
    """Write the next state; delete chunks that the index no longer names.

    :param last: no state follows, so that every chunk is deleted.
    """
    manager = objects.MANAGER + inventory.instance
    ref = ObjectRef.of(entry.index)
    former_index = record_secrets.data(entry.index, "head").decode()
    stored = texts.encode(inventory, entry.stored, former_index)
    before = set(texts.chunk_names(former_index))
    chunk_names = set(texts.chunk_names(stored.index))

    def add(name: str) -> str:
        chunk = record_secrets.create_secret(
            record_secrets.chunk_ref(ref, name),
            inventory.instance,
            "piece",
            stored.chunks[name],
        )
        with contextlib.suppress(errors.Conflict):  # it has that content
            return objects.uid(cluster.create(chunk, manager))
        return ""

    added = _map_chunks(cluster, add, stored.chunks.keys() - before)
    index = record_secrets.index_secret(ref, stored.index, inventory)
    identity = {
        k: entry.index["metadata"][k] for k in ("uid", "resourceVersion")
    }
    written = cluster.replace(
        {**index, "metadata": {**index["metadata"], **identity}}, manager
    )
    chunk_uids = entry.chunk_uids
    if chunk_uids is not None and not last:
        new = {
            record_secrets.chunk_ref(ref, name): uid
            for name, uid in added.items()
        }
        chunk_uids = {
            **chunk_uids,
            **{chunk: u for chunk, u in new.items() if u},
        }
        used = {record_secrets.chunk_ref(ref, name) for name in chunk_names}
        _delete(
            cluster, {p: u for p, u in chunk_uids.items() if p not in used}
        )
        chunk_uids = {p: u for p, u in chunk_uids.items() if p in used}
    elif last or before - chunk_names:
        _delete_unused_chunks(
            cluster, ref, inventory.instance, chunk_names, before
        )
    return StoredRecord(inventory, written, inventory, chunk_uids)


def _delete_unused_chunks(
    cluster: Cluster,
    index: ObjectRef,
    instance: str,
    chunk_names: Collection[str],
    before: Collection[str],
) -> None:
    """Delete the chunks that the index does not name.

    That includes chunks of a write that was interrupted before or after it
    replaced the index. Where listing Secrets is forbidden, those remain. A
    chunk that the index named is deleted even if the list, being older, does
    not contain it.

    :param before: chunks that the index named until now.
    """
    used = {record_secrets.chunk_ref(index, name) for name in chunk_names}
    former = {
        record_secrets.chunk_ref(index, name)
        for name in set(before).difference(chunk_names)
    }
    listed: dict[ObjectRef, str] = {}
    with contextlib.suppress(errors.Forbidden):
        listed = {
            ObjectRef.of(obj): objects.uid(obj)
            for obj in cluster.list_metadata(
                record_secrets.SECRET,
                index.namespace,
                record_secrets.selector(instance),
            )
        }
    unused = listed.keys() - used - {index}
    _delete(cluster, {ref: listed[ref] for ref in unused})
    unlisted = sorted(former - listed.keys())
    for _ in results_or_raise(
        cluster.map_parallel(
            lambda ref: delete_record_object(cluster, ref), unlisted
        )
    ):
        pass


def _delete(cluster: Cluster, uids: Mapping[ObjectRef, str]) -> None:
    for _ in results_or_raise(
        cluster.map_parallel(lambda ref: cluster.delete(ref, uids[ref]), uids)
    ):
        pass


def delete_record(cluster: Cluster, entry: StoredRecord) -> None:
    """Delete the record; the index last, so that no chunk is left without it.

    It is emptied first: an operation after a crash can still read it.
    """
    former = entry.inventory
    inventory = Inventory(
        former.instance,
        former.namespace,
        Phase.TERMINATING,
        separate_record_namespace=former.separate_record_namespace,
    )
    entry = _write_next(cluster, inventory, entry, last=True)
    cluster.delete(ObjectRef.of(entry.index), objects.uid(entry.index))


def _map_chunks(
    cluster: Cluster, do: Callable[[str], Result], names: Iterable[str]
) -> dict[str, Result]:
    """Call a function for all chunks, in parallel."""
    return dict(results_or_raise(cluster.map_parallel(do, sorted(set(names)))))


def delete_record_object(cluster: Cluster, ref: ObjectRef) -> None:
    """Delete an object of the record, whatever its UID."""
    metadata = cluster.get_metadata(ref)
    if metadata:
        cluster.delete(ref, objects.uid(metadata))
