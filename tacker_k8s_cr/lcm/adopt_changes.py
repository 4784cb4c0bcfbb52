"""Take changes that a management script made into the record.

Tacker's container update scripts change objects of an instance without the
infrastructure driver. Until their changes are in the record they look like
drift: a heal would revert them, and a change of package would conflict.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr.engine import preflight
from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.preparation import field_owners
from tacker_k8s_cr.lcm.preparation import prepare
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
from tacker_k8s_cr.plan.inventory import Phase
from tacker_k8s_cr.plan.placement import PlacedManifest

LOG = logging.getLogger(__name__)


def adopt_changes(
    request: Request,
    package: Package,
) -> Report:
    """Take what a script changed to match a package into the record.

    Only what the live objects show is taken: images of containers, and the
    content of ConfigMaps and Secrets. Our field manager then owns these
    fields, which changes no value and restarts no Pod. An object that differs
    from the record in other fields too keeps their owners. Afterwards the
    instance is of the package, and its scaling aspects count by the package's
    descriptor.

    :param package: which the script has brought the instance to.

    Raises InstanceStateConflict for an instance whose last operation ended
    early.
    """
    op = Session("adopt-changes", request)
    op.ledger.read(Phase.INSTANTIATED)
    before = execute.recovered_inventory(op)
    op.use_registry(prepare.registry_for(op.cluster, request.registry, before))
    items, found = _placed(op, package, before)
    live, changed = _changed(op, before, items)
    after = _with_package(op, before, package, items, found, changed)
    with op.locked():
        op.ledger.write(after.with_journal(op.name, "", changed))
        _own(op, after, live, changed, request.registry)
        op.ledger.save_idle(op.inventory)
    return op.report()


def _placed(
    op: Session, package: Package, before: Inventory
) -> tuple[tuple[PlacedManifest, ...], preflight.KindResolution]:
    """The manifests of the package that are of kinds the server has."""
    documents, _ = naming.with_names(
        package.documents, before.generated, lambda: ""
    )
    found = preflight.resolve_kinds(op.cluster, documents)
    kept = [
        document
        for document in documents
        if objects.GroupKind.of(document.manifest) not in found.create_only
    ]
    policy = before.policy
    items = placement.place_manifests(
        kept,
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
    """The live objects that the script changed, and their new manifests."""
    new = {item.ref: item.manifest for item in items}
    wanted = {
        ref: manifest
        for ref, former in manifest_annotations.manifests(before).items()
        if ref in new
        and ref in before.owned
        and (manifest := container_update.updated_manifest(former, new[ref]))
    }
    views = dict(
        results_or_raise(op.cluster.map_parallel(op.cluster.get, wanted))
    )
    live = {
        ref: obj
        for ref, obj in views.items()
        if obj
        and objects.uid(obj) == before.owned[ref]
        and container_update.is_updated(obj, wanted[ref])
    }
    for ref in wanted.keys() - live.keys():
        LOG.warning(
            "%s: %s is not as the package of the instance has it; its former "
            "manifest stays in the record",
            op.instance,
            ref,
        )
    return live, {ref: wanted[ref] for ref in live}


def _with_package(
    op: Session,
    before: Inventory,
    package: Package,
    items: tuple[PlacedManifest, ...],
    found: preflight.KindResolution,
    changed: Mapping[ObjectRef, Manifest],
) -> Inventory:
    """The inventory with the new manifests and the package's descriptor."""
    manifests = tuple(
        changed.get(ref, manifest)
        for ref, manifest in manifest_annotations.manifests(before).items()
    )
    vnfd, vdus, levels = before.vnfd, before.vdus, before.scale_levels
    if package.vnfd:
        size = sizes.at_change(package.vnfd, before)
        vnfd = replica_counts.based(package.vnfd, size.levels, size.numbers)
        levels = size.levels
        owned = [item for item in items if item.ref in before.owned]
        new = replicas.map_vdus(
            package, owned, op.registry, found.subresources
        )
        known = {v: r for v, r in before.vdus.items() if v in vnfd.vdus}
        vdus = {**new, **known}
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


def _own(
    op: Session,
    after: Inventory,
    live: Mapping[ObjectRef, Manifest],
    changed: Mapping[ObjectRef, Manifest],
    registry: Registry,
) -> None:
    """Let our field manager own what the script wrote."""
    if not changed:
        return
    options = dataclasses.replace(
        op.options, field_conflicts="force", dry_run=False
    )
    ready = prepare.prepare_from_record(
        op, after, after, only=changed, options=options
    )
    writing = op.ledger.fenced_cluster
    for item in ready.items:
        uid = after.owned[item.ref]
        would = writing.apply(
            item.manifest, op.manager, uid=uid, force=True, dry_run=True
        ).obj
        before = ownership.content(live[item.ref])
        if before != ownership.content(would):
            LOG.warning(
                "%s: %s differs from its manifest in other fields too; their "
                "owners stay as they are",
                op.instance,
                item.ref,
            )
            continue
        op.ledger.guard()
        writing.apply(item.manifest, op.manager, uid=uid, force=True)
        field_owners.take_over(op, item.ref, uid)
        op.actions[item.ref] = Action.CONFIGURED
        LOG.info("%s: adopted what a script changed", item.ref)
