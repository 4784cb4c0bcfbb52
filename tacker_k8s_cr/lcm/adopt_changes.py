"""Adopt changes that a management script made.

Tacker's container update scripts change objects of an instance without the
infrastructure driver. Until their changes are recorded they count as drift: a
heal would revert them, and a change of package would conflict.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr.engine import kind_resolution
from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.preparation import field_owners
from tacker_k8s_cr.lcm.preparation import kind_handlers
from tacker_k8s_cr.lcm.preparation import prepare_from_record
from tacker_k8s_cr.lcm.preparation import scale_levels as sizes
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.package import replica_counts
from tacker_k8s_cr.plan import container_update
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import naming
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.placement import PlacedManifest

LOG = logging.getLogger(__name__)


def adopt_changes(
    request: Request,
    package: Package,
) -> Report:
    """Record what a script changed to match a package.

    Only changes in the live objects are adopted: images of containers, and
    the content of ConfigMaps and Secrets. Our field manager then owns these
    fields, which changes no value and restarts no Pod. If an object differs
    from the record in other fields too, their owners do not change. Afterwards
    the package is that of the instance, and its descriptor determines the
    scaling aspects.

    :param package: that the script has applied.

    Raises InstanceStateConflict for an instance whose last operation ended
    early.
    """
    op = Session("adopt-changes", request)
    op.ledger.read(Phase.INSTANTIATED)
    before = execute.recovered_inventory(op)
    op.use_registry(
        kind_handlers.registry_for(op.cluster, request.registry, before)
    )
    items, found = _place(op, package, before)
    live, changed = _changed(op, before, items)
    after = _with_package(op, before, package, items, found, changed)
    with op.locked():
        op.ledger.write(after.with_journal(op.name, "", changed))
        _own_script_changes(op, after, live, changed, request.registry)
        op.ledger.save_idle(op.inventory)
    return op.report()


def _place(
    op: Session, package: Package, before: Inventory
) -> tuple[tuple[PlacedManifest, ...], kind_resolution.KindResolution]:
    """Return the manifests of the package whose kinds the server stores."""
    documents, _ = naming.with_names(
        package.documents, before.generated, lambda: ""
    )
    found = kind_resolution.resolve_kinds(op.cluster, documents)
    stored = [
        document
        for document in documents
        if objects.GroupKind.of(document.manifest) not in found.create_only
    ]
    policy = before.policy
    items = placement.place_manifests(
        stored,
        found.namespaced,
        before.instance,
        before.namespace,
        policy.namespace_mode,
        policy.labels,
    )
    return items, found


def _changed(
    op: Session, before: Inventory, items: Iterable[PlacedManifest]
) -> tuple[dict[ObjectRef, Manifest], dict[ObjectRef, Manifest]]:
    """Return the live objects that the script changed, and new manifests."""
    new = {item.ref: item.manifest for item in items}
    expected = {
        ref: manifest
        for ref, former in manifest_annotations.manifests(before).items()
        if ref in new
        and ref in before.owned
        and (manifest := container_update.updated_manifest(former, new[ref]))
    }
    objs = dict(
        results_or_raise(op.cluster.map_parallel(op.cluster.get, expected))
    )
    live = {
        ref: obj
        for ref, obj in objs.items()
        if obj
        and objects.uid(obj) == before.owned[ref]
        and container_update.is_updated(obj, expected[ref])
    }
    for ref in expected.keys() - live.keys():
        LOG.warning(
            "%s: %s differs from the package; its former manifest is retained "
            "in the record",
            op.instance,
            ref,
        )
    return live, {ref: expected[ref] for ref in live}


def _with_package(
    op: Session,
    before: Inventory,
    package: Package,
    items: tuple[PlacedManifest, ...],
    found: kind_resolution.KindResolution,
    changed: Mapping[ObjectRef, Manifest],
) -> Inventory:
    """Return the inventory with new manifests and the new descriptor."""
    manifests = tuple(
        changed.get(ref, manifest)
        for ref, manifest in manifest_annotations.manifests(before).items()
    )
    vnfd, vdus, levels = before.vnfd, before.vdus, before.scale_levels
    if package.vnfd:
        size = sizes.at_change(package.vnfd, before)
        vnfd = replica_counts.with_base(package.vnfd, size.levels, size.counts)
        levels = size.levels
        owned = [item for item in items if item.ref in before.owned]
        new = replicas.map_vdus(
            package, owned, op.registry, found.subresources
        )
        retained_vdus = {
            v: r for v, r in before.vdus.items() if v in vnfd.vdus
        }
        vdus = {**new, **retained_vdus}
    return dataclasses.replace(
        before,
        manifests=manifests,
        digest=package.digest,
        vnfd=vnfd,
        vdus=vdus,
        scale_levels=levels,
        previous_package=None,
        healing=None,
    )


def _own_script_changes(
    op: Session,
    after: Inventory,
    live: Mapping[ObjectRef, Manifest],
    changed: Mapping[ObjectRef, Manifest],
    registry: Registry,
) -> None:
    """Make our field manager the owner of what the script wrote."""
    if not changed:
        return
    options = dataclasses.replace(
        op.options, field_conflicts="force", dry_run=False
    )
    ready = prepare_from_record.prepare_from_record(
        op, after, after, only=changed, options=options
    )
    writing = op.ledger.fenced_cluster
    for item in ready.items:
        uid = after.owned[item.ref]
        predicted = writing.apply(
            item.manifest, op.manager, uid=uid, force=True, dry_run=True
        ).obj
        before = ownership.desired_content(live[item.ref])
        if before != ownership.desired_content(predicted):
            LOG.warning(
                "%s: %s differs from its manifest in other fields too; their "
                "owners do not change",
                op.instance,
                item.ref,
            )
            continue
        op.ledger.guard()
        writing.apply(item.manifest, op.manager, uid=uid, force=True)
        field_owners.own_alone(op, item.ref, uid)
        op.actions[item.ref] = Action.CONFIGURED
        LOG.info("%s: adopted what a script changed", item.ref)
