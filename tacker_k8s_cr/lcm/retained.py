"""What a termination retains, and how it is released."""

from __future__ import annotations

from collections.abc import Mapping
import logging

from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import claims
from tacker_k8s_cr.lcm.claims import FoundClaims
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.planning import authored
from tacker_k8s_cr.policy import Policy
from tacker_k8s_cr.terminating import leave as leaving
from tacker_k8s_cr.terminating import retention as retentions
from tacker_k8s_cr.terminating import staying
from tacker_k8s_cr.terminating.retention import Retention

LOG = logging.getLogger(__name__)


def manifests(
    op: Operation, inventory: Inventory
) -> dict[ObjectRef, Manifest]:
    """Return what the author specified for each object.

    An object that a change kept may be in no manifest any more; it is read.
    """
    before = inventory.before
    known = authored.manifests(before) if before else {}
    known.update(authored.manifests(inventory))
    lost = [ref for ref in inventory.owned if ref not in known]
    live = raised(op.cluster.each(op.cluster.get, lost))
    known.update((ref, obj) for ref, obj in live if obj)
    return known


def find(
    op: Operation,
    inventory: Inventory,
    specified: Retention,
    manifests: Mapping[ObjectRef, Manifest],
    said: Mapping[ObjectRef, tuple[bool, str]],
) -> tuple[dict[ObjectRef, str], FoundClaims]:
    """Return the objects to keep, with the reason, and the claims."""
    owned = inventory.without(inventory.met).owned
    kept = carry.stays(op, owned, manifests, said)
    stay = {*kept, *inventory.met}
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
    return staying.staying(owned, manifests, {**said, **stay})


def retention(
    policy: Policy, options: Options, terminating: bool
) -> Retention:
    """Return what is specified for the claims of StatefulSets.

    :param terminating: false when an instantiation is rolled back.
    """
    if terminating:
        return retentions.of_termination(policy, options)
    return retentions.of_rollback(policy, options)


def leave(
    op: Operation, kept: Mapping[ObjectRef, str], why: Mapping[ObjectRef, str]
) -> dict[ObjectRef, str]:
    """Release the kept objects; return those that exist, with the reason.

    A repeated termination finds them already released.
    """
    there = leaving.left(op.ledger.writing, kept, op.manager, op.ledger.guard)
    for ref in sorted(kept):
        if ref in there:
            LOG.info("%s: retained, now without instance: %s", ref, why[ref])
        else:
            LOG.warning("%s: not retained: it does not exist any more", ref)
    op.ledger.disown(kept)
    return {ref: why[ref] for ref in sorted(there)}
