"""The inventory in the cluster: pieces, and the head that points at them.

The head is the Secret ``tacker-k8s-cr.<instance>``. A piece is a Secret of
that name and its content's hash; it never changes. One write of the head
with the resourceVersion we read moves an instance from one state to the
next, so that no reader ever sees half of a state.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
from typing import Any
import zlib

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Result
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.inventory import Phase
from tacker_k8s_cr.state import serialization as texts

TYPE = objects.PREFIX + "record"
"""Type of the Secrets."""

SHARES = "shares"
"""Annotation on an index: digests of the objects of other owners that the
instance uses."""

ENDS = "ends"
"""Annotation on a head: the instance is being removed."""

SECRET = GroupKind("", "Secret")

UNDO = 10.0
"""Seconds for removing a record that could not be completed."""

ONE_BY_ONE = 3
"""Pieces up to which each is asked for by name, at rest; more: listed."""

READS = 5
"""How often a head may move away while its pieces are read."""


def secret_ref(instance: str, namespace: str) -> ObjectRef:
    return ObjectRef("", "Secret", namespace, record_names.PREFIX + instance)


def selector(instance: str) -> str:
    return f"{record_names.LABEL}={instance}"


# -- Reading and writing -----------------------------------------------------


@dataclasses.dataclass(frozen=True)
class StoredRecord:
    """An inventory, and the version of the head it was in when read.

    :param stored: what lies in the cluster; the inventory may be ahead.
    :param pieces: UIDs of all pieces that are there, also of those that a
        writer left who died; None where they were not listed.
    """

    inventory: Inventory
    head: Manifest
    stored: Inventory
    pieces: Mapping[ObjectRef, str] | None = None


def read(
    cluster: Cluster, instance: str, namespace: str
) -> StoredRecord | None:
    """The instance's inventory; None when there is no record of it."""
    ref = secret_ref(instance, namespace)
    for _ in range(READS):
        head = cluster.get(ref)
        if head is None:
            return None
        names = _named(head, instance)
        # Who died may have left pieces that no head names.
        listing = len(names) > ONE_BY_ONE or not _is_at_rest(head)
        if listing and (found := _listed(cluster, head, instance)):
            return found
        secrets = _all(
            cluster, lambda name: cluster.get(_piece_ref(ref, name)), names
        )
        there = {n: s for n, s in secrets.items() if s}
        if len(there) == len(secrets):
            return _entry(instance, head, there)
    raise errors.RecordInvalid(instance, f"{ref} is incomplete")


def _listed(
    cluster: Cluster, head: Manifest, instance: str
) -> StoredRecord | None:
    """Read a record by one list; None if that does not show all of it.

    A list is of one moment, so its head and its pieces belong together.
    A list older than the head that was read is not used.
    """
    ref = ObjectRef.of(head)
    try:
        secrets = {
            ObjectRef.of(obj): obj
            for obj in cluster.list_objects(
                SECRET, ref.namespace, selector(instance)
            )
        }
    except errors.Forbidden:
        return None
    listed = secrets.pop(ref, head)
    if objects.is_before(listed, objects.version(head)):
        return None
    head = listed
    names = {_piece_ref(ref, name): name for name in _named(head, instance)}
    if not secrets.keys() >= names.keys():
        return None
    named = {name: secrets[piece] for piece, name in names.items()}
    uids = {piece: objects.uid(obj) for piece, obj in secrets.items()}
    entry = _entry(instance, head, named)
    return dataclasses.replace(entry, pieces=uids)


def _named(head: Manifest, instance: str) -> tuple[str, ...]:
    with _readable(instance):
        return texts.chunk_names(_data(head, "head").decode())


def _is_at_rest(head: Manifest) -> bool:
    return texts.is_at_rest(_data(head, "head").decode())


def _entry(
    instance: str, head: Manifest, secrets: Mapping[str, Manifest]
) -> StoredRecord:
    with _readable(instance):
        text = _data(head, "head").decode()
        pieces = {name: _data(s, "piece") for name, s in secrets.items()}
        found = texts.load(texts.SerializedRecord(text, pieces))
    return StoredRecord(found, head, found)


@contextlib.contextmanager
def _readable(instance: str) -> Iterator[None]:
    """Raise RecordInvalid if what is stored cannot be decoded."""
    try:
        yield
    except texts.FormatUnknown as error:
        why = str(error)
    except _BROKEN as error:
        # Without its words: they may quote what is stored.
        why = f"it is damaged ({type(error).__name__})"
    else:
        return
    raise errors.RecordInvalid(instance, why)


_BROKEN = (AttributeError, LookupError, TypeError, ValueError, zlib.error)


def write(
    cluster: Cluster, inventory: Inventory, entry: StoredRecord | None
) -> StoredRecord:
    """Store the inventory to replace the entry; None for a new one.

    Raises Conflict when another client wrote the record since it was read. A
    new record that cannot be completed is deleted again.
    """
    if entry is not None:
        return _moved(cluster, inventory, entry)
    # The index first, if an empty one: after a crash, chunks without an index
    # could not be found.
    empty = Inventory(
        inventory.instance,
        inventory.namespace,
        separate_record_namespace=inventory.separate_record_namespace,
    )
    ref = secret_ref(inventory.instance, inventory.record_namespace)
    head = _head(ref, texts.store(empty).head, empty)
    manager = objects.MANAGER + inventory.instance
    entry = StoredRecord(empty, cluster.create(head, manager), empty)
    try:
        return _moved(cluster, inventory, entry)
    except errors.Conflict:
        raise  # It has another owner now.
    except errors.ClusterError:
        brief = cluster.with_deadline(Deadline.after(UNDO))
        with contextlib.suppress(Error):
            for name in texts.store(inventory).pieces:
                delete_record_object(brief, _piece_ref(ref, name))
            brief.delete(ref, objects.uid(entry.head))
        raise


def _moved(
    cluster: Cluster,
    inventory: Inventory,
    entry: StoredRecord,
    last: bool = False,
) -> StoredRecord:
    """Write the next state; delete chunks that the index no longer names.

    :param last: no state follows, so that every chunk is deleted.
    """
    manager = objects.MANAGER + inventory.instance
    ref = ObjectRef.of(entry.head)
    former = _data(entry.head, "head").decode()
    stored = texts.store(inventory, entry.stored, former)
    before = set(texts.chunk_names(former))
    named = set(texts.chunk_names(stored.head))

    def add(name: str) -> str:
        piece = _secret(
            _piece_ref(ref, name),
            inventory.instance,
            "piece",
            stored.pieces[name],
        )
        with contextlib.suppress(errors.Conflict):  # it has that content
            return objects.uid(cluster.create(piece, manager))
        return ""

    added = _all(cluster, add, stored.pieces.keys() - before)
    head = _head(ref, stored.head, inventory)
    kept = {k: entry.head["metadata"][k] for k in ("uid", "resourceVersion")}
    written = cluster.replace(
        {**head, "metadata": {**head["metadata"], **kept}}, manager
    )
    known = entry.pieces
    if known is not None and not last:
        new = {_piece_ref(ref, name): uid for name, uid in added.items()}
        known = {**known, **{piece: u for piece, u in new.items() if u}}
        staying = {_piece_ref(ref, name) for name in named}
        _delete(cluster, {p: u for p, u in known.items() if p not in staying})
        known = {p: u for p, u in known.items() if p in staying}
    elif last or before - named:
        _drop(cluster, ref, inventory.instance, named, before)
    return StoredRecord(inventory, written, inventory, known)


def _drop(
    cluster: Cluster,
    head: ObjectRef,
    instance: str,
    named: Collection[str],
    before: Collection[str],
) -> None:
    """Remove the pieces that the head does not name.

    With them go those of a writer who died before it could move the head to
    them, or could remove those before. Who may not list Secrets leaves
    these until it may. A piece that the head named is deleted even if the
    list, being older, does not contain it.

    :param before: pieces that the head named until now.
    """
    staying = {_piece_ref(head, name) for name in named}
    former = {_piece_ref(head, name) for name in set(before).difference(named)}
    listed: dict[ObjectRef, str] = {}
    with contextlib.suppress(errors.Forbidden):
        listed = {
            ObjectRef.of(obj): objects.uid(obj)
            for obj in cluster.list_metadata(
                SECRET, head.namespace, selector(instance)
            )
        }
    doomed = listed.keys() - staying - {head}
    _delete(cluster, {ref: listed[ref] for ref in doomed})
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
    entry = _moved(cluster, inventory, entry, last=True)
    cluster.delete(ObjectRef.of(entry.head), objects.uid(entry.head))


def _all(
    cluster: Cluster, do: Callable[[str], Result], names: Iterable[str]
) -> dict[str, Result]:
    """Do it for all of the pieces, in parallel."""
    return dict(results_or_raise(cluster.map_parallel(do, sorted(set(names)))))


def _piece_ref(head: ObjectRef, name: str) -> ObjectRef:
    return head._replace(name=f"{head.name}.{name}")


def _data(secret: Manifest, key: str) -> bytes:
    return base64.b64decode(objects.field(secret, ("data", key), ""))


def _head(ref: ObjectRef, text: str, inventory: Inventory) -> Manifest:
    head = _secret(ref, inventory.instance, "head", text.encode())
    ends = inventory.phase is Phase.TERMINATING
    told = " ".join(map(texts.digest, () if ends else inventory.shared))
    said = {SHARES: told, **({ENDS: "true"} if ends else {})}
    head["metadata"]["annotations"] = {
        objects.PREFIX + name: text for name, text in said.items()
    }
    return head


def _secret(
    ref: ObjectRef, instance: str, key: str, content: bytes
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": ref.name,
            "namespace": ref.namespace,
            "labels": {record_names.LABEL: instance},
        },
        "type": TYPE,
        "data": {key: base64.b64encode(content).decode()},
    }


def delete_record_object(cluster: Cluster, ref: ObjectRef) -> None:
    """Remove an object of the record, whatever its UID."""
    metadata = cluster.get_metadata(ref)
    if metadata:
        cluster.delete(ref, objects.uid(metadata))
