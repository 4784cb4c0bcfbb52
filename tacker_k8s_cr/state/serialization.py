"""Encode an inventory as text: a small index, and chunks with the rest.

The index lists the chunks. A chunk is named by the hash of its content, so a
part that did not change is not written again.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import json
from typing import Any
import zlib

from tacker_k8s_cr.kinds import policy
from tacker_k8s_cr.kinds.autoscaling import ReplicaLimits
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Healing
from tacker_k8s_cr.plan.journal import Journal
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.state import codec

FORMAT = 1
"""Format of a record. A record of another format is refused."""

CHUNK_BYTES = 480 * 1024
"""Maximum size of a chunk: a Secret may have 1 MiB, a request to etcd 1.5."""


class FormatUnknown(ValueError):
    """An index has a format that this version does not support."""


@dataclasses.dataclass(frozen=True)
class SerializedRecord:
    """An inventory as it is stored: the index, and chunks by name."""

    index: str
    chunks: Mapping[str, bytes]


def _pairs(values: Mapping[ObjectRef, Any]) -> list[Any]:
    """Encode values by object; _by_ref reads the result."""
    return [[*ref, value] for ref, value in values.items()]


def _by_ref(items: Iterable[Any]) -> dict[ObjectRef, Any]:
    return {ObjectRef(*item[:4]): item[4] for item in items}


_PARTS: Mapping[
    str, tuple[Callable[[Inventory], Any], Callable[[Any], list[Any]]]
] = {
    "owned": (
        lambda inventory: inventory.owned,
        _pairs,
    ),
    "manifests": (lambda inventory: inventory.manifests, list),
    "shared": (
        lambda inventory: inventory.shared,
        lambda shared: [list(r) for r in shared],
    ),
    "preexisting": (
        lambda inventory: inventory.preexisting,
        lambda met: [list(r) for r in sorted(met)],
    ),
    "previous.owned": (
        lambda inventory: (
            inventory.previous_package and inventory.previous_package.owned
        ),
        lambda owned: [[*r, uid] for r, uid in (owned or {}).items()],
    ),
    "previous.manifests": (
        lambda inventory: (
            inventory.previous_package and inventory.previous_package.manifests
        ),
        lambda manifests: list(manifests or ()),
    ),
    "previous.shared": (
        lambda inventory: (
            inventory.previous_package and inventory.previous_package.shared
        ),
        lambda shared: [list(r) for r in shared or ()],
    ),
    "previous.preexisting": (
        lambda inventory: (
            inventory.previous_package
            and inventory.previous_package.preexisting
        ),
        lambda met: [list(r) for r in sorted(met or ())],
    ),
    "healing.members": (
        lambda inventory: inventory.healing and inventory.healing.members,
        lambda goers: [codec.encode_member(member) for member in goers or ()],
    ),
    "incoming": (
        lambda inventory: inventory.incoming,
        lambda gifts: list(map(codec.encode_transfer, gifts.items())),
    ),
    "transferredIn": (
        lambda inventory: inventory.transferred_in,
        lambda gifts: list(map(codec.encode_transfer, gifts.items())),
    ),
    "transferredOut": (
        lambda inventory: inventory.transferred_out,
        _pairs,
    ),
    "claimRules": (
        lambda inventory: inventory.claim_rules,
        lambda rules: list(map(codec.encode_claim_rule, rules)),
    ),
    "pending": (
        lambda inventory: inventory.journal.pending,
        lambda pending: [list(r) for r in pending],
    ),
}
"""Parts that may be large and are stored in chunks: reader and encoder."""


def encode(
    inventory: Inventory, last: Inventory | None = None, index: str = ""
) -> SerializedRecord:
    """Encode an inventory; the same inventory always gives the same text.

    :param last: the inventory that was stored before, with this index. A part
        that did not change is not encoded again, and its chunks are omitted:
        they are stored already.
    """
    stored_parts = json.loads(index)["parts"] if last else {}
    chunks: dict[str, bytes] = {}
    parts = {}
    for part, (value_of, encode_value) in _PARTS.items():
        value = value_of(inventory)
        if last and value is value_of(last) and part in stored_parts:
            parts[part] = stored_parts[part]
            continue
        part_chunks = _split(encode_value(value))
        chunks.update(part_chunks)
        parts[part] = list(part_chunks)
    fields = {
        "format": FORMAT,
        **_encode_values(inventory),
        "healing": inventory.healing
        and {
            "allMembers": inventory.healing.all_members,
            "operation": inventory.healing.operation,
        },
        "previous": inventory.previous_package
        and _encode_values(inventory.previous_package),
        "receipts": list(inventory.receipts),
        "operation": inventory.journal.operation,
        "stage": inventory.journal.stage,
        "error": inventory.journal.error,
        "parts": parts,
    }
    return SerializedRecord(_text(fields), chunks)


def _encode_values(inventory: Inventory) -> dict[str, Any]:
    """Return the small values of an instance, for the index."""
    return {
        "instance": inventory.instance,
        "namespace": inventory.namespace,
        **(
            {"record": inventory.separate_record_namespace}
            if inventory.separate_record_namespace
            else {}
        ),
        "phase": inventory.phase.value,
        "digest": inventory.digest,
        "liveNames": [[*r, n] for r, n in inventory.live_names.items()],
        "generated": dict(inventory.generated),
        "vnfd": inventory.vnfd and dataclasses.asdict(inventory.vnfd),
        "vdus": {vdu: list(r) for vdu, r in inventory.vdus.items()},
        "scaleLevels": dict(inventory.scale_levels),
        "replicaOverrides": [
            [*r, n] for r, n in inventory.replica_overrides.items()
        ],
        "scaling": [[*r, n] for r, n in inventory.former_replicas.items()],
        "autoscalerLimits": [
            [*r, [found.minimum, found.maximum]]
            for r, found in inventory.former_limits.items()
        ],
        "machinesToDelete": [
            codec.encode_member(member)
            for member in inventory.machines_to_delete
        ],
        "policy": {}
        if inventory.policy == policy.DEFAULT
        else inventory.policy.as_dict(),
    }


def chunk_names(index: str) -> tuple[str, ...]:
    """Return the names of the chunks of an index. Raises FormatUnknown."""
    parts = _read_index(index)["parts"]
    return tuple(name for names in parts.values() for name in names)


def is_idle(index: str) -> bool:
    """Return whether the index shows no running or interrupted operation."""
    fields = _read_index(index)
    done = fields.get("phase") == Phase.INSTANTIATED.value
    return done and not fields.get("operation")


def digest(ref: ObjectRef) -> str:
    """Return a short hash of an object; an annotation holds thousands."""
    return hashlib.sha256(str(ref).encode()).hexdigest()[:10]


def decode(stored: SerializedRecord) -> Inventory:
    """Decode an inventory. Raises FormatUnknown."""
    index = _read_index(stored.index)

    def part(name: str) -> list[Any]:
        names = index["parts"].get(name)
        if not names:
            return []
        joined = b"".join(stored.chunks[n] for n in names)
        value: list[Any] = json.loads(zlib.decompress(joined))
        return value

    healing = previous = None
    if index["healing"]:
        healing = Healing(
            index["healing"]["allMembers"],
            tuple(map(codec.decode_member, part("healing.members"))),
            index["healing"]["operation"],
        )
    if index["previous"]:
        previous = _decode_values(index["previous"], part, "previous.")
    return dataclasses.replace(
        _decode_values(index, part),
        healing=healing,
        previous_package=previous,
        incoming=dict(map(codec.decode_transfer, part("incoming"))),
        transferred_in=dict(map(codec.decode_transfer, part("transferredIn"))),
        transferred_out=_by_ref(part("transferredOut")),
        receipts=tuple(index["receipts"]),
        claim_rules=tuple(map(codec.decode_claim_rule, part("claimRules"))),
        journal=Journal(
            index["operation"],
            index["stage"],
            tuple(ObjectRef(*item) for item in part("pending")),
            index["error"],
        ),
    )


def _decode_values(
    fields: Mapping[str, Any],
    part: Callable[[str], list[Any]],
    prefix: str = "",
) -> Inventory:
    """Return an instance as it is now, or was before the last change."""

    def refs(name: str) -> Iterator[ObjectRef]:
        return (ObjectRef(*item) for item in part(f"{prefix}{name}"))

    return Inventory(
        instance=fields["instance"],
        namespace=fields["namespace"],
        phase=Phase(fields["phase"]),
        owned=_by_ref(part(f"{prefix}owned")),
        shared=tuple(refs("shared")),
        manifests=tuple(part(f"{prefix}manifests")),
        digest=fields["digest"],
        live_names=_by_ref(fields["liveNames"]),
        generated=fields["generated"],
        vnfd=fields["vnfd"] and codec.decode_vnfd(fields["vnfd"]),
        vdus={vdu: ObjectRef(*item) for vdu, item in fields["vdus"].items()},
        scale_levels=fields["scaleLevels"],
        replica_overrides=_by_ref(fields["replicaOverrides"]),
        former_replicas=_by_ref(fields["scaling"]),
        former_limits={
            ref: ReplicaLimits(*found)
            for ref, found in _by_ref(fields["autoscalerLimits"]).items()
        },
        machines_to_delete=tuple(
            map(codec.decode_member, fields["machinesToDelete"])
        ),
        policy=policy.from_dict(fields["policy"])
        if fields["policy"]
        else policy.DEFAULT,
        preexisting=frozenset(refs("preexisting")),
        separate_record_namespace=fields.get("record", ""),
    )


def _read_index(index: str) -> Any:
    found = json.loads(index)
    if not isinstance(found["format"], int):
        raise TypeError("format")
    if found["format"] != FORMAT:
        raise FormatUnknown(
            f"expected format {FORMAT}, got {found['format']}; use the "
            "version of tacker_k8s_cr that wrote it, or a later one"
        )
    return found


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _split(value: Sequence[Any]) -> dict[str, bytes]:
    if not value:
        return {}
    # Level 3 takes half the time of zlib's default 6; the text of manifests
    # becomes a quarter longer.
    whole = zlib.compress(_text(value).encode(), 3)
    parts = [
        whole[i : i + CHUNK_BYTES] for i in range(0, len(whole), CHUNK_BYTES)
    ]
    return {hashlib.sha256(b).hexdigest()[:16]: b for b in parts}
