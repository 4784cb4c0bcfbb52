"""The claim rules of an instance: from its record, or from live objects."""

from __future__ import annotations

from collections.abc import Iterable

from tacker_k8s_cr.engine.claim_retention import Retention
from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan.inventory import Inventory


def load_rules(
    op: Session, inventory: Inventory, retention: Retention
) -> tuple[ClaimRule, ...]:
    """Return the claim rules of an instance, each with its retention.

    A rule that is not in the record, because a run was killed or an earlier
    version wrote the record, is derived from the live StatefulSet, or from
    its manifest. A StatefulSet without either has no rule.
    """
    known = {one.stateful_set for one in inventory.claim_rules}
    # The record of an unfinished change has the manifests before it.
    manifests = {
        **manifest_annotations.manifests(op.inventory),
        **manifest_annotations.manifests(inventory),
    }
    unknown = [
        ref
        for ref in sorted(inventory.owned)
        if ref.group_kind == claims.STATEFUL_SET
        and ref not in known
        and (ref not in manifests or claims.template_names(manifests[ref]))
    ]
    derived = []
    for ref, obj in results_or_raise(
        op.cluster.map_parallel(op.cluster.get, unknown)
    ):
        manifest = manifests.get(ref, {})
        exists = obj and objects.uid(obj) == inventory.owned[ref]
        source = obj if exists else manifest
        if not source:
            continue
        one = claims.claim_rule(source, claims.manifest_retention(manifest))
        derived += [one] if one else []
    return retention.resolve(
        claims.merge_rules(inventory.claim_rules, derived)
    )


def derive_rules(
    op: Session, live: Iterable[Manifest | None], retention: Retention
) -> tuple[ClaimRule, ...]:
    """Return the claim rules of an instance without a record.

    The manifest specified a retention if the instance's field manager owns
    the field.
    """
    derived = []
    for obj in filter(None, live):
        own = ownership.is_field_manager(obj, op.manager, claims.WHEN_DELETED)
        one = claims.claim_rule(
            obj, claims.manifest_retention(obj) if own else ""
        )
        derived += [one] if one else []
    return retention.resolve(derived)
