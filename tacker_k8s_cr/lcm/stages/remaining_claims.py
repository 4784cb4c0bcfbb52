"""Find volume claims that outlive their StatefulSet, and their volumes."""

from __future__ import annotations

from collections.abc import Collection
import logging

from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages.claim_cleanup import ClaimCleanup
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action

LOG = logging.getLogger(__name__)

REMAINING_REASON = (
    "its StatefulSet was deleted; terminate deletes or retains its claims"
)


def find_remaining_claims(op: Session) -> dict[ObjectRef, str]:
    """Return the claims of StatefulSets that the operation deleted.

    They are retained until the instance is terminated.
    """
    inventory = op.inventory
    rules = tuple(
        one
        for one in inventory.claim_rules
        if op.actions.get(one.stateful_set) is Action.DELETED
    )
    cleanup = ClaimCleanup(op, rules, {}, excluded=frozenset(inventory.owned))
    try:
        found = cleanup.find().decisions
    except errors.ClusterError as error:
        LOG.warning("cannot list the remaining volume claims: %s", error)
        return {}
    return {
        **dict.fromkeys(sorted(found.deleted), REMAINING_REASON),
        **found.retained,
    }


def find_volumes_in_use(
    op: Session,
    refs: Collection[ObjectRef],
    deleted: Collection[ObjectRef] = (),
) -> dict[ObjectRef, str]:
    """Return the volumes that are bound to a claim that is not deleted.

    Kubernetes would not finish their deletion.

    :param refs: objects to delete.
    :param deleted: claims that are deleted with them.
    """
    cluster = op.cluster
    volumes = [ref for ref in refs if ref.group_kind == claims.VOLUME]
    bound = {
        ref: claim
        for ref, obj in results_or_raise(
            cluster.map_parallel(cluster.get, sorted(volumes))
        )
        if obj
        and (claim := claims.bound_claim(obj)) is not None
        and claim not in deleted
    }
    wanted = sorted(set(bound.values()))
    live = dict(
        results_or_raise(cluster.map_parallel(cluster.get_metadata, wanted))
    )
    return {
        ref: f"it is bound to {claim}, which is not deleted"
        for ref, claim in bound.items()
        if live[claim] is not None
    }
