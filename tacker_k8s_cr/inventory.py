"""What an instance owns, and the journal of its operations, as values."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
import hashlib
import json
import re
from typing import Any
import zlib

from tacker_k8s_cr.errors import RequestInvalid
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package import model

FORMAT = 1
"""Of what is stored. A reader refuses a higher one."""

PIECE = 480 * 1024
"""Bytes of a piece at most: a Secret may hold 1 MiB, etcd's request 1.5."""


_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")


def checked_name(instance: str) -> str:
    """The name of an instance, if it can be one. Raises RequestInvalid.

    It becomes the value of a label and part of the names of Secrets.
    """
    if len(instance) > 63:
        raise RequestInvalid(
            f"instance {instance!r}: the name has {len(instance)} characters, "
            "and at most 63 are possible"
        )
    if not _NAME.fullmatch(instance):
        raise RequestInvalid(
            f"instance {instance!r}: a name is made of lower case letters, "
            "digits, '-' and '.', with a letter or digit at both ends and on "
            "both sides of each '.'"
        )
    return instance


class Phase(enum.Enum):
    """Where an instance is in its life; what runs, or ran and ended early."""

    INSTANTIATING = "instantiating"
    INSTANTIATED = "instantiated"
    SCALING = "scaling"
    CHANGING = "changing"
    ENDING = "ending"


@dataclasses.dataclass(frozen=True)
class Journal:
    """What the running operation is about to do, written before it does.

    :param pending: objects that the stage may write. After a crash these,
        and only these, may be there without being owned.
    :param error: why the operation ended early; empty while it runs, and
        after one that was killed.
    """

    operation: str = ""
    stage: str = ""
    pending: tuple[ObjectRef, ...] = ()
    error: str = ""


@dataclasses.dataclass(frozen=True)
class Inventory:
    """All that is known of an instance. It lies in the cluster, as record.

    :param namespace: where objects go whose manifest names none.
    :param owned: the UID of every object that the instance owns.
    :param shared: objects that the instance uses and others own.
    :param manifests: last applied in full, as the package names them.
    :param before: the manifests that the running change replaces.
    :param live_names: names in the cluster of objects that go by another
        name there than the package gives them (rotated templates).
    :param vdus: the object that bears the number of each VDU.
    :param scale_levels: the level of each scaling aspect.
    :param receipts: what was delivered to whom; no credential in it.
    """

    instance: str
    namespace: str
    phase: Phase = Phase.INSTANTIATING
    owned: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)
    shared: tuple[ObjectRef, ...] = ()
    manifests: tuple[Manifest, ...] = ()
    before: tuple[Manifest, ...] = ()
    live_names: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )
    vnfd: model.Vnfd | None = None
    vdus: Mapping[str, ObjectRef] = dataclasses.field(default_factory=dict)
    scale_levels: Mapping[str, int] = dataclasses.field(default_factory=dict)
    receipts: tuple[Mapping[str, Any], ...] = ()
    journal: Journal = Journal()

    def owning(self, found: Mapping[ObjectRef, str]) -> Inventory:
        """With these objects owned as well."""
        return dataclasses.replace(self, owned={**self.owned, **found})

    def without(self, refs: Iterable[ObjectRef]) -> Inventory:
        """With these objects no longer owned."""
        gone = set(refs)
        kept = {r: u for r, u in self.owned.items() if r not in gone}
        return dataclasses.replace(self, owned=kept)

    def entering(
        self, operation: str, stage: str, pending: Iterable[ObjectRef]
    ) -> Inventory:
        """With the journal of a stage that is about to begin."""
        journal = Journal(operation, stage, tuple(pending))
        return dataclasses.replace(self, journal=journal)


# -- As text -----------------------------------------------------------------
#
# The head is small and says in which pieces the rest lies. A piece is named
# by its content, so that a part that did not change is not written again.


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
        lambda owned: [[*_ref(r), uid] for r, uid in owned.items()],
    ),
    "manifests": (lambda inventory: inventory.manifests, list),
    "before": (lambda inventory: inventory.before, list),
    "pending": (
        lambda inventory: inventory.journal.pending,
        lambda pending: [_ref(r) for r in pending],
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
    for part, (value_of, plain) in _PARTS.items():
        value = value_of(inventory)
        if last and value is value_of(last):
            parts[part] = known[part]
            continue
        cut = _cut(plain(value))
        pieces.update(cut)
        parts[part] = list(cut)
    fields = {
        "format": FORMAT,
        "instance": inventory.instance,
        "namespace": inventory.namespace,
        "phase": inventory.phase.value,
        "shared": [_ref(r) for r in inventory.shared],
        "liveNames": [[*_ref(r), n] for r, n in inventory.live_names.items()],
        "vnfd": inventory.vnfd and dataclasses.asdict(inventory.vnfd),
        "vdus": {vdu: _ref(r) for vdu, r in inventory.vdus.items()},
        "scaleLevels": dict(inventory.scale_levels),
        "receipts": list(inventory.receipts),
        "operation": inventory.journal.operation,
        "stage": inventory.journal.stage,
        "error": inventory.journal.error,
        "parts": parts,
    }
    return Stored(_text(fields), pieces)


def pieces_of(head: str) -> tuple[str, ...]:
    """Names of the pieces that a head refers to. Raises FormatUnknown."""
    parts = _fields(head)["parts"]
    return tuple(name for names in parts.values() for name in names)


def load(stored: Stored) -> Inventory:
    """The inventory of a text. Raises FormatUnknown."""
    head = _fields(stored.head)

    def part(name: str) -> list[Any]:
        names = head["parts"][name]
        if not names:
            return []
        joined = b"".join(stored.pieces[n] for n in names)
        value: list[Any] = json.loads(zlib.decompress(joined))
        return value

    return Inventory(
        instance=head["instance"],
        namespace=head["namespace"],
        phase=Phase(head["phase"]),
        owned={ObjectRef(*item[:4]): item[4] for item in part("owned")},
        shared=tuple(ObjectRef(*item) for item in head["shared"]),
        manifests=tuple(part("manifests")),
        before=tuple(part("before")),
        live_names={
            ObjectRef(*item[:4]): item[4] for item in head["liveNames"]
        },
        vnfd=head["vnfd"] and _vnfd(head["vnfd"]),
        vdus={vdu: ObjectRef(*item) for vdu, item in head["vdus"].items()},
        scale_levels=head["scaleLevels"],
        receipts=tuple(head["receipts"]),
        journal=Journal(
            head["operation"],
            head["stage"],
            tuple(ObjectRef(*item) for item in part("pending")),
            head["error"],
        ),
    )


def _fields(head: str) -> Any:
    found = json.loads(head)
    if found["format"] > FORMAT:
        raise FormatUnknown(
            f"the record has format {found['format']}, and this version "
            f"reads {FORMAT} and lower"
        )
    return found


def _ref(ref: ObjectRef) -> list[str]:
    return [ref.group, ref.kind, ref.namespace, ref.name]


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


def _vnfd(value: Mapping[str, Any]) -> model.Vnfd:
    return model.Vnfd(
        **{
            **value,
            "vdus": {k: model.Vdu(**v) for k, v in value["vdus"].items()},
            "aspects": {
                k: model.Aspect(
                    v["id"],
                    v["max_level"],
                    {vdu: tuple(s) for vdu, s in v["steps"].items()},
                )
                for k, v in value["aspects"].items()
            },
        }
    )
