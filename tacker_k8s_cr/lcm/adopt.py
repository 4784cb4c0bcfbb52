"""Adopt an instance that another program has instantiated.

The objects stay as they are: no Pod is restarted and no value is changed.
Afterwards they are the instance's as if it had made them.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import logging

from tacker_k8s_cr.engine import preflight
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
from tacker_k8s_cr.plan.inventory import Phase
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
    """Take over the live objects of a package, which stay as they are.

    An object that differs from its manifest keeps its values, and the record
    has them; the report names the fields. What does not exist is left out, and
    a later change of package creates it. Number of replicas are those of the
    live objects, and scaling aspects count from there.

    To repeat an adoption that ended early is to finish it.

    :param scale_levels: the level of each aspect now.
    :param select_created: which of the live objects are deleted with the
        instance. The others are used, and left at the end.

    :raises OwnedByOther: objects belong to another instance.
    :raises InstanceExists: the instance has a record already.
    """
    namespace = request.namespace or DEFAULT_NAMESPACE
    request = dataclasses.replace(request, namespace=namespace)
    op = Session("adopt", request)
    op.ledger.read()
    if op.ledger.entry and not _is_begun(op):
        raise errors.InstanceExists(request.instance, op.inventory.phase.value)
    met = _met(op, package, policy, request.registry)
    inventory = dataclasses.replace(
        _inventory(op, package, met, scale_levels or {}, vdu_mapping),
        policy=policy,
        preexisting=frozenset(met.live.keys() - set(select_created(met.live))),
    )
    # The replica count is not compared: the scale level determines it.
    sized = replicas.desired_replicas(inventory)
    items = replicas.with_level_replicas(met.items, op.registry, sized)
    with permissions_check.package_permissions(
        op.cluster,
        items,
        op.home,
        vdus=tuple(inventory.vdus.values()),
        wanted=request.options.check_permissions,
    ):
        manifests = {
            item.ref: field_owners.as_live(op, item, met.live[item.ref])
            for item in items
        }
    inventory = dataclasses.replace(
        inventory, manifests=tuple(manifests.values())
    )
    with op.locked():
        op.ledger.write(inventory.with_journal(op.name, "", manifests))
        for ref, manifest in manifests.items():
            field_owners.own(op, manifest, met.live[ref])
        op.ledger.save_idle(op.inventory)
    op.snapshot(inventory.owned)
    op.actions = dict.fromkeys(inventory.owned, Action.ADOPTED)
    return op.report()


def _is_begun(op: Session) -> bool:
    """Whether the record is of an adoption that ended early.

    It may have died before its record had any content.
    """
    journal = op.inventory.journal
    empty = not (op.inventory.owned or journal.operation)
    return journal.operation == op.name or (
        empty and op.inventory.phase is Phase.INSTANTIATING
    )


# -- What there is -----------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Met:
    """The objects of the package that exist.

    :param items: their manifests.
    :param live: the objects themselves.
    :param subresources: by kind, such as ``scale``.
    """

    items: tuple[PlacedManifest, ...]
    live: Mapping[ObjectRef, Manifest]
    subresources: Mapping[objects.GroupKind, frozenset[str]]


def _met(
    op: Session, package: Package, policy: Policy, registry: Registry
) -> _Met:
    """Read the existing objects of the package. Raises OwnedByOther.

    Objects of kinds that the server does not store are skipped.
    """
    documents = tuple(_served(op, package))
    found = preflight.resolve_kinds(op.cluster, documents)
    kept = [
        document
        for document in documents
        if objects.GroupKind.of(document.manifest) not in found.create_only
    ]
    items = placement.place_manifests(
        kept,
        found.namespaced,
        op.instance,
        op.namespace,
        policy.namespace_mode,
        policy.labels,
    )
    known = preflight.with_statusless_kinds(registry, found.subresources)
    op.use_registry(policy.judging(known))
    live = _live(op, items)
    _refuse_others(op, live)
    there = [item for item in items if item.ref in live]
    # The client that created the objects got no error for such fields.
    fitting, misfits = unknown_fields.remove_unknown_fields(
        op.cluster, there, op.instance
    )
    absent = (
        f"{item.ref} ({item.where}) does not exist and is not adopted"
        for item in items
        if item.ref not in live
    )
    op.warn((*package.warnings, *absent, *misfits))
    return _Met(fitting, live, found.subresources)


def _served(op: Session, package: Package) -> Iterator[Document]:
    without = naming.unnamed_documents(package.documents)
    for document in package.documents:
        if document in without or not document.manifest["metadata"].get(
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


def _refuse_others(op: Session, live: Mapping[ObjectRef, Manifest]) -> None:
    refused = {}
    for ref, obj in live.items():
        for label in (objects.INSTANCE, objects.VNF_INSTANCE):
            other = objects.labels(obj).get(label, op.instance)
            if other != op.instance:
                refused[ref] = f"the instance {other}"
    if refused:
        raise errors.OwnedByOther(refused)


# -- What the record will have -----------------------------------------------


def _inventory(
    op: Session,
    package: Package,
    met: _Met,
    scale_levels: Mapping[str, int],
    vdu_mapping: Mapping[str, str] | None,
) -> Inventory:
    levels = dict(scale_levels)
    vdus: Mapping[str, ObjectRef] = {}
    vnfd = package.vnfd
    if vnfd:
        vdus = replicas.map_vdus(
            package, met.items, op.registry, met.subresources, vdu_mapping
        )
        levels = {**dict.fromkeys(vnfd.aspects, 0), **levels}
        sized = replicas.scale_targets(vdus, op.registry, met.subresources)
        now = {
            vdu: number
            for vdu, ref in sized.items()
            if (number := _number(op.registry, ref, met.live)) is not None
        }
        vnfd = replica_counts.based(vnfd, levels, now)
    return Inventory(
        op.instance,
        op.namespace,
        separate_record_namespace=op.record_namespace,
        phase=Phase.INSTANTIATED,
        owned={ref: objects.uid(obj) for ref, obj in met.live.items()},
        digest=package.digest,
        vnfd=vnfd,
        vdus=vdus,
        scale_levels=levels,
    )


def _number(
    registry: Registry, ref: ObjectRef, live: Mapping[ObjectRef, Manifest]
) -> int | None:
    """The number of replicas that a scale target asks for now."""
    obj = live[topology_replicas.cluster_ref(ref)]
    if entry := topology_replicas.parse_ref(ref):
        return topology_replicas.number(obj, entry)
    path = replicas.replicas_path(registry, ref.group_kind)
    number = objects.field(obj, path)
    return number if isinstance(number, int) else None
