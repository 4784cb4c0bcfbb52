"""The inventory of an instance: what its record contains."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import re
from typing import Any

from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds.autoscaling import ReplicaLimits
from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.kinds.policy import DEFAULT
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.model import package
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.journal import Healing
from tacker_k8s_cr.plan.journal import Journal
from tacker_k8s_cr.plan.journal import MemberRef
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.journal import Transfer

_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")


def require_valid_name(instance: str) -> str:
    """Return the name of an instance. Raises RequestInvalid for a bad one.

    It becomes the value of a label and part of the names of Secrets.
    """
    if len(instance) > 63:
        raise RequestInvalid(
            f"instance {instance!r}: the name has {len(instance)} characters, "
            "at most 63 are allowed"
        )
    if not _NAME.fullmatch(instance):
        raise RequestInvalid(
            f"instance {instance!r}: a name consists of lower case letters, "
            "digits, '-' and '.', with a letter or digit at both ends and on "
            "both sides of each '.'"
        )
    return instance


@dataclasses.dataclass(frozen=True)
class Inventory:
    """All recorded state of an instance, stored in the cluster as its record.

    :param namespace: of objects whose manifest names none.
    :param separate_record_namespace: the namespace of the record, if it is not
        that of the instance; otherwise empty.
    :param incoming: objects that source instances are about to transfer to
        this one. The sources' records show whether they have.
    :param transferred_in: objects that source instances have transferred to
        this one.
    :param transferred_out: objects that this one has just transferred, with
        the target instance.
    :param owned: the UID of every object that the instance owns.
    :param shared: objects that the instance uses and other managers own.
    :param manifests: last applied in full, as the package names them.
    :param digest: of the package that contains these manifests.
    :param generated: names of objects whose manifests have only a prefix, by
        the content of the manifest.
    :param live_names: names in the cluster of objects whose name differs from
        that in the package (rotated templates).
    :param vdus: the scale target of each VDU.
    :param scale_levels: the level of each scaling aspect.
    :param replica_overrides: replica counts that a scale set by object, for
        the case that the object has to be recreated.
    :param former_replicas: by object that the running scale sets, its former
        replica count; None if that could not be read.
    :param former_limits: by object that the running scale sets, the former
        limits of its autoscaler.
    :param machines_to_delete: Machines that the running scale has annotated.
    :param policy: the request's settings for the package as a whole.
    :param preexisting: objects that existed before the instance adopted them.
    :param healing: what the running or the last heal was to replace.
    :param previous_package: the instance before the running or the last
        change: the state that a rollback restores.
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
    former_replicas: Mapping[ObjectRef, int | None] = dataclasses.field(
        default_factory=dict
    )
    former_limits: Mapping[ObjectRef, ReplicaLimits] = dataclasses.field(
        default_factory=dict
    )
    machines_to_delete: tuple[MemberRef, ...] = ()
    policy: Policy = DEFAULT
    preexisting: frozenset[ObjectRef] = frozenset()
    healing: Healing | None = None
    previous_package: Inventory | None = None
    receipts: tuple[Mapping[str, Any], ...] = ()
    journal: Journal = dataclasses.field(default_factory=Journal)
    separate_record_namespace: str = ""
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
        return self.separate_record_namespace or self.namespace

    def rollback_point(self, digest: str) -> Inventory:
        """Return the state that a rollback of the next change restores.

        If the next change repeats or replaces one that ended early, this is
        the state before both.

        :param digest: of the package that will be applied.
        """
        is_repeated = (
            self.phase is Phase.INSTANTIATED and digest == self.digest
        )
        if self.previous_package and (
            is_repeated or self.phase is Phase.CHANGING
        ):
            return self.previous_package
        return dataclasses.replace(
            self,
            previous_package=None,
            healing=None,
            former_replicas={},
            former_limits={},
            machines_to_delete=(),
            receipts=(),
            journal=Journal(),
            incoming={},
            transferred_in={},
            transferred_out={},
            claim_rules=(),
        )

    def with_owned(self, added: Mapping[ObjectRef, str]) -> Inventory:
        """Return the inventory with these objects owned as well."""
        owned = self.owned
        replaced = {r for r, uid in added.items() if owned.get(r, uid) != uid}
        # An object with a new UID was created by this instance.
        return dataclasses.replace(
            self,
            owned={**self.owned, **added},
            preexisting=self.preexisting - replaced,
        )

    def with_claim_rules(self, objs: Iterable[Manifest]) -> Inventory:
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
        """Return the inventory without ownership of these objects."""
        removed = set(refs)
        if not removed:
            return self
        remaining = {r: u for r, u in self.owned.items() if r not in removed}
        transferred_in = self.transferred_in
        if removed & transferred_in.keys():
            transferred_in = {
                r: g for r, g in transferred_in.items() if r not in removed
            }
        return dataclasses.replace(
            self,
            owned=remaining,
            preexisting=self.preexisting - removed,
            transferred_in=transferred_in,
        )

    @property
    def is_interrupted(self) -> bool:
        """Whether an operation may have ended before it recorded a write."""
        return bool(
            self.journal.pending
            or self.incoming
            or self.phase is Phase.INSTANTIATING
        )

    def with_journal(
        self, operation: str, stage: str, pending: Iterable[ObjectRef]
    ) -> Inventory:
        """Return the inventory with the journal of the next stage."""
        journal = Journal(operation, stage, tuple(pending))
        return dataclasses.replace(self, journal=journal)
