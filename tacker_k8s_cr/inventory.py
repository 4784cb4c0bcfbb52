"""What an instance owns, and the journal of its operations, as values."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import enum
import re
from typing import Any

from tacker_k8s_cr.errors import RequestInvalid
from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.kinds.scaling import Bounds
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package import model
from tacker_k8s_cr.policy import DEFAULT
from tacker_k8s_cr.policy import Policy

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
    HEALING = "healing"
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
class Goer:
    """A Pod or Machine that a heal replaces.

    :param owner: the object of the instance that it works for; itself, for
        one that the instance owns directly.
    """

    ref: ObjectRef
    uid: str
    owner: ObjectRef


@dataclasses.dataclass(frozen=True)
class Healing:
    """What the running or the last heal was to replace.

    :param everything: every member of the instance was to go.
    :param operation: what the caller calls it, to know it again.
    """

    everything: bool = False
    goers: tuple[Goer, ...] = ()
    operation: str = ""


@dataclasses.dataclass(frozen=True)
class Gift:
    """An object that another instance gives up to this one.

    :param giver: that instance.
    :param home: the namespace of its record.
    :param met: it had not made the object either.
    :param manifest: what it had last applied; None where it knows none.
    """

    uid: str
    giver: str
    home: str
    met: bool = False
    manifest: Manifest | None = None


@dataclasses.dataclass(frozen=True)
class Inventory:
    """All that is known of an instance. It lies in the cluster, as record.

    :param namespace: where objects go whose manifest names none.
    :param record: the namespace of the record, if it is another.
    :param taking: objects that others are about to give up to this one.
        Whether they have, their records say.
    :param taken: objects that others have given up to this one.
    :param given: objects that this one has just given up: to whom.
    :param owned: the UID of every object that the instance owns.
    :param shared: objects that the instance uses and others own.
    :param manifests: last applied in full, as the package names them.
    :param digest: of the package that these manifests came of.
    :param generated: names of objects whose manifests have only a prefix, by
        what the manifest says.
    :param live_names: names in the cluster of objects that go by another
        name there than the package gives them (rotated templates).
    :param vdus: the object that bears the number of each VDU.
    :param scale_levels: the level of each scaling aspect.
    :param numbers: replicas of objects that a scale set by name, for the
        case that the object has to be made again.
    :param scaling: by object that the running scale sets, its number
        before; None where that could not be read.
    :param bounds: of the autoscalers that the running scale moves, by
        number, as they were before.
    :param leaving: Machines that the running scale has marked to go.
    :param policy: what the request said on the package as a whole.
    :param met: objects that were there before the instance took them over.
    :param healing: of the running or the last heal.
    :param before: the instance before the running or the last change: what
        a rollback goes back to.
    :param receipts: what was delivered to whom; no credential in it.
    :param claim_rules: of all StatefulSets that the instance created,
        including deleted ones, whose claims may still exist.
    """

    instance: str
    namespace: str
    phase: Phase = Phase.INSTANTIATING
    owned: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)
    shared: tuple[ObjectRef, ...] = ()
    manifests: tuple[Manifest, ...] = ()
    digest: str = ""
    live_names: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )
    generated: Mapping[str, str] = dataclasses.field(default_factory=dict)
    vnfd: model.Vnfd | None = None
    vdus: Mapping[str, ObjectRef] = dataclasses.field(default_factory=dict)
    scale_levels: Mapping[str, int] = dataclasses.field(default_factory=dict)
    numbers: Mapping[ObjectRef, int] = dataclasses.field(default_factory=dict)
    scaling: Mapping[ObjectRef, int | None] = dataclasses.field(
        default_factory=dict
    )
    bounds: Mapping[ObjectRef, Bounds] = dataclasses.field(
        default_factory=dict
    )
    leaving: tuple[Goer, ...] = ()
    policy: Policy = DEFAULT
    met: frozenset[ObjectRef] = frozenset()
    healing: Healing | None = None
    before: Inventory | None = None
    receipts: tuple[Mapping[str, Any], ...] = ()
    journal: Journal = Journal()
    record: str = ""
    taking: Mapping[ObjectRef, Gift] = dataclasses.field(default_factory=dict)
    taken: Mapping[ObjectRef, Gift] = dataclasses.field(default_factory=dict)
    given: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)
    claim_rules: tuple[ClaimRule, ...] = ()

    @property
    def home(self) -> str:
        """The namespace of the record."""
        return self.record or self.namespace

    def past(self, digest: str) -> Inventory:
        """What a change that is about to begin may have to go back to.

        Of one that makes up for a change that ended early, or repeats one,
        that is still the state before both.

        :param digest: of the package that is to be brought in.
        """
        again = self.phase is Phase.INSTANTIATED and digest == self.digest
        if self.before and (again or self.phase is Phase.CHANGING):
            return self.before
        return dataclasses.replace(
            self,
            before=None,
            healing=None,
            scaling={},
            bounds={},
            leaving=(),
            receipts=(),
            journal=Journal(),
            taking={},
            taken={},
            given={},
            claim_rules=(),
        )

    def owning(self, found: Mapping[ObjectRef, str]) -> Inventory:
        """With these objects owned as well."""
        owned = self.owned
        new = {r for r, uid in found.items() if owned.get(r, uid) != uid}
        # Another object of that name is one that we made.
        return dataclasses.replace(
            self, owned={**self.owned, **found}, met=self.met - new
        )

    def applying(self, objs: Iterable[Manifest]) -> Inventory:
        """Add the claim rules of the StatefulSets among these objects.

        An adopted StatefulSet has none: its claims have another owner.

        :param objs: live objects that were just applied.
        """
        sets = {
            ObjectRef.of(obj): obj
            for obj in objs
            if GroupKind.of(obj) == claims.STATEFUL_SET
            and ObjectRef.of(obj) not in self.met
        }
        if not sets:
            return self
        retention = {
            ref: claims.manifest_retention(manifest)
            for manifest in self.manifests
            if (ref := ObjectRef.of(manifest)) in sets
        }
        rules = (
            claims.claim_rule(obj, retention.get(ref, ""))
            for ref, obj in sets.items()
        )
        merged = claims.merge_rules(self.claim_rules, filter(None, rules))
        return dataclasses.replace(self, claim_rules=merged)

    def without(self, refs: Iterable[ObjectRef]) -> Inventory:
        """With these objects no longer owned."""
        gone = set(refs)
        if not gone:
            return self
        kept = {r: u for r, u in self.owned.items() if r not in gone}
        taken = self.taken
        if gone & taken.keys():
            taken = {r: g for r, g in taken.items() if r not in gone}
        return dataclasses.replace(
            self, owned=kept, met=self.met - gone, taken=taken
        )

    def giving(self, refs: Iterable[ObjectRef], to: str) -> Inventory:
        """With these objects given up to another instance.

        Nothing brings them back here: neither the manifests, applied once
        more, nor a rollback of the last change.
        """
        refs = frozenset(refs)
        before = self.before and self.before._forgetting(refs)
        return dataclasses.replace(
            self._forgetting(refs),
            before=before,
            given={**self.given, **dict.fromkeys(refs, to)},
        )

    def regaining(self, gifts: Mapping[ObjectRef, Gift]) -> Inventory:
        """With objects that another instance gives back.

        A rollback of the last change must not take them for what that made.
        """
        before = self.before and self.before._with(gifts)
        given = {r: to for r, to in self.given.items() if r not in gifts}
        return dataclasses.replace(
            self._with(gifts), before=before, given=given
        )

    def _with(self, gifts: Mapping[ObjectRef, Gift]) -> Inventory:
        manifests = (gift.manifest for gift in gifts.values())
        met = {ref for ref, gift in gifts.items() if gift.met}
        uids = {ref: gift.uid for ref, gift in gifts.items()}
        return dataclasses.replace(
            self,
            owned={**self.owned, **uids},
            manifests=(*self.manifests, *(m for m in manifests if m)),
            met=self.met | met,
        )

    def _forgetting(self, refs: frozenset[ObjectRef]) -> Inventory:
        names = {
            author: author._replace(name=name)
            for author, name in self.live_names.items()
        }

        def stays(ref: ObjectRef) -> bool:
            return names.get(ref, ref) not in refs

        return dataclasses.replace(
            self.without(refs),
            manifests=tuple(
                m for m in self.manifests if stays(ObjectRef.of(m))
            ),
            live_names={r: n for r, n in self.live_names.items() if stays(r)},
            claim_rules=tuple(
                one for one in self.claim_rules if stays(one.stateful_set)
            ),
            numbers={
                r: n
                for r, n in self.numbers.items()
                if entries.owner(r) not in refs
            },
        )

    def entering(
        self, operation: str, stage: str, pending: Iterable[ObjectRef]
    ) -> Inventory:
        """With the journal of a stage that is about to begin."""
        journal = Journal(operation, stage, tuple(pending))
        return dataclasses.replace(self, journal=journal)
