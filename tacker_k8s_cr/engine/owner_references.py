"""What belongs to what: by owner references, and by what stands for them."""

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
"""On a Secret, the Certificate in its namespace for which it was made."""

LEVELS = 5
"""How many levels of unlisted owners are followed."""


def dependents_of(
    cluster: Cluster,
    objs: Sequence[Manifest],
    going: Mapping[ObjectRef, str],
    rules: Sequence[ClaimRule] = (),
) -> frozenset[str]:
    """Return UIDs of objects being deleted and of those that belong to them.

    :param rules: of StatefulSets whose claims belong to it, too.
    """
    known = [*objs, *_above(cluster, objs, going.values())]
    ours = transitive_dependents(known, going.values())
    made = _of_sets(cluster, objs, going, ours, rules)
    made |= certificate_secrets(objs, going, ours)
    return transitive_dependents(known, ours | made) if made else ours


# -- Without a cluster -------------------------------------------------------


def owners(obj: Manifest) -> dict[str, ObjectRef]:
    """The owners of an object by UID, as if they were in its namespace."""
    namespace = objects.field(obj, ("metadata", "namespace"), "")
    found = {}
    for owner in _references(obj):
        group, _ = objects.split_api_version(str(owner.get("apiVersion", "")))
        ref = ObjectRef(
            group,
            str(owner.get("kind", "")),
            namespace,
            str(owner.get("name", "")),
        )
        found[str(owner.get("uid", ""))] = ref
    return found


def transitive_dependents(
    objs: Iterable[Manifest], uids: Iterable[str]
) -> frozenset[str]:
    """These UIDs, and those of all objects that belong to one of them.

    An object belongs to each of its owners, and to what they belong to.
    """
    below: dict[str, list[str]] = {}
    for obj in objs:
        for owner in _references(obj):
            uid = str(owner.get("uid", ""))
            below.setdefault(uid, []).append(objects.uid(obj))
    found = set(uids)
    fresh = list(found)
    while fresh:
        for uid in below.pop(fresh.pop(), ()):
            if uid not in found:
                found.add(uid)
                fresh.append(uid)
    return frozenset(found)


def certificate_secrets(
    objs: Sequence[Manifest],
    going: Collection[ObjectRef],
    ours: Collection[str],
) -> frozenset[str]:
    """Return UIDs of the Secrets of the instance's Certificates.

    cert-manager sets no owner reference on them unless configured to, so that
    keys outlive Certificates; an annotation names the Certificate.

    :param going: objects of the instance, including deleted ones.
    :param ours: UIDs of those of the objects that belong to the instance.
    """
    foreign = {ObjectRef.of(o) for o in objs if objects.uid(o) not in ours}
    there = {ObjectRef.of(o) for o in objs if objects.uid(o) in ours}
    known = there.union(going) - foreign
    found = set()
    for obj in objs:
        ref = ObjectRef.of(obj)
        name = objects.field(obj, ("metadata", "annotations", ISSUED_FOR))
        if ref.group_kind == SECRET and name:
            kind, group = CERTIFICATE.kind, CERTIFICATE.group
            if ObjectRef(group, kind, ref.namespace, name) in known:
                found.add(objects.uid(obj))
    return frozenset(found)


def _references(obj: Manifest) -> tuple[Mapping[str, object], ...]:
    return tuple(objects.field(obj, ("metadata", "ownerReferences"), ()))


# -- With one ----------------------------------------------------------------


def _above(
    cluster: Cluster, objs: Iterable[Manifest], uids: Iterable[str]
) -> list[Manifest]:
    """The owners of these that are not among them, and theirs."""
    level = list(objs)
    known = {*uids, *(objects.uid(obj) for obj in level)}
    found: list[Manifest] = []
    for _ in range(LEVELS):
        wanted = {
            uid: ref
            for obj in level
            for uid, ref in owners(obj).items()
            if uid not in known
        }
        level = _there(cluster, wanted)
        if not level:
            break
        found += level
        known |= wanted.keys()
    return found


def _there(
    cluster: Cluster, wanted: Mapping[str, ObjectRef]
) -> list[Manifest]:
    """Those owners, by UID, that are there and that we may read."""

    def look(item: tuple[str, ObjectRef]) -> Manifest | None:
        uid, ref = item
        if not cluster.resource(ref.group_kind).namespaced:
            ref = ref._replace(namespace="")
        obj = cluster.get_metadata(ref)
        return obj if obj is not None and objects.uid(obj) == uid else None

    found = []
    with contextlib.closing(
        cluster.map_parallel(look, wanted.items())
    ) as outcomes:
        for _, outcome in outcomes:
            if isinstance(outcome, errors.Forbidden | errors.KindNotServed):
                continue  # it proves nothing, then
            if isinstance(outcome, Error):
                raise outcome
            if outcome is not None:
                found.append(outcome)
    return found


def _of_sets(
    cluster: Cluster,
    objs: Sequence[Manifest],
    going: Mapping[ObjectRef, str],
    ours: Collection[str],
    rules: Sequence[ClaimRule],
) -> frozenset[str]:
    """Return UIDs of the claims that the instance's StatefulSets created."""
    some = [obj for obj in objs if GroupKind.of(obj) == claims.CLAIM]
    namespaces = {ObjectRef.of(obj).namespace for obj in some}
    there = (ObjectRef.of(obj) for obj in objs if objects.uid(obj) in ours)
    sets = {
        ref
        for ref in (*going, *there, *(one.stateful_set for one in rules))
        if ref.group_kind == claims.STATEFUL_SET
        and ref.namespace in namespaces
    }
    known = list(rules)
    lost = []
    for ref, obj in results_or_raise(
        cluster.map_parallel(cluster.get, sorted(sets))
    ):
        if obj is None:
            # The templates of a deleted StatefulSet are not known, unless
            # there is a rule.
            if not any(one.stateful_set == ref for one in rules):
                lost.append(ref)
        elif objects.uid(obj) not in ours:
            known = [one for one in known if one.stateful_set != ref]
        elif live := claims.claim_rule(obj):
            known = [*claims.merge_rules(known, [live])]
    return frozenset(
        objects.uid(obj)
        for obj in some
        if _is_created(obj, known)
        or any(
            ref.namespace == ObjectRef.of(obj).namespace
            and claims.is_claim_name(ref.name, None, ObjectRef.of(obj).name)
            for ref in lost
        )
    )


def _is_created(claim: Manifest, rules: Iterable[ClaimRule]) -> bool:
    """Return whether the StatefulSet of a rule created a claim."""
    ref = ObjectRef.of(claim)
    return any(
        claims.has_name(one, ref) and not claims.reason_not_created(one, claim)
        for one in rules
    )
