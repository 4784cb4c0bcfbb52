"""The Secrets of a record: an index and its chunks, without I/O."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
from typing import Any
import zlib

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.state import serialization as texts

TYPE = objects.PREFIX + "record"
"""Type of the Secrets."""

SHARES = "shares"
"""Annotation on an index: digests of the objects of other owners that the
instance uses."""

TERMINATING = "ends"
"""Annotation on an index: the instance is being terminated."""

SECRET = GroupKind("", "Secret")


def secret_ref(instance: str, namespace: str) -> ObjectRef:
    return ObjectRef("", "Secret", namespace, record_names.PREFIX + instance)


def selector(instance: str) -> str:
    return f"{record_names.LABEL}={instance}"


@dataclasses.dataclass(frozen=True)
class StoredRecord:
    """An inventory, and the index that it was read from.

    :param stored: the inventory in the cluster; the other may be newer.
    :param chunk_uids: UIDs of all existing chunks, including those of an
        interrupted write; None if they were not listed.
    """

    inventory: Inventory
    index: Manifest
    stored: Inventory
    chunk_uids: Mapping[ObjectRef, str] | None = None


def chunk_names(index: Manifest, instance: str) -> tuple[str, ...]:
    with _require_readable(instance):
        return texts.chunk_names(data(index, "head").decode())


def is_idle(index: Manifest) -> bool:
    return texts.is_idle(data(index, "head").decode())


def decode_record(
    instance: str, index: Manifest, secrets: Mapping[str, Manifest]
) -> StoredRecord:
    with _require_readable(instance):
        text = data(index, "head").decode()
        chunks = {name: data(s, "piece") for name, s in secrets.items()}
        inventory = texts.decode(texts.SerializedRecord(text, chunks))
    return StoredRecord(inventory, index, inventory)


@contextlib.contextmanager
def _require_readable(instance: str) -> Iterator[None]:
    """Raise RecordInvalid if what is stored cannot be decoded."""
    try:
        yield
    except texts.FormatUnknown as error:
        reason = str(error)
    except _DECODING_ERRORS as error:
        # Without its message, which may contain what is stored.
        reason = f"it is damaged ({type(error).__name__})"
    else:
        return
    raise errors.RecordInvalid(instance, reason)


_DECODING_ERRORS = (
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    zlib.error,
)


def chunk_ref(index: ObjectRef, name: str) -> ObjectRef:
    return index._replace(name=f"{index.name}.{name}")


def data(secret: Manifest, key: str) -> bytes:
    return base64.b64decode(objects.field(secret, ("data", key), ""))


def index_secret(ref: ObjectRef, text: str, inventory: Inventory) -> Manifest:
    index = create_secret(ref, inventory.instance, "head", text.encode())
    is_terminating = inventory.phase is Phase.TERMINATING
    digests = " ".join(
        map(texts.digest, () if is_terminating else inventory.shared)
    )
    annotations = {
        SHARES: digests,
        **({TERMINATING: "true"} if is_terminating else {}),
    }
    index["metadata"]["annotations"] = {
        objects.PREFIX + name: text for name, text in annotations.items()
    }
    return index


def create_secret(
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
