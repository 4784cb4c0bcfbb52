"""An inventory as text: a small head, and pieces with the rest.

The head says in which pieces the rest lies. A piece is named by its content,
so that a part that did not change is not written again.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import json
from typing import Any
import zlib

from tacker_k8s_cr import policy
from tacker_k8s_cr.inventory import Healing
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Journal
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.scaling import Bounds
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import plain

FORMAT = 4
"""Of what is stored. A reader refuses a higher one."""

USUAL = 3
"""Of what is stored where nothing was taken from another instance."""

PIECE = 480 * 1024
"""Bytes of a piece at most: a Secret may hold 1 MiB, etcd's request 1.5."""


class FormatUnknown(ValueError):
    """A head that a later version wrote."""


@dataclasses.dataclass(frozen=True)
class Stored:
    """An inventory as it is stored: the head, and pieces by their name."""

    head: str
    pieces: Mapping[str, bytes]


_PARTS: Mapping[
    str, tuple[Callable[[Inventory], Any], Callable[[Any], list[Any]]]
] = {
    "owned": (
        lambda inventory: inventory.owned,
        plain.pairs,
    ),
    "manifests": (lambda inventory: inventory.manifests, list),
    "shared": (
        lambda inventory: inventory.shared,
        lambda shared: [plain.of_ref(r) for r in shared],
    ),
    "met": (
        lambda inventory: inventory.met,
        lambda met: [plain.of_ref(r) for r in sorted(met)],
    ),
    "before.owned": (
        lambda inventory: inventory.before and inventory.before.owned,
        lambda owned: [
            [*plain.of_ref(r), uid] for r, uid in (owned or {}).items()
        ],
    ),
    "before.manifests": (
        lambda inventory: inventory.before and inventory.before.manifests,
        lambda manifests: list(manifests or ()),
    ),
    "before.shared": (
        lambda inventory: inventory.before and inventory.before.shared,
        lambda shared: [plain.of_ref(r) for r in shared or ()],
    ),
    "before.met": (
        lambda inventory: inventory.before and inventory.before.met,
        lambda met: [plain.of_ref(r) for r in sorted(met or ())],
    ),
    "goers": (
        lambda inventory: inventory.healing and inventory.healing.goers,
        lambda goers: [plain.of_goer(goer) for goer in goers or ()],
    ),
    "taking": (
        lambda inventory: inventory.taking,
        lambda gifts: list(map(plain.of_gift, gifts.items())),
    ),
    "taken": (
        lambda inventory: inventory.taken,
        lambda gifts: list(map(plain.of_gift, gifts.items())),
    ),
    "given": (
        lambda inventory: inventory.given,
        plain.pairs,
    ),
    "claimRules": (
        lambda inventory: inventory.claim_rules,
        lambda rules: list(map(plain.of_rule, rules)),
    ),
    "pending": (
        lambda inventory: inventory.journal.pending,
        lambda pending: [plain.of_ref(r) for r in pending],
    ),
}
"""What may be large, and lies in pieces: where it is, and as plain values."""


def store(
    inventory: Inventory, last: Inventory | None = None, head: str = ""
) -> Stored:
    """The text of an inventory; the same inventory gives the same text.

    :param last: the inventory that was stored before, with this head. A
        part of it that is still in the new one is not written as text
        again, and its pieces are left out: they are there.
    """
    known = json.loads(head)["parts"] if last else {}
    pieces: dict[str, bytes] = {}
    parts = {}
    for part, (value_of, told) in _PARTS.items():
        value = value_of(inventory)
        if last and value is value_of(last) and part in known:
            parts[part] = known[part]
            continue
        cut = _cut(told(value))
        pieces.update(cut)
        parts[part] = list(cut)
    gifts = inventory.taking or inventory.taken or inventory.given
    fields = {
        "format": FORMAT if gifts else USUAL,
        **_plain(inventory),
        "healing": inventory.healing and inventory.healing.everything,
        "healingOf": inventory.healing and inventory.healing.operation,
        "before": inventory.before and _plain(inventory.before),
        "receipts": list(inventory.receipts),
        "operation": inventory.journal.operation,
        "stage": inventory.journal.stage,
        "error": inventory.journal.error,
        "parts": parts,
    }
    return Stored(_text(fields), pieces)


def _plain(inventory: Inventory) -> dict[str, Any]:
    """What is small, of an instance now or before."""
    return {
        "instance": inventory.instance,
        "namespace": inventory.namespace,
        **({"record": inventory.record} if inventory.record else {}),
        "phase": inventory.phase.value,
        "digest": inventory.digest,
        "liveNames": [
            [*plain.of_ref(r), n] for r, n in inventory.live_names.items()
        ],
        "generated": dict(inventory.generated),
        "vnfd": inventory.vnfd and dataclasses.asdict(inventory.vnfd),
        "vdus": {vdu: plain.of_ref(r) for vdu, r in inventory.vdus.items()},
        "scaleLevels": dict(inventory.scale_levels),
        "numbers": [
            [*plain.of_ref(r), n] for r, n in inventory.numbers.items()
        ],
        "scaling": [
            [*plain.of_ref(r), n] for r, n in inventory.scaling.items()
        ],
        "bounds": [
            [*plain.of_ref(r), [found.least, found.most]]
            for r, found in inventory.bounds.items()
        ],
        "leaving": [plain.of_goer(goer) for goer in inventory.leaving],
        "policy": inventory.policy.as_dict(),
    }


def pieces_of(head: str) -> tuple[str, ...]:
    """Names of the pieces that a head refers to. Raises FormatUnknown."""
    parts = _fields(head)["parts"]
    return tuple(name for names in parts.values() for name in names)


def is_at_rest(head: str) -> bool:
    """Return whether no operation runs, by a head, or has died."""
    fields = _fields(head)
    done = fields.get("phase") == Phase.INSTANTIATED.value
    return done and not fields.get("operation")


def digest(ref: ObjectRef) -> str:
    """A short name of an object: some thousand fit into an annotation."""
    return hashlib.sha256(str(ref).encode()).hexdigest()[:10]


def formerly_shared(head: str) -> tuple[ObjectRef, ...]:
    """What is shared, of a head of format 2 or lower."""
    return tuple(ObjectRef(*item) for item in _fields(head)["shared"])


def load(stored: Stored) -> Inventory:
    """The inventory of a text. Raises FormatUnknown."""
    head = _fields(stored.head)

    def part(name: str) -> list[Any]:
        names = head["parts"].get(name)
        if not names:
            return []
        joined = b"".join(stored.pieces[n] for n in names)
        value: list[Any] = json.loads(zlib.decompress(joined))
        return value

    healing = before = None
    if head.get("healing") is not None:
        healing = Healing(
            head["healing"],
            tuple(map(plain.goer, part("goers"))),
            head.get("healingOf") or "",
        )
    if head.get("before"):
        before = _told(head["before"], part, "before.")
    return dataclasses.replace(
        _told(head, part),
        healing=healing,
        before=before,
        taking=dict(map(plain.gift, part("taking"))),
        taken=dict(map(plain.gift, part("taken"))),
        given=plain.by_ref(part("given")),
        receipts=tuple(head["receipts"]),
        claim_rules=tuple(map(plain.rule, part("claimRules"))),
        journal=Journal(
            head["operation"],
            head["stage"],
            tuple(ObjectRef(*item) for item in part("pending")),
            head["error"],
        ),
    )


def _told(
    fields: Mapping[str, Any],
    part: Callable[[str], list[Any]],
    which: str = "",
) -> Inventory:
    """An instance now or before.

    Format 1 knew no policy and no numbers; until format 2 the head held
    what was shared or met.
    """

    def refs(name: str) -> Iterator[ObjectRef]:
        listed = fields.get(name) or part(f"{which}{name}")
        return (ObjectRef(*item) for item in listed)

    return Inventory(
        instance=fields["instance"],
        namespace=fields["namespace"],
        phase=Phase(fields["phase"]),
        owned=plain.by_ref(part(f"{which}owned")),
        shared=tuple(refs("shared")),
        manifests=tuple(part(f"{which}manifests")),
        digest=fields.get("digest", ""),
        live_names=plain.by_ref(fields["liveNames"]),
        generated=fields.get("generated", {}),
        vnfd=fields["vnfd"] and plain.vnfd(fields["vnfd"]),
        vdus={vdu: ObjectRef(*item) for vdu, item in fields["vdus"].items()},
        scale_levels=fields["scaleLevels"],
        numbers=plain.by_ref(fields.get("numbers", ())),
        scaling=plain.by_ref(fields.get("scaling", ())),
        bounds={
            ref: Bounds(*found)
            for ref, found in plain.by_ref(fields.get("bounds", ())).items()
        },
        leaving=tuple(map(plain.goer, fields.get("leaving", ()))),
        policy=policy.of(fields.get("policy", {})),
        met=frozenset(refs("met")),
        record=fields.get("record", ""),
    )


def _fields(head: str) -> Any:
    found = json.loads(head)
    if found["format"] > FORMAT:
        raise FormatUnknown(
            f"the record has format {found['format']}, and this version "
            f"reads {FORMAT} and lower"
        )
    return found


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _cut(value: Sequence[Any]) -> dict[str, bytes]:
    if not value:
        return {}
    # Level 3 takes half the time of zlib's usual 6; the text of manifests
    # gets a quarter longer.
    whole = zlib.compress(_text(value).encode(), 3)
    cut = [whole[i : i + PIECE] for i in range(0, len(whole), PIECE)]
    return {hashlib.sha256(b).hexdigest()[:16]: b for b in cut}
