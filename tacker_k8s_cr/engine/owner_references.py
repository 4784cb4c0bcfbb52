"""Find dependents: by owner references, and by labels used instead."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib

from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

SECRET = GroupKind("", "Secret")

CERTIFICATE = GroupKind("cert-manager.io", "Certificate")

ISSUED_FOR = "cert-manager.io/certificate-name"
"""Annotation of a Secret: the Certificate for which it was created."""

MAX_LEVELS = 5
"""Levels of unlisted owners that are read."""


def dependents_of(
    cluster: Cluster,
    objs: Sequence[Manifest],
    deleting: Mapping[ObjectRef, str],
    rules: Sequence[ClaimRule] = (),
) -> frozenset[str]:
    """Return UIDs of objects being deleted and of those that belong to them.

    :param rules: of StatefulSets whose claims are dependents, too.
    """
    with_owners = [*objs, *_unlisted_owners(cluster, objs, deleting.values())]
    dependent_uids = transitive_dependents(with_owners, deleting.values())
    created = _stateful_set_claims(
        cluster, objs, deleting, dependent_uids, rules
    )
    created |= certificate_secrets(objs, deleting, dependent_uids)
    return (
        transitive_dependents(with_owners, dependent_uids | created)
        if created
        else dependent_uids
    )


# -- Without a cluster -------------------------------------------------------


def owners(obj: Manifest) -> dict[str, ObjectRef]:
    """Return the owners of an object by UID, with its namespace."""
    namespace = objects.field(obj, ("metadata", "namespace"), "")
    owners_by_uid = {}
    for owner in _references(obj):
        group, _ = objects.split_api_version(str(owner.get("apiVersion", "")))
        ref = ObjectRef(
            group,
            str(owner.get("kind", "")),
            namespace,
            str(owner.get("name", "")),
        )
        owners_by_uid[str(owner.get("uid", ""))] = ref
    return owners_by_uid


def transitive_dependents(
    objs: Iterable[Manifest], uids: Iterable[str]
) -> frozenset[str]:
    """Return these UIDs, and those of all their transitive dependents."""
    children: dict[str, list[str]] = {}
    for obj in objs:
        for owner in _references(obj):
            uid = str(owner.get("uid", ""))
            children.setdefault(uid, []).append(objects.uid(obj))
    found = set(uids)
    unvisited = list(found)
    while unvisited:
        for uid in children.pop(unvisited.pop(), ()):
            if uid not in found:
                found.add(uid)
                unvisited.append(uid)
    return frozenset(found)


def certificate_secrets(
    objs: Sequence[Manifest],
    deleting: Collection[ObjectRef],
    owned_uids: Collection[str],
) -> frozenset[str]:
    """Return UIDs of the Secrets of the instance's Certificates.

    cert-manager sets no owner reference on them unless configured to, so that
    keys outlive Certificates; an annotation names the Certificate.

    :param deleting: objects of the instance, including deleted ones.
    :param owned_uids: UIDs of those of the objects that belong to the
        instance.
    """
    foreign = {
        ObjectRef.of(o) for o in objs if objects.uid(o) not in owned_uids
    }
    owned = {ObjectRef.of(o) for o in objs if objects.uid(o) in owned_uids}
    candidates = owned.union(deleting) - foreign
    found = set()
    for obj in objs:
        ref = ObjectRef.of(obj)
        name = objects.field(obj, ("metadata", "annotations", ISSUED_FOR))
        if ref.group_kind == SECRET and name:
            kind, group = CERTIFICATE.kind, CERTIFICATE.group
            if ObjectRef(group, kind, ref.namespace, name) in candidates:
                found.add(objects.uid(obj))
    return frozenset(found)


def _references(obj: Manifest) -> tuple[Mapping[str, object], ...]:
    return tuple(objects.field(obj, ("metadata", "ownerReferences"), ()))


# -- With one ----------------------------------------------------------------


def _unlisted_owners(
    cluster: Cluster, objs: Iterable[Manifest], uids: Iterable[str]
) -> list[Manifest]:
    """Return the owners that are not among the objects, and their owners."""
    level = list(objs)
    known = {*uids, *(objects.uid(obj) for obj in level)}
    found: list[Manifest] = []
    for _ in range(MAX_LEVELS):
        wanted = {
            uid: ref
            for obj in level
            for uid, ref in owners(obj).items()
            if uid not in known
        }
        level = _read_owners(cluster, wanted)
        if not level:
            break
        found += level
        known |= wanted.keys()
    return found


def _read_owners(
    cluster: Cluster, wanted: Mapping[str, ObjectRef]
) -> list[Manifest]:
    """Return the owners, by UID, that exist and may be read."""

    def read_owner(item: tuple[str, ObjectRef]) -> Manifest | None:
        uid, ref = item
        if not cluster.resource(ref.group_kind).namespaced:
            ref = ref._replace(namespace="")
        obj = cluster.get_metadata(ref)
        return obj if obj is not None and objects.uid(obj) == uid else None

    found = []
    with contextlib.closing(
        cluster.map_parallel(read_owner, wanted.items())
    ) as outcomes:
        for _, outcome in outcomes:
            if isinstance(outcome, errors.Forbidden | errors.KindNotServed):
                continue  # unknown, so not used
            if isinstance(outcome, Error):
                raise outcome
            if outcome is not None:
                found.append(outcome)
    return found


def _stateful_set_claims(
    cluster: Cluster,
    objs: Sequence[Manifest],
    deleting: Mapping[ObjectRef, str],
    owned_uids: Collection[str],
    rules: Sequence[ClaimRule],
) -> frozenset[str]:
    """Return UIDs of the claims that the instance's StatefulSets created."""
    volume_claims = [obj for obj in objs if GroupKind.of(obj) == claims.CLAIM]
    namespaces = {ObjectRef.of(obj).namespace for obj in volume_claims}
    owned = (
        ObjectRef.of(obj) for obj in objs if objects.uid(obj) in owned_uids
    )
    stateful_sets = {
        ref
        for ref in (*deleting, *owned, *(rule.stateful_set for rule in rules))
        if ref.group_kind == claims.STATEFUL_SET
        and ref.namespace in namespaces
    }
    known_rules = list(rules)
    without_rule = []
    for ref, obj in results_or_raise(
        cluster.map_parallel(cluster.get, sorted(stateful_sets))
    ):
        if obj is None:
            # The templates of a deleted StatefulSet are not known, unless
            # there is a rule.
            if not any(rule.stateful_set == ref for rule in rules):
                without_rule.append(ref)
        elif objects.uid(obj) not in owned_uids:
            known_rules = [
                rule for rule in known_rules if rule.stateful_set != ref
            ]
        elif live := claims.claim_rule(obj):
            known_rules = [*claims.merge_rules(known_rules, [live])]
    return frozenset(
        objects.uid(obj)
        for obj in volume_claims
        if _is_created_claim(obj, known_rules)
        or any(
            ref.namespace == ObjectRef.of(obj).namespace
            and claims.is_claim_name(ref.name, None, ObjectRef.of(obj).name)
            for ref in without_rule
        )
    )


def _is_created_claim(claim: Manifest, rules: Iterable[ClaimRule]) -> bool:
    """Return whether the StatefulSet of a rule created a claim."""
    ref = ObjectRef.of(claim)
    return any(
        claims.has_claim_name(rule, ref)
        and not claims.reason_not_created(rule, claim)
        for rule in rules
    )
