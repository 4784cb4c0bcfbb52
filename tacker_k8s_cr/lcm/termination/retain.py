"""Find the objects that a termination retains, and release them."""

from __future__ import annotations

from collections.abc import Mapping
import logging

from tacker_k8s_cr.engine import claim_retention as retentions
from tacker_k8s_cr.engine import orphan
from tacker_k8s_cr.engine import retained_objects
from tacker_k8s_cr.engine.claim_retention import Retention
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.execution import deletion_checks
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import claim_cleanup
from tacker_k8s_cr.lcm.stages.found_claims import FoundClaims
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.options import Options

LOG = logging.getLogger(__name__)


def read_manifests(
    op: Session, inventory: Inventory
) -> dict[ObjectRef, Manifest]:
    """Return what the author specified for each object.

    An object that a change retained may have no manifest; it is read.
    """
    before = inventory.previous_package
    known = manifest_annotations.manifests(before) if before else {}
    known.update(manifest_annotations.manifests(inventory))
    unknown = [ref for ref in inventory.owned if ref not in known]
    live = results_or_raise(op.cluster.map_parallel(op.cluster.get, unknown))
    known.update((ref, obj) for ref, obj in live if obj)
    return known


def find_retained_objects(
    op: Session,
    inventory: Inventory,
    specified: Retention,
    manifests: Mapping[ObjectRef, Manifest],
    choices: Mapping[ObjectRef, tuple[bool, str]],
) -> tuple[dict[ObjectRef, str], FoundClaims]:
    """Return the objects to retain, with the reason, and the claims."""
    owned = inventory.without_owned(inventory.preexisting).owned
    retained = deletion_checks.find_retained(op, owned, manifests, choices)
    not_deleted = {*retained, *inventory.preexisting}
    found = claim_cleanup.create_cleanup(
        op, inventory, specified, not_deleted
    ).find()
    return with_required(retained, found, owned, manifests, choices), found


def with_required(
    retained: dict[ObjectRef, str],
    found: FoundClaims,
    owned: Mapping[ObjectRef, str],
    manifests: Mapping[ObjectRef, Manifest],
    choices: Mapping[ObjectRef, tuple[bool, str]],
) -> dict[ObjectRef, str]:
    """Add the objects that retained claims require."""
    required = found.required_objects(owned)
    if not required.keys() - retained.keys():
        return retained
    required_choices = {
        ref: (True, why) for ref, why in {**required, **retained}.items()
    }
    return retained_objects.find_retained(
        owned, manifests, {**choices, **required_choices}
    )


def retention(
    policy: Policy, options: Options, terminating: bool
) -> Retention:
    """Return what is specified for the claims of StatefulSets.

    :param terminating: false when an instantiation is rolled back.
    """
    if terminating:
        return retentions.on_termination(policy, options)
    return retentions.on_rollback(policy, options)


def release(
    op: Session,
    retained: Mapping[ObjectRef, str],
    why: Mapping[ObjectRef, str],
) -> dict[ObjectRef, str]:
    """Release retained objects; return existing ones, with the reason.

    A repeated termination finds them already released.
    """
    existing = orphan.orphan(
        op.ledger.fenced_cluster, retained, op.manager, op.ledger.guard
    )
    for ref in sorted(retained):
        if ref in existing:
            LOG.info(
                "%s: retained, no longer managed by any instance: %s",
                ref,
                why[ref],
            )
        else:
            LOG.warning("%s: cannot be retained, it no longer exists", ref)
    op.ledger.remove_owned(retained)
    return {ref: why[ref] for ref in sorted(existing)}
