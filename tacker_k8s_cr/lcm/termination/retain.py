"""What a termination retains, and how it is released."""

from __future__ import annotations

from collections.abc import Mapping
import logging

from tacker_k8s_cr.engine import claim_retention as retentions
from tacker_k8s_cr.engine import orphan as leaving
from tacker_k8s_cr.engine import retained_objects
from tacker_k8s_cr.engine.claim_retention import Retention
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import claims
from tacker_k8s_cr.lcm.stages.claims import FoundClaims
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.options import Options

LOG = logging.getLogger(__name__)


def manifests(op: Session, inventory: Inventory) -> dict[ObjectRef, Manifest]:
    """Return what the author specified for each object.

    An object that a change kept may be in no manifest any more; it is read.
    """
    before = inventory.previous_package
    known = manifest_annotations.manifests(before) if before else {}
    known.update(manifest_annotations.manifests(inventory))
    lost = [ref for ref in inventory.owned if ref not in known]
    live = results_or_raise(op.cluster.map_parallel(op.cluster.get, lost))
    known.update((ref, obj) for ref, obj in live if obj)
    return known


def find(
    op: Session,
    inventory: Inventory,
    specified: Retention,
    manifests: Mapping[ObjectRef, Manifest],
    said: Mapping[ObjectRef, tuple[bool, str]],
) -> tuple[dict[ObjectRef, str], FoundClaims]:
    """Return the objects to keep, with the reason, and the claims."""
    owned = inventory.without_owned(inventory.preexisting).owned
    kept = execute.stays(op, owned, manifests, said)
    stay = {*kept, *inventory.preexisting}
    found = claims.cleanup(op, inventory, specified, stay).find()
    return with_required(kept, found, owned, manifests, said), found


def with_required(
    kept: dict[ObjectRef, str],
    found: FoundClaims,
    owned: Mapping[ObjectRef, str],
    manifests: Mapping[ObjectRef, Manifest],
    said: Mapping[ObjectRef, tuple[bool, str]],
) -> dict[ObjectRef, str]:
    """Add the objects that retained claims require to the kept objects."""
    more = found.required_objects(owned)
    if not more.keys() - kept.keys():
        return kept
    stay = {ref: (True, why) for ref, why in {**more, **kept}.items()}
    return retained_objects.find_retained(owned, manifests, {**said, **stay})


def retention(
    policy: Policy, options: Options, terminating: bool
) -> Retention:
    """Return what is specified for the claims of StatefulSets.

    :param terminating: false when an instantiation is rolled back.
    """
    if terminating:
        return retentions.on_termination(policy, options)
    return retentions.on_rollback(policy, options)


def leave(
    op: Session, kept: Mapping[ObjectRef, str], why: Mapping[ObjectRef, str]
) -> dict[ObjectRef, str]:
    """Release the kept objects; return those that exist, with the reason.

    A repeated termination finds them already released.
    """
    there = leaving.orphan(
        op.ledger.fenced_cluster, kept, op.manager, op.ledger.guard
    )
    for ref in sorted(kept):
        if ref in there:
            LOG.info("%s: retained, now without instance: %s", ref, why[ref])
        else:
            LOG.warning("%s: not retained: it does not exist any more", ref)
    op.ledger.remove_owned(kept)
    return {ref: why[ref] for ref in sorted(there)}
