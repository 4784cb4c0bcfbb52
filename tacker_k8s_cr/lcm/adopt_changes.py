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

from tacker_k8s_cr import kinds
from tacker_k8s_cr import objects
from tacker_k8s_cr import ownership
from tacker_k8s_cr.applying import check
from tacker_k8s_cr.applying import replicas
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import field_owners
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm import size as sizes
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import DEFAULT
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.package import numbers
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.planning import authored
from tacker_k8s_cr.planning import container_update
from tacker_k8s_cr.planning import naming
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report

LOG = logging.getLogger(__name__)


def adopt_changes(
    cluster: Cluster,
    instance: str,
    package: Package,
    *,
    namespace: str = "",
    record_namespace: str = "",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
    options: Options = DEFAULT,
) -> Report:
    """Take what a script changed to match a package into the record.

    Only what the live objects show is taken: images of containers, and the
    content of ConfigMaps and Secrets. Our field manager then owns these
    fields, which changes no value and restarts no Pod. An object that differs
    from the record in other fields too keeps their owners. Afterwards the
    instance is of the package, and its scaling aspects count by the package's
    descriptor.

    :param package: which the script has brought the instance to.

    Raises InstanceExists for an instance whose last operation ended early.
    """
    op = Operation(
        "adopt-changes",
        cluster,
        instance,
        namespace,
        deadline,
        options,
        None,
        record_namespace,
    )
    op.ledger.read(Phase.INSTANTIATED)
    before = carry.taken_up(op)
    op.knowing(prepare.known(op.cluster, registry, before))
    items, found = _placed(op, package, before)
    live, changed = _changed(op, before, items)
    after = _with_package(op, before, package, items, found, changed)
    with op.locked():
        op.ledger.write(after.entering(op.name, "", changed))
        _own(op, after, live, changed, registry)
        op.ledger.rest(op.inventory)
    return op.report()


def _placed(
    op: Operation, package: Package, before: Inventory
) -> tuple[tuple[Placed, ...], check.Kinds]:
    """The manifests of the package that are of kinds the server has."""
    documents, _ = naming.named(
        package.documents, before.generated, lambda: ""
    )
    found = check.kinds(op.cluster, documents)
    kept = [
        document
        for document in documents
        if objects.GroupKind.of(document.manifest) not in found.create_only
    ]
    policy = before.policy
    items = placing.placed(
        kept,
        found.namespaced,
        before.instance,
        before.namespace,
        policy.namespaces,
        policy.labels,
    )
    return items, found


def _changed(
    op: Operation, before: Inventory, items: Iterable[Placed]
) -> tuple[dict[ObjectRef, Manifest], dict[ObjectRef, Manifest]]:
    """The live objects that the script changed, and their new manifests."""
    new = {item.ref: item.manifest for item in items}
    wanted = {
        ref: manifest
        for ref, former in authored.manifests(before).items()
        if ref in new
        and ref in before.owned
        and (manifest := container_update.updated(former, new[ref]))
    }
    views = dict(raised(op.cluster.each(op.cluster.get, wanted)))
    live = {
        ref: obj
        for ref, obj in views.items()
        if obj
        and objects.uid(obj) == before.owned[ref]
        and container_update.is_shown(obj, wanted[ref])
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
    op: Operation,
    before: Inventory,
    package: Package,
    items: tuple[Placed, ...],
    found: check.Kinds,
    changed: Mapping[ObjectRef, Manifest],
) -> Inventory:
    """The inventory with the new manifests and the package's descriptor."""
    manifests = tuple(
        changed.get(ref, manifest)
        for ref, manifest in authored.manifests(before).items()
    )
    vnfd, vdus, levels = before.vnfd, before.vdus, before.scale_levels
    if package.vnfd:
        size = sizes.at_change(package.vnfd, before)
        vnfd = numbers.based(package.vnfd, size.levels, size.numbers)
        levels = size.levels
        owned = [item for item in items if item.ref in before.owned]
        new = replicas.vdus(package, owned, op.registry, found.subresources)
        known = {v: r for v, r in before.vdus.items() if v in vnfd.vdus}
        vdus = {**new, **known}
    return dataclasses.replace(
        before,
        manifests=manifests,
        digest=package.digest,
        vnfd=vnfd,
        vdus=vdus,
        scale_levels=levels,
        before=None,
        healing=None,
    )


def _own(
    op: Operation,
    after: Inventory,
    live: Mapping[ObjectRef, Manifest],
    changed: Mapping[ObjectRef, Manifest],
    registry: Registry,
) -> None:
    """Let our field manager own what the script wrote."""
    if not changed:
        return
    options = dataclasses.replace(op.options, conflict="take", dry_run=False)
    ready = prepare.recorded(
        op.cluster, after, after, registry, options, only=changed
    )
    writing = op.ledger.writing
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
