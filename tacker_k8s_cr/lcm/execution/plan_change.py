"""Plan a package that replaces what an instance has."""

from __future__ import annotations

from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.lcm.execution import deletion_checks
from tacker_k8s_cr.lcm.execution import template_retention
from tacker_k8s_cr.lcm.preparation import permissions_check
from tacker_k8s_cr.lcm.preparation.prepared import Prepared
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import remaining_claims
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan import prune
from tacker_k8s_cr.plan import references
from tacker_k8s_cr.plan import waves
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.steps import Delete
from tacker_k8s_cr.plan.steps import Plan

PREEXISTING_REASON = "adopted from another owner; terminate does not delete it"
"""Why a change of package retains an object that it does not contain."""

RETAINED_REASON = "the package contains it in a file that was not selected"
"""The same for an object of ``Options.retain``."""


def plan_change(
    op: Session, ready: Prepared, before: Inventory, policy: Policy
) -> Plan:
    """Return the plan of a package that replaces what the instance has."""
    op.source_locations = {item.ref: item.where for item in ready.items}
    manifests = manifest_annotations.manifests(before)
    dropped = before.owned.keys() - {item.ref for item in ready.items}
    retained = deletion_checks.find_shared(op, dropped, manifests)
    # This instance did not create them, so a change must not delete them.
    retained.update(
        dict.fromkeys(dropped & before.preexisting, PREEXISTING_REASON)
    )
    if contract.uses_cluster_api(dropped):
        retained.update(
            template_retention.find_templates_in_use(
                op.cluster, ready.items, dropped
            )
        )
    prune_annotations = manifest_annotations.prune_annotations(before, policy)
    pruned = {ref for ref in dropped if prune_annotations.get(ref)}
    retained.update(remaining_claims.find_volumes_in_use(op, dropped, pruned))
    selected = {
        ref
        for ref in dropped & op.options.retain
        if not prune_annotations.get(ref)
    }
    retained.update(dict.fromkeys(selected, RETAINED_REASON))
    former = prune.CurrentState(
        before.owned,
        placement.namespace_ref(op.record_namespace),
        prune_annotations,
        placement.kinds_by_crd(manifests.values()),
        references.references(manifests),
        waves.recorded_order(manifests),
        retained,
        ready.recreated,
    )
    found = plan.change(
        ready.items,
        ready.registry,
        former,
        ready.owners.live,
        ready.owners.terminating,
        ready.order,
        ready.requests,
    )
    deleted = {
        step.ref: step.uid
        for stage in found.stages
        for step in stage.steps
        if isinstance(step, Delete)
    }
    permissions_check.require_delete(
        op.cluster, deleted, wanted=op.options.check_permissions
    )
    deletion_checks.refuse_foreign_deletion(op, deleted)
    return found
