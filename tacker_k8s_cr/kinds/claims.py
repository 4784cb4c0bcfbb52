"""Which PersistentVolumeClaims a StatefulSet created.

The StatefulSet controller creates one claim per Pod and volumeClaimTemplate.
By default it sets no owner reference, so that the data outlives the
StatefulSet. The name, the labels and the age of a claim show its origin.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import re

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path

STATEFUL_SET = GroupKind("apps", "StatefulSet")
CLAIM = GroupKind("", "PersistentVolumeClaim")
VOLUME = GroupKind("", "PersistentVolume")

DELETE = "delete"
RETAIN = "retain"
RETENTIONS = (DELETE, RETAIN)
"""What a termination does with the claims of a StatefulSet."""

WHEN_DELETED: Path = (
    "spec",
    "persistentVolumeClaimRetentionPolicy",
    "whenDeleted",
)
TEMPLATES: Path = ("spec", "volumeClaimTemplates")

ORDINAL = "(?:0|[1-9][0-9]*)"
ANY_TEMPLATE = "[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?"


@dataclasses.dataclass(frozen=True)
class ClaimRule:
    """How the claims of one StatefulSet are recognized.

    :param templates: names of its volumeClaimTemplates, sorted.
    :param labels: matchLabels of its selector, which its claims carry.
    :param created: creationTimestamp of the first StatefulSet of this name
        that the instance created; empty if unknown.
    :param retention: ``delete`` or ``retain``; empty if neither the manifest
        nor a termination that has started specifies it.
    :param source: what specified the retention, a key of ``SOURCES``.
    """

    stateful_set: ObjectRef
    templates: tuple[str, ...]
    labels: tuple[tuple[str, str], ...] = ()
    created: str = ""
    retention: str = ""
    source: str = ""

    @property
    def reason(self) -> str:
        """Why its claims have this retention."""
        return SOURCES[self.source].format(self)

    def is_same(self, other: ClaimRule) -> bool:
        """Return whether both recognize the same names and labels."""
        return (self.stateful_set, self.templates, self.labels) == (
            other.stateful_set,
            other.templates,
            other.labels,
        )


SOURCES = {
    "": "the claims of {0.stateful_set} are retained",
    "request": "the request retains the claims of {0.stateful_set}",
    "manifest": "the manifest of {0.stateful_set} sets whenDeleted: Retain",
    "policy": "the policy of the instance retains the claims of "
    "{0.stateful_set}",
    "configuration": "the configuration retains the claims of "
    "{0.stateful_set}",
}
"""What can specify that claims are retained, and how it is reported."""


# -- Rules -------------------------------------------------------------------


def claim_rule(obj: Manifest, retention: str = "") -> ClaimRule | None:
    """Return the rule of a StatefulSet; None if it has no templates.

    :param obj: the live object, or its manifest if there is none.
    :param retention: as the manifest specifies it.
    """
    names = template_names(obj)
    if GroupKind.of(obj) != STATEFUL_SET or not names:
        return None
    labels = objects.field(obj, ("spec", "selector", "matchLabels"), {})
    return ClaimRule(
        ObjectRef.of(obj),
        tuple(sorted(names)),
        tuple(sorted((str(k), str(v)) for k, v in labels.items())),
        str(objects.field(obj, ("metadata", "creationTimestamp"), "")),
        retention,
    )


def template_names(obj: Manifest) -> tuple[str, ...]:
    """Return the names of the volumeClaimTemplates of a StatefulSet."""
    listed = objects.field(obj, TEMPLATES, ())
    return tuple(str(item["metadata"]["name"]) for item in listed)


def manifest_retention(manifest: Manifest) -> str:
    """Return the retention that a manifest specifies; empty if none.

    A live object does not answer this: the server sets a default in it.
    """
    found = str(objects.field(manifest, WHEN_DELETED, "")).lower()
    return found if found in RETENTIONS else ""


def merge_rules(
    rules: Iterable[ClaimRule], applied: Iterable[ClaimRule]
) -> tuple[ClaimRule, ...]:
    """Add the rules of StatefulSets that were applied to those known.

    A StatefulSet that is recreated adopts the claims of the one before, so
    the earliest creation counts; of the retention, the latest.
    """
    merged = list(rules)
    for new in applied:
        for index, old in enumerate(merged):
            if old.is_same(new):
                times = sorted(filter(None, (old.created, new.created)))
                created = times[0] if times else ""
                merged[index] = dataclasses.replace(new, created=created)
                break
        else:
            merged.append(new)
    return tuple(merged)


def resolve_rules(
    rules: Iterable[ClaimRule], request: str, policy: str, configured: str
) -> tuple[ClaimRule, ...]:
    """Set the retention of every rule.

    :param request: of the termination; overrides the manifest, and what an
        earlier attempt of the termination resolved.
    :param policy: of the instance, if the manifest specifies none.
    :param configured: the default of the installation.
    """

    def resolve(rule: ClaimRule) -> ClaimRule:
        order = (
            (request, "request"),
            (rule.retention, rule.source or "manifest"),
            (policy, "policy"),
            (configured or DELETE, "configuration"),
        )
        retention, source = next(pair for pair in order if pair[0])
        return dataclasses.replace(rule, retention=retention, source=source)

    return tuple(map(resolve, rules))


# -- Claims ------------------------------------------------------------------


def has_claim_name(rule: ClaimRule, claim: ObjectRef) -> bool:
    """Return whether the StatefulSet of a rule uses claims of this name."""
    return claim.namespace == rule.stateful_set.namespace and is_claim_name(
        rule.stateful_set.name, rule.templates, claim.name
    )


def is_claim_name(
    stateful_set: str, templates: Collection[str] | None, claim: str
) -> bool:
    """Return whether a StatefulSet of this name uses claims of that name.

    :param templates: None if their names are not known.
    """
    suffix = f"-{re.escape(stateful_set)}-{ORDINAL}"
    forms = (ANY_TEMPLATE,) if templates is None else map(re.escape, templates)
    return any(re.fullmatch(f"{form}{suffix}", claim) for form in forms)


def reason_not_created(rule: ClaimRule, claim: Manifest) -> str:
    """Return why the StatefulSet did not create a claim; empty if it did.

    :param claim: one that has the name of the rule.
    """
    labels = objects.labels(claim)
    if missing := [k for k, v in rule.labels if labels.get(k) != v]:
        return (
            f"it does not have the label {', '.join(missing)} of "
            f"{rule.stateful_set}"
        )
    for owner in objects.field(claim, ("metadata", "ownerReferences"), ()):
        kind, name = str(owner.get("kind")), str(owner.get("name", ""))
        if not _is_own(rule.stateful_set.name, kind, name):
            return f"it is owned by {kind} {name}"
    if not rule.created:
        return f"the creation time of {rule.stateful_set} is not known"
    created = str(objects.field(claim, ("metadata", "creationTimestamp"), ""))
    # RFC 3339 in UTC and whole seconds: the text sorts by time.
    if created < rule.created:
        return f"it is older than {rule.stateful_set}"
    return ""


def _is_own(stateful_set: str, kind: str, name: str) -> bool:
    """Return whether an owner is the StatefulSet or one of its Pods.

    The controller sets these if a retention policy specifies ``Delete``.
    """
    if kind == "Pod":
        form = f"{re.escape(stateful_set)}-{ORDINAL}"
        return bool(re.fullmatch(form, name))
    return kind == STATEFUL_SET.kind and name == stateful_set


# -- Users of claims ---------------------------------------------------------


def mounted_claims(pod: Manifest) -> Iterator[ObjectRef]:
    """Yield the claims that a Pod uses."""
    ref = ObjectRef.of(pod)
    for volume in objects.field(pod, ("spec", "volumes"), ()):
        name = objects.field(volume, ("persistentVolumeClaim", "claimName"))
        if "ephemeral" in volume:
            name = f"{ref.name}-{volume.get('name')}"
        if name:
            yield ObjectRef("", CLAIM.kind, ref.namespace, name)


def bound_claim(volume: Manifest) -> ObjectRef | None:
    """Return the claim to which a volume is bound; None if to none.

    A volume in phase Released still names its deleted claim. A claimRef
    without a UID only reserves the volume for a claim of that name.
    """
    if objects.field(volume, ("status", "phase")) == "Released":
        return None
    claim = objects.field(volume, ("spec", "claimRef"), {})
    if not claim.get("uid"):
        return None
    return ObjectRef(
        "",
        CLAIM.kind,
        str(claim.get("namespace", "")),
        str(claim.get("name", "")),
    )
