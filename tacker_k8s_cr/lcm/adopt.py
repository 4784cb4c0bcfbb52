"""Adopt an instance that another program has instantiated.

The objects do not change: no Pod is restarted and no value is changed.
Afterwards the instance owns them as if it had created them.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import logging

from tacker_k8s_cr.engine import kind_resolution
from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.engine import unknown_fields
from tacker_k8s_cr.kinds import policy as policies
from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.preparation import field_owners
from tacker_k8s_cr.lcm.preparation import permissions_check
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import DEFAULT_NAMESPACE
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.package import replica_counts
from tacker_k8s_cr.plan import naming
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.placement import PlacedManifest

LOG = logging.getLogger(__name__)

Select = Callable[[Mapping[ObjectRef, Manifest]], Collection[ObjectRef]]
"""Of live objects, those that the other program has created."""


def adopt(
    request: Request,
    package: Package,
    *,
    scale_levels: Mapping[str, int] | None = None,
    vdu_mapping: Mapping[str, str] | None = None,
    select_created: Select = lambda live: live.keys(),
    policy: Policy = policies.DEFAULT,
) -> Report:
    """Adopt the live objects of a package without changing them.

    Live values that differ from the manifest are recorded; the report names
    the fields. Missing objects are left out, and a later change of package
    creates them. Replica counts are those of the live objects, and scaling
    aspects count from there.

    Repeating an adoption that ended early completes it.

    :param scale_levels: the level of each aspect now.
    :param select_created: which of the live objects are deleted with the
        instance. All others are only used, and released at the end.

    :raises OwnedByOther: objects belong to another instance.
    :raises InstanceExists: the instance has a record already.
    """
    namespace = request.namespace or DEFAULT_NAMESPACE
    request = dataclasses.replace(request, namespace=namespace)
    op = Session("adopt", request)
    op.ledger.read()
    if op.ledger.entry and not _is_begun(op):
        raise errors.InstanceExists(request.instance, op.inventory.phase.value)
    existing = _find_existing(op, package, policy, request.registry)
    inventory = dataclasses.replace(
        _inventory(op, package, existing, scale_levels or {}, vdu_mapping),
        policy=policy,
        preexisting=frozenset(
            existing.live.keys() - set(select_created(existing.live))
        ),
    )
    # The replica count is not compared: the scale level determines it.
    replica_targets = replicas.desired_replicas(inventory)
    items = replicas.with_level_replicas(
        existing.items, op.registry, replica_targets
    )
    with permissions_check.package_permissions(
        op.cluster,
        items,
        op.record_namespace,
        vdus=tuple(inventory.vdus.values()),
        wanted=request.options.check_permissions,
    ):
        manifests = {
            item.ref: field_owners.with_live_values(
                op, item, existing.live[item.ref]
            )
            for item in items
        }
    inventory = dataclasses.replace(
        inventory, manifests=tuple(manifests.values())
    )
    with op.locked():
        op.ledger.write(inventory.with_journal(op.name, "", manifests))
        for ref, manifest in manifests.items():
            field_owners.apply_and_own(op, manifest, existing.live[ref])
        op.ledger.save_idle(op.inventory)
    op.snapshot(inventory.owned)
    op.actions = dict.fromkeys(inventory.owned, Action.ADOPTED)
    return op.report()


def _is_begun(op: Session) -> bool:
    """Return whether the record is of an adoption that ended early.

    It may have been killed before its record had any content.
    """
    journal = op.inventory.journal
    empty = not (op.inventory.owned or journal.operation)
    return journal.operation == op.name or (
        empty and op.inventory.phase is Phase.INSTANTIATING
    )


# -- Existing objects --------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _ExistingObjects:
    """The objects of the package that exist.

    :param items: their manifests.
    :param live: the objects themselves.
    :param subresources: by kind, such as ``scale``.
    """

    items: tuple[PlacedManifest, ...]
    live: Mapping[ObjectRef, Manifest]
    subresources: Mapping[objects.GroupKind, frozenset[str]]


def _find_existing(
    op: Session, package: Package, policy: Policy, registry: Registry
) -> _ExistingObjects:
    """Read the existing objects of the package. Raises OwnedByOther.

    Objects of kinds that the server does not store are skipped.
    """
    documents = tuple(_served(op, package))
    found = kind_resolution.resolve_kinds(op.cluster, documents)
    stored = [
        document
        for document in documents
        if objects.GroupKind.of(document.manifest) not in found.create_only
    ]
    items = placement.place_manifests(
        stored,
        found.namespaced,
        op.instance,
        op.namespace,
        policy.namespace_mode,
        policy.labels,
    )
    registry_ = kind_resolution.with_statusless_kinds(
        registry, found.subresources
    )
    op.use_registry(policy.apply_to(registry_))
    live = _live(op, items)
    _require_unowned(op, live)
    existing_items = [item for item in items if item.ref in live]
    # The client that created the objects got no error for such fields.
    accepted, unknown_field_warnings = unknown_fields.remove_unknown_fields(
        op.cluster, existing_items, op.instance
    )
    missing = (
        f"{item.ref} ({item.where}) does not exist and is not adopted"
        for item in items
        if item.ref not in live
    )
    op.warn((*package.warnings, *missing, *unknown_field_warnings))
    return _ExistingObjects(accepted, live, found.subresources)


def _served(op: Session, package: Package) -> Iterator[Document]:
    unnamed = naming.unnamed_documents(package.documents)
    for document in package.documents:
        if document in unnamed or not document.manifest["metadata"].get(
            "name"
        ):
            continue
        with contextlib.suppress(errors.KindNotServed):
            kind = objects.GroupKind.of(document.manifest)
            _, version = objects.split_api_version(
                document.manifest["apiVersion"]
            )
            op.cluster.resource(kind, version)
            yield document


def _live(
    op: Session, items: tuple[PlacedManifest, ...]
) -> dict[ObjectRef, Manifest]:
    views = results_or_raise(
        op.cluster.map_parallel(op.cluster.get, [i.ref for i in items])
    )
    found = {ref: obj for ref, obj in views if obj is not None}
    return {item.ref: found[item.ref] for item in items if item.ref in found}


def _require_unowned(op: Session, live: Mapping[ObjectRef, Manifest]) -> None:
    refused = {}
    for ref, obj in live.items():
        for label in (objects.INSTANCE, objects.VNF_INSTANCE):
            owner = objects.labels(obj).get(label, op.instance)
            if owner != op.instance:
                refused[ref] = f"the instance {owner}"
    if refused:
        raise errors.OwnedByOther(refused)


# -- The record --------------------------------------------------------------


def _inventory(
    op: Session,
    package: Package,
    existing: _ExistingObjects,
    scale_levels: Mapping[str, int],
    vdu_mapping: Mapping[str, str] | None,
) -> Inventory:
    levels = dict(scale_levels)
    vdus: Mapping[str, ObjectRef] = {}
    vnfd = package.vnfd
    if vnfd:
        vdus = replicas.map_vdus(
            package,
            existing.items,
            op.registry,
            existing.subresources,
            vdu_mapping,
        )
        levels = {**dict.fromkeys(vnfd.aspects, 0), **levels}
        replica_targets = replicas.scale_targets(
            vdus, op.registry, existing.subresources
        )
        counts = {
            vdu: count
            for vdu, ref in replica_targets.items()
            if (count := _current_count(op.registry, ref, existing.live))
            is not None
        }
        vnfd = replica_counts.with_base(vnfd, levels, counts)
    return Inventory(
        op.instance,
        op.namespace,
        separate_record_namespace=op.separate_record_namespace,
        phase=Phase.INSTANTIATED,
        owned={ref: objects.uid(obj) for ref, obj in existing.live.items()},
        digest=package.digest,
        vnfd=vnfd,
        vdus=vdus,
        scale_levels=levels,
    )


def _current_count(
    registry: Registry, ref: ObjectRef, live: Mapping[ObjectRef, Manifest]
) -> int | None:
    """Return the current replica count of a scale target."""
    obj = live[topology_replicas.cluster_ref(ref)]
    if entry := topology_replicas.parse_ref(ref):
        return topology_replicas.replicas(obj, entry)
    path = replicas.replicas_path(registry, ref.group_kind)
    count = objects.field(obj, path)
    return count if isinstance(count, int) else None
