"""Validate a package, reporting the most useful errors first."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import secrets

from tacker_k8s_cr.engine import claim_retention
from tacker_k8s_cr.engine import preflight
from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.engine import replicas_paths
from tacker_k8s_cr.engine import unknown_fields
from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.capi import clusters
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.policy import DEFAULT
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm.preparation import live_checks
from tacker_k8s_cr.lcm.preparation import permissions_check
from tacker_k8s_cr.lcm.preparation.existing_objects import ExistingObjects
from tacker_k8s_cr.lcm.preparation.live_checks import LiveCheck
from tacker_k8s_cr.lcm.preparation.scale_levels import Size
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import field_validation
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.package import replica_counts
from tacker_k8s_cr.plan import naming
from tacker_k8s_cr.plan import order as orders
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import template_rotation
from tacker_k8s_cr.plan import waves
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.plan.order import Order
from tacker_k8s_cr.plan.placement import PlacedManifest


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A checked package, ready to be applied.

    :param items: what will be applied.
    :param authored: the manifests with names as in the package, placed.
    :param not_yet: objects that the server could not check yet.
    :param registry: with kinds that have no status sub-resource, and the
        readiness rules of the request.
    :param refused: what was left out, where that was requested: why.
    :param order: in which the objects are applied.
    :param expected: kinds that are not served yet, and without a definition.
    :param recreated: what has to be deleted and created again: why.
    :param predicted: the results of the dry run, for the requested objects.
    :param vnfd: the descriptor, with the counts that its steps start from.
    :param warnings: what the author of the package should know.
    :param generated: names that were chosen for manifests with a prefix.
    :param requests: manifests that the server answers and does not store.
    """

    items: tuple[PlacedManifest, ...]
    authored: tuple[Manifest, ...]
    owners: ExistingObjects
    not_yet: frozenset[ObjectRef]
    registry: Registry
    vdus: Mapping[str, ObjectRef]
    scale_levels: Mapping[str, int]
    live_names: Mapping[ObjectRef, str]
    refused: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)
    order: Order = orders.NONE
    expected: frozenset[GroupKind] = frozenset()
    recreated: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )
    predicted: Mapping[ObjectRef, Manifest] = dataclasses.field(
        default_factory=dict
    )
    vnfd: Vnfd | None = None
    warnings: tuple[str, ...] = ()
    generated: Mapping[str, str] = dataclasses.field(default_factory=dict)
    requests: tuple[PlacedManifest, ...] = ()


MANIFEST_SIZE = Size()
"""The size of a package without a descriptor: that of the manifests."""


@dataclasses.dataclass(frozen=True)
class PackageChoices:
    """What the caller chose for a package.

    :param size: the scale levels, and the replica counts of VDUs.
    :param sets_replicas: the size sets the replica counts of VDUs, whatever
        existing objects have; otherwise those of the objects are preserved.
    :param vdu_mapping: by VDU id, its object.
    """

    policy: Policy = DEFAULT
    size: Size = MANIFEST_SIZE
    sets_replicas: bool = False
    vdu_mapping: Mapping[str, str] | None = None


def prepare(
    op: Session,
    package: Package,
    before: Inventory,
    choices: PackageChoices,
    keep_predicted: Callable[[ObjectRef], bool] = lambda ref: False,
) -> Prepared:
    """Check a whole package. Writes nothing.

    :param before: the inventory so far, or an empty one.
    :param keep_predicted: which objects' predicted content is returned.
    """
    cluster, options = op.cluster, op.options
    policy, size = choices.policy, choices.size
    if not before.owned:  # otherwise it was checked when they were created
        preflight.require_supported_server(cluster)
    documents, generated = naming.with_names(
        package.documents, _generated_names(before), _random_suffix
    )
    found, registry = _resolve_kinds(
        cluster, documents, op.request.registry, policy
    )
    preflight.require_names(documents, found)
    create_only = [
        document
        for document in documents
        if GroupKind.of(document.manifest) in found.create_only
    ]
    requests = placement.place_create_only(
        create_only, found.namespaced, before.namespace, policy.namespace_mode
    )
    items = placement.place_manifests(
        [document for document in documents if document not in create_only],
        found.namespaced,
        before.instance,
        before.namespace,
        policy.namespace_mode,
        policy.labels,
    )
    preflight.refuse_record_objects(
        items, before.instance, before.record_namespace
    )
    vdus: Mapping[str, ObjectRef] = {}
    warnings = package.warnings
    if field_validation.is_lenient(options.field_validation):
        items, unknown_field_warnings = unknown_fields.remove_unknown_fields(
            cluster,
            items,
            before.instance,
            unserved=found.not_sendable,
            missing_namespaces=preflight.find_missing_namespaces(
                cluster, items, before.namespace
            ),
        )
        warnings += unknown_field_warnings
    vnfd = package.vnfd
    if vnfd:
        vdus = replicas.map_vdus(
            package,
            items,
            registry,
            found.subresources,
            choices.vdu_mapping,
        )
        warnings += tuple(_unmatched_vdu_warnings(vnfd, vdus))
        targets_by_vdu = replicas.scale_targets(
            vdus, registry, found.subresources
        )
        vnfd = _with_initial_counts(
            vnfd, size, targets_by_vdu, items, registry
        )
        wanted = {
            ref: size.counts[vdu]
            for vdu, ref in targets_by_vdu.items()
            if vdu in size.counts
        }
        items = replicas.with_level_replicas(items, registry, wanted)
    rotated = template_rotation.RotationResult(tuple(items), {})
    if contract.uses_cluster_api(item.ref for item in items):
        rotated = template_rotation.rotate(items, before)
    ready = Prepared(
        rotated.items,
        tuple(item.manifest for item in items),
        ExistingObjects({}, frozenset()),
        frozenset(),
        registry,
        vdus,
        size.levels,
        rotated.live_names,
        order=waves.order_of(items, registry, rotated.live_names),
        expected=found.expected,
        vnfd=vnfd,
        warnings=warnings,
        generated=generated,
        requests=requests,
    )
    fixed = frozenset(vdus.values()) if choices.sets_replicas else frozenset()
    with _with_source_locations(ready.items):
        return _check_live(
            LiveCheck(
                cluster,
                before,
                registry,
                found,
                options,
                fixed,
                keep_predicted=keep_predicted,
            ),
            ready,
            _sets_with_deleted_claims(ready.items, policy, options),
        )


@contextlib.contextmanager
def _with_source_locations(items: Iterable[PlacedManifest]) -> Iterator[None]:
    """Add the source locations of objects to an error."""
    try:
        yield
    except errors.Error as error:
        error.places = {item.ref: item.where for item in items}
        raise


def _generated_names(before: Inventory) -> dict[str, str]:
    """Return the generated names, including those before the last change."""
    former = (
        before.previous_package.generated if before.previous_package else {}
    )
    return {**former, **before.generated}


def _random_suffix() -> str:
    """Return a suffix, as random as those of Kubernetes."""
    letters = (secrets.choice(naming.LETTERS) for _ in range(naming.RANDOM))
    return "".join(letters)


def _unmatched_vdu_warnings(
    vnfd: Vnfd, vdus: Collection[str]
) -> Iterator[str]:
    """Yield a warning for each VDU without an object, maybe due to a typo."""
    for vdu in vnfd.vdus.values():
        if vdu.id not in vdus:
            yield (
                f"VDU {vdu.id}: no workload of the selected manifests is "
                f"named {vdu.name}; the VDU has no VNFC and is not scaled"
            )


def _with_initial_counts(
    vnfd: Vnfd,
    size: Size,
    targets: Mapping[str, ObjectRef],
    items: Sequence[PlacedManifest],
    registry: Registry,
) -> Vnfd:
    """Return the descriptor with the initial replica counts of VDUs.

    VDUs that the size does not include begin with the counts in manifests.
    """
    scaled = {vdu for aspect in vnfd.aspects.values() for vdu in aspect.steps}
    unsized = {
        vdu: ref
        for vdu, ref in targets.items()
        if vdu in scaled and vdu not in size.counts
    }
    manifest_counts = replicas.manifest_replicas(
        items, registry, unsized.values()
    )
    initial = {
        vdu: manifest_counts[ref]
        for vdu, ref in unsized.items()
        if ref in manifest_counts
    }
    return replica_counts.based(vnfd, size.levels, {**initial, **size.counts})


def prepare_from_record(
    op: Session,
    wanted: Inventory,
    now: Inventory,
    *,
    lenient: bool = False,
    recreate: Collection[ObjectRef] = (),
    only: Collection[ObjectRef] | None = None,
    options: Options | None = None,
) -> Prepared:
    """Check what an instance applied, now or before. Writes nothing.

    Replica counts of existing objects are preserved. Missing objects get the
    last requested count. A Job that has completed and was deleted is not
    recreated: it would run again.

    :param lenient: leave out what is refused, rather than raise.
    :param recreate: what may be recreated where it cannot be changed in place.
    :param only: which objects, without their order; None for all.
    """
    where = f"the record of {now.instance}"
    options = options or op.options
    documents = tuple(
        Document(manifest, where)
        for manifest in wanted.manifests
        if only is None or ObjectRef.of(manifest) in only
    )
    found, registry = _resolve_kinds(
        op.cluster, documents, op.request.registry, wanted.policy
    )
    items = tuple(
        PlacedManifest(
            ObjectRef.of(document.manifest), document.manifest, where
        )
        for document in documents
    )
    items = replicas.with_level_replicas(
        items, registry, replicas.desired_replicas(wanted)
    )
    ready = Prepared(
        template_rotation.with_live_names(items, wanted.live_names),
        wanted.manifests,
        ExistingObjects({}, frozenset()),
        frozenset(),
        registry,
        wanted.vdus,
        wanted.scale_levels,
        wanted.live_names,
        order=waves.order_of(items, registry, wanted.live_names)
        if only is None
        else orders.NONE,
        expected=found.expected,
        vnfd=wanted.vnfd,
        generated=wanted.generated,
    )
    check = LiveCheck(
        op.cluster,
        now,
        registry,
        found,
        options,
        lenient=lenient,
        recreate=recreate,
    )
    ready = _check_live(
        check,
        ready,
        _sets_with_deleted_claims(ready.items, wanted.policy, options),
    )
    completed = {
        item.ref
        for item in ready.items
        if registry[item.ref.group_kind].ephemeral
        and item.ref in wanted.owned
        and item.ref not in ready.owners.live
    }
    return dataclasses.replace(
        ready, items=tuple(i for i in ready.items if i.ref not in completed)
    )


def _resolve_kinds(
    cluster: Cluster,
    documents: Sequence[Document],
    registry: Registry,
    policy: Policy,
) -> tuple[preflight.KindResolution, Registry]:
    """Return how the kinds of a package are served, and their handlers."""
    expected = preflight.expected_kinds(documents, policy)
    found = preflight.resolve_kinds(cluster, documents, expected)
    preflight.validate_annotations(documents)
    manifests = [document.manifest for document in documents]
    known = preflight.with_statusless_kinds(registry, found.subresources)
    known = replicas_paths.with_scale_paths(
        cluster, known, found.subresources, manifests
    )
    known = known.with_handlers(
        preflight.claim_handlers(cluster, manifests, registry)
    )
    known = _with_workers(known, manifests)
    return found, policy.judging(known)


def _sets_with_deleted_claims(
    items: Iterable[PlacedManifest], policy: Policy, options: Options
) -> frozenset[ObjectRef]:
    """Return the StatefulSets whose claims are deleted at the end."""
    rules = (
        claims.claim_rule(
            item.manifest, claims.manifest_retention(item.manifest)
        )
        for item in items
    )
    resolved = claim_retention.on_rollback(policy, options).resolve(
        filter(None, rules)
    )
    return frozenset(
        one.stateful_set for one in resolved if one.retention == claims.DELETE
    )


def _with_workers(
    registry: Registry, manifests: Iterable[Manifest]
) -> Registry:
    """Add what a package specifies about the workers of its Clusters."""
    if registry[clusters.CLUSTER].name:  # a plugin provides the handler
        return registry
    return registry.with_handlers(clusters.with_workers(manifests))


def _check_live(
    check: LiveCheck, ready: Prepared, claim_sets: Collection[ObjectRef]
) -> Prepared:
    """Check permissions, and compare with the objects that exist."""
    with permissions_check.package_permissions(
        check.cluster,
        ready.items,
        check.before.record_namespace,
        vdus=tuple(ready.vdus.values()),
        requests=ready.requests,
        claim_sets=claim_sets,
        wanted=check.options.check_permissions,
    ) as permissions:
        checked = live_checks.check_against_live(
            check, ready.items, ready.order
        )
        permissions.shared = checked.owners.shared
    return dataclasses.replace(
        ready,
        items=checked.items,
        owners=checked.owners,
        not_yet=checked.not_yet,
        refused=checked.refused,
        order=checked.order,
        recreated=checked.recreated,
        predicted=checked.predicted,
    )


JUDGED_TOGETHER = ("Cluster", "PersistentVolumeClaim")
"""Kinds whose handler depends on other objects of the package."""


def registry_for(
    cluster: Cluster, registry: Registry, inventory: Inventory
) -> Registry:
    """Return the handlers for an instance.

    They include its kinds without status, and the readiness rules of its
    policy.
    """
    found = {}
    for kind in {ref.group_kind for ref in inventory.owned}:
        with contextlib.suppress(errors.KindNotServed):
            found[kind] = cluster.resource(kind).subresources
    registry = preflight.with_statusless_kinds(registry, found)
    registry = replicas_paths.with_scale_paths(
        cluster, registry, found, inventory.manifests
    )
    registry = registry.with_handlers(
        preflight.claim_handlers(cluster, inventory.manifests, registry)
    )
    registry = _with_workers(registry, inventory.manifests)
    return inventory.policy.judging(registry)
