"""Report the drift of an instance. Writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib

from tacker_k8s_cr.engine import drift_detection
from tacker_k8s_cr.engine import preserve_replicas
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.preparation import kind_handlers
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import template_rotation
from tacker_k8s_cr.plan.drift import Drift
from tacker_k8s_cr.plan.drift import DriftReport
from tacker_k8s_cr.plan.drift import DriftRow
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.placement import PlacedManifest
from tacker_k8s_cr.plan.steps import LiveObject


def drift(
    request: Request,
) -> DriftReport:
    """Return how the objects of an instance differ from what it applied.

    Reported are objects that are missing, were recreated by another client,
    have their deletion requested, belong to another instance, or lost the
    instance's label, and each field of a manifest whose value differs from the
    manifest. A heal of all members restores what can be restored. Replica
    counts are not drift, whichever client set them, nor are fields that other
    field managers added.

    Each object is read, and its manifest applied as a dry run. Nothing is
    written; the server nevertheless requires permission to patch.
    """
    op = Session("drift", request)
    op.ledger.read()
    inventory = op.inventory
    registry = kind_handlers.registry_for(
        op.cluster, request.registry, inventory
    )
    items = _items(inventory)
    uids = dict.fromkeys((item.ref for item in items), "")
    uids.update(inventory.owned)
    for ref in inventory.shared:
        uids.pop(ref, None)
    observed = drift_detection.detect_metadata_drift(
        op.cluster, uids, op.instance
    )
    rows = {
        ref: row
        for ref, (row, _) in observed.items()
        # A completed ephemeral object may be deleted automatically.
        if Drift.MISSING not in row.drifts
        or not registry[ref.group_kind].ephemeral
    }
    existing = {
        ref: obj
        for ref, (row, obj) in observed.items()
        if obj is not None and set(row.drifts) <= {Drift.LABEL_MISSING}
    }
    live = {ref: LiveObject(inventory.owned[ref]) for ref in existing}
    reapplied = tuple(item for item in items if item.ref in existing)
    subresources = _subresources(op.cluster, reapplied)
    reapplied = preserve_replicas.with_live_replicas(
        op.cluster, reapplied, registry, live, subresources
    )
    live = preserve_replicas.with_replica_paths(
        reapplied, registry, live, subresources
    )
    fields = drift_detection.detect_field_drift(
        op.cluster, reapplied, op.instance, live, existing
    )
    return DriftReport(
        op.instance,
        op.namespace,
        inventory.phase.value,
        (*drift_detection.drifted_only(rows, fields), *_shared(op, inventory)),
        len(uids) + len(inventory.shared),
        request.deadline.now - op.begun,
        op.cluster.requests - op.requests,
    )


def _items(inventory: Inventory) -> tuple[PlacedManifest, ...]:
    """Return the recorded manifests with live names."""
    where = f"the record of {inventory.instance}"
    items = tuple(
        PlacedManifest(ObjectRef.of(manifest), manifest, where)
        for manifest in inventory.manifests
    )
    return template_rotation.with_live_names(items, inventory.live_names)


def _subresources(
    cluster: Cluster, items: tuple[PlacedManifest, ...]
) -> Mapping[GroupKind, frozenset[str]]:
    found = {}
    for kind in {item.ref.group_kind for item in items}:
        with contextlib.suppress(errors.KindNotServed):
            found[kind] = cluster.resource(kind).subresources
    return found


def _shared(op: Session, inventory: Inventory) -> tuple[DriftRow, ...]:
    """Return shared objects that their owner has deleted."""
    shared_objects = results_or_raise(
        op.cluster.map_parallel(op.cluster.get_metadata, inventory.shared)
    )
    why = "it is shared, and its owner deleted it"
    return tuple(
        DriftRow(ref, "", (Drift.MISSING,), why)
        for ref, obj in sorted(shared_objects, key=lambda found: found[0])
        if obj is None
    )
