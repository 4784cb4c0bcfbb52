"""What an instance owns, and the journal of its operations, as values."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import enum
import re
from typing import Any

from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.autoscaling import ReplicaLimits
from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.kinds.policy import DEFAULT
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.model import package
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")


def validate_name(instance: str) -> str:
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
    TERMINATING = "terminating"


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
class MemberRef:
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

    :param everything: every member of the instance was to be replaced.
    :param operation: the caller's name for the heal, to recognize it again.
    """

    all_members: bool = False
    members: tuple[MemberRef, ...] = ()
    operation: str = ""


@dataclasses.dataclass(frozen=True)
class Transfer:
    """An object that a source instance transfers to this one.

    :param giver: the source instance.
    :param home: the namespace of its record.
    :param met: the source had not created the object either.
    :param manifest: what it had last applied; None if its record has none.
    """

    uid: str
    source: str
    home: str
    met: bool = False
    manifest: Manifest | None = None


@dataclasses.dataclass(frozen=True)
class Inventory:
    """All recorded state of an instance, stored in the cluster as its record.

    :param namespace: of objects whose manifest names none.
    :param record: the namespace of the record, if it is another.
    :param taking: objects that source instances are about to transfer to this
        one. The sources' records show whether they have.
    :param taken: objects that source instances have transferred to this one.
    :param given: objects that this one has just transferred: to which
        instance.
    :param owned: the UID of every object that the instance owns.
    :param shared: objects that the instance uses and others own.
    :param manifests: last applied in full, as the package names them.
    :param digest: of the package that contains these manifests.
    :param generated: names of objects whose manifests have only a prefix, by
        the content of the manifest.
    :param live_names: names in the cluster of objects whose name differs from
        that in the package (rotated templates).
    :param vdus: the scale target of each VDU.
    :param scale_levels: the level of each scaling aspect.
    :param numbers: replicas of objects that a scale set by name, for the case
        that the object has to be created again.
    :param scaling: by object that the running scale sets, its former replica
        count; None where that could not be read.
    :param bounds: former limits of the autoscalers that the running scale
        changes, by replica count.
    :param machines_to_delete: Machines that the running scale has annotated.
    :param policy: the request's settings for the package as a whole.
    :param met: objects that existed before the instance adopted them.
    :param healing: of the running or the last heal.
    :param before: the instance before the running or the last change: the
        state that a rollback restores.
    :param receipts: what was delivered and its recipients; no credential in
        it.
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
    vnfd: package.Vnfd | None = None
    vdus: Mapping[str, ObjectRef] = dataclasses.field(default_factory=dict)
    scale_levels: Mapping[str, int] = dataclasses.field(default_factory=dict)
    replica_overrides: Mapping[ObjectRef, int] = dataclasses.field(
        default_factory=dict
    )
    scaling: Mapping[ObjectRef, int | None] = dataclasses.field(
        default_factory=dict
    )
    bounds: Mapping[ObjectRef, ReplicaLimits] = dataclasses.field(
        default_factory=dict
    )
    machines_to_delete: tuple[MemberRef, ...] = ()
    policy: Policy = DEFAULT
    preexisting: frozenset[ObjectRef] = frozenset()
    healing: Healing | None = None
    previous_package: Inventory | None = None
    receipts: tuple[Mapping[str, Any], ...] = ()
    journal: Journal = Journal()
    record: str = ""
    incoming: Mapping[ObjectRef, Transfer] = dataclasses.field(
        default_factory=dict
    )
    transferred_in: Mapping[ObjectRef, Transfer] = dataclasses.field(
        default_factory=dict
    )
    transferred_out: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )
    claim_rules: tuple[ClaimRule, ...] = ()

    @property
    def record_namespace(self) -> str:
        """The namespace of the record."""
        return self.record or self.namespace

    def rollback_point(self, digest: str) -> Inventory:
        """What a change that is about to begin may have to go back to.

        Of one that makes up for a change that ended early, or repeats one,
        that is still the state before both.

        :param digest: of the package that is to be brought in.
        """
        again = self.phase is Phase.INSTANTIATED and digest == self.digest
        if self.previous_package and (again or self.phase is Phase.CHANGING):
            return self.previous_package
        return dataclasses.replace(
            self,
            previous_package=None,
            healing=None,
            scaling={},
            bounds={},
            machines_to_delete=(),
            receipts=(),
            journal=Journal(),
            incoming={},
            transferred_in={},
            transferred_out={},
            claim_rules=(),
        )

    def with_owned(self, found: Mapping[ObjectRef, str]) -> Inventory:
        """With these objects owned as well."""
        owned = self.owned
        new = {r for r, uid in found.items() if owned.get(r, uid) != uid}
        # Another object of that name is one that we made.
        return dataclasses.replace(
            self,
            owned={**self.owned, **found},
            preexisting=self.preexisting - new,
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
            and ObjectRef.of(obj) not in self.preexisting
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

    def without_owned(self, refs: Iterable[ObjectRef]) -> Inventory:
        """With these objects no longer owned."""
        gone = set(refs)
        if not gone:
            return self
        kept = {r: u for r, u in self.owned.items() if r not in gone}
        taken = self.transferred_in
        if gone & taken.keys():
            taken = {r: g for r, g in taken.items() if r not in gone}
        return dataclasses.replace(
            self,
            owned=kept,
            preexisting=self.preexisting - gone,
            transferred_in=taken,
        )

    def with_transferred_out(
        self, refs: Iterable[ObjectRef], to: str
    ) -> Inventory:
        """With these objects given up to another instance.

        Nothing brings them back here: neither the manifests, applied once
        more, nor a rollback of the last change.
        """
        refs = frozenset(refs)
        before = self.previous_package and self.previous_package._forgetting(
            refs
        )
        return dataclasses.replace(
            self._forgetting(refs),
            previous_package=before,
            transferred_out={
                **self.transferred_out,
                **dict.fromkeys(refs, to),
            },
        )

    def with_returned(self, gifts: Mapping[ObjectRef, Transfer]) -> Inventory:
        """With objects that another instance gives back.

        A rollback of the last change must not take them for what that made.
        """
        before = self.previous_package and self.previous_package._with(gifts)
        given = {
            r: to for r, to in self.transferred_out.items() if r not in gifts
        }
        return dataclasses.replace(
            self._with(gifts), previous_package=before, transferred_out=given
        )

    def _with(self, gifts: Mapping[ObjectRef, Transfer]) -> Inventory:
        manifests = (gift.manifest for gift in gifts.values())
        met = {ref for ref, gift in gifts.items() if gift.met}
        uids = {ref: gift.uid for ref, gift in gifts.items()}
        return dataclasses.replace(
            self,
            owned={**self.owned, **uids},
            manifests=(*self.manifests, *(m for m in manifests if m)),
            preexisting=self.preexisting | met,
        )

    def _forgetting(self, refs: frozenset[ObjectRef]) -> Inventory:
        names = {
            author: author._replace(name=name)
            for author, name in self.live_names.items()
        }

        def stays(ref: ObjectRef) -> bool:
            return names.get(ref, ref) not in refs

        return dataclasses.replace(
            self.without_owned(refs),
            manifests=tuple(
                m for m in self.manifests if stays(ObjectRef.of(m))
            ),
            live_names={r: n for r, n in self.live_names.items() if stays(r)},
            claim_rules=tuple(
                one for one in self.claim_rules if stays(one.stateful_set)
            ),
            replica_overrides={
                r: n
                for r, n in self.replica_overrides.items()
                if topology_replicas.cluster_ref(r) not in refs
            },
        )

    @property
    def interrupted(self) -> bool:
        """Whether an operation may have ended between a write and a record."""
        return bool(
            self.journal.pending
            or self.incoming
            or self.phase is Phase.INSTANTIATING
        )

    def with_journal(
        self, operation: str, stage: str, pending: Iterable[ObjectRef]
    ) -> Inventory:
        """With the journal of a stage that is about to begin."""
        journal = Journal(operation, stage, tuple(pending))
        return dataclasses.replace(self, journal=journal)
