"""Check permissions for a package, and compare it with the live objects."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses

from tacker_k8s_cr.engine import claim_retention
from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.lcm.preparation import live_checks
from tacker_k8s_cr.lcm.preparation import permissions_check
from tacker_k8s_cr.lcm.preparation.live_checks import LiveCheck
from tacker_k8s_cr.lcm.preparation.prepared import Prepared
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.plan.placement import PlacedManifest


def check_prepared(
    check: LiveCheck, ready: Prepared, claim_sets: Collection[ObjectRef]
) -> Prepared:
    """Check permissions, and compare with the objects that exist."""
    with permissions_check.package_permissions(
        check.cluster,
        ready.items,
        check.before.record_namespace,
        vdus=tuple(ready.vdus.values()),
        requests=ready.requests,
        claim_sets=claim_sets,
        wanted=check.options.check_permissions,
    ) as permissions:
        checked = live_checks.check_against_live(
            check, ready.items, ready.order
        )
        permissions.shared = checked.owners.shared
    return dataclasses.replace(
        ready,
        items=checked.items,
        owners=checked.owners,
        not_yet=checked.not_yet,
        refused=checked.refused,
        order=checked.order,
        recreated=checked.recreated,
        predicted=checked.predicted,
    )


def sets_with_deleted_claims(
    items: Iterable[PlacedManifest], policy: Policy, options: Options
) -> frozenset[ObjectRef]:
    """Return the StatefulSets whose claims are deleted at the end."""
    rules = (
        claims.claim_rule(
            item.manifest, claims.manifest_retention(item.manifest)
        )
        for item in items
    )
    resolved = claim_retention.on_rollback(policy, options).resolve(
        filter(None, rules)
    )
    return frozenset(
        one.stateful_set for one in resolved if one.retention == claims.DELETE
    )
