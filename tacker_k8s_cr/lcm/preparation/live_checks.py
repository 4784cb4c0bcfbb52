"""Check the manifests of a package against existing objects."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.engine import dry_run
from tacker_k8s_cr.engine import find_unchanged
from tacker_k8s_cr.engine import kind_resolution
from tacker_k8s_cr.engine import kubernetes_versions
from tacker_k8s_cr.engine import preflight
from tacker_k8s_cr.engine import preserve_replicas
from tacker_k8s_cr.engine import recreation
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm.preparation import existing_objects
from tacker_k8s_cr.lcm.preparation.existing_objects import ExistingObjects
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.plan.order import Order
from tacker_k8s_cr.plan.placement import PlacedManifest
from tacker_k8s_cr.plan.steps import LiveObject


@dataclasses.dataclass(frozen=True)
class CheckedPackage:
    """The result of the comparison of a package with existing objects.

    :param items: what will be applied, with the replica counts to preserve.
    :param not_yet: objects that the server could not check yet.
    :param refused: what was left out, where that was requested, and why.
    :param order: in which objects are applied, workers after control planes.
    :param recreated: what has to be deleted and created again, and why.
    :param predicted: the dry run's results, for the requested objects.
    """

    items: tuple[PlacedManifest, ...]
    owners: ExistingObjects
    not_yet: frozenset[ObjectRef]
    refused: Mapping[ObjectRef, str]
    order: Order
    recreated: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )
    predicted: Mapping[ObjectRef, Manifest] = dataclasses.field(
        default_factory=dict
    )


@dataclasses.dataclass(frozen=True)
class LiveCheck:
    """A comparison of manifests with the objects that exist.

    :param before: the inventory so far.
    :param kinds: how the kinds of the package are served.
    :param fixed: objects that get the replica count of their manifest,
        whatever they have.
    :param lenient: leave out what the server refuses, rather than raise.
    :param recreate: objects that may be created again, beside those of the
        options.
    :param keep_predicted: which objects' predicted content is returned.
    """

    cluster: Cluster
    before: Inventory
    registry: Registry
    kinds: kind_resolution.KindResolution
    options: Options
    fixed: Collection[ObjectRef] = ()
    lenient: bool = False
    recreate: Collection[ObjectRef] = ()
    keep_predicted: Callable[[ObjectRef], bool] = lambda ref: False


def check_against_live(
    check: LiveCheck, items: Sequence[PlacedManifest], order: Order
) -> CheckedPackage:
    """Compare manifests with the objects that exist. Writes nothing."""
    cluster, before, registry = check.cluster, check.before, check.registry
    kinds, options, fixed = check.kinds, check.options, check.fixed
    unchanged = find_unchanged.compare_live(
        cluster,
        [item for item in items if item.ref.group_kind not in kinds.unserved],
        before,
        registry,
        lambda item, obj: preserve_replicas.preserve_replicas(
            item, obj, registry, kinds.subresources, fixed
        ),
    )
    missing_namespaces = preflight.find_missing_namespaces(
        cluster, items, before.namespace, {r.namespace for r in unchanged}
    )
    changed = tuple(item for item in items if item.ref not in unchanged)
    existing, refused = _find_existing(check, changed)
    transferred = {
        ref: transfer.source for ref, transfer in before.transferred_in.items()
    }
    sources = {**transferred, **existing.transferred}
    excluded = refused.keys() | existing.shared
    with_replicas = {
        item.ref: item
        for item in (
            *(item for item, _ in unchanged.values()),
            *preserve_replicas.with_live_replicas(
                cluster,
                [item for item in changed if item.ref not in excluded],
                registry,
                existing.live,
                kinds.subresources,
                fixed,
                sources,
            ),
        )
    }
    items = tuple(
        with_replicas[i.ref] for i in items if i.ref in with_replicas
    )
    live = preserve_replicas.with_replica_paths(
        [item for item in items if item.ref not in fixed],
        registry,
        {**existing.live, **{ref: one for ref, (_, one) in unchanged.items()}},
        kinds.subresources,
    )
    live = find_unchanged.select_unchanged(items, live, resend=options.resend)
    existing = dataclasses.replace(existing, live=live)
    if not check.lenient and contract.uses_cluster_api(
        item.ref for item in items
    ):
        views = kubernetes_versions.read_version_objects(
            cluster, items, existing.live
        )
        kubernetes_versions.check_versions(cluster, items, views)
        order = kubernetes_versions.control_planes_first(order, items, views)
    not_yet: frozenset[ObjectRef] = frozenset()
    recreated: dict[ObjectRef, str] = {}
    predicted: Mapping[ObjectRef, Manifest] = {}
    allowed = existing.live.keys() & {
        *recreation.select_recreatable(items, options.recreate, registry),
        *check.recreate,
    }
    if options.dry_run or allowed:
        checked = dry_run.dry_run(
            cluster,
            [
                item
                for item in items
                if item.ref not in existing.terminating
                and not _unchanged(item.ref, live)
                and (options.dry_run or item.ref in allowed)
            ],
            before.instance,
            existing.live,
            dry_run.DryRunContext(
                kinds.not_sendable,
                missing_namespaces,
                dry_run.blocked_by_missing(items, order, existing.live),
                dry_run.names_of(item.ref for item in items),
                sources,
            ),
            field_conflicts=options.field_conflicts,
            keep_predicted=check.keep_predicted,
        )
        recreated = recreation.find_recreate_reasons(
            cluster, items, before.instance, checked.refusals, allowed
        )
        checked = checked.without(recreated)
        if not check.lenient:
            checked.check_refusals()
        refusals = {
            r: _reason(r, error) for r, error in checked.refusals.items()
        }
        refused.update(refusals)
        items = tuple(item for item in items if item.ref not in refusals)
        not_yet, predicted = checked.not_yet, checked.predicted
    return CheckedPackage(
        items, existing, not_yet, refused, order, recreated, predicted
    )


def _find_existing(
    check: LiveCheck, items: Sequence[PlacedManifest]
) -> tuple[ExistingObjects, dict[ObjectRef, str]]:
    """Return existing objects and, if lenient, refused ones, and why."""
    refused: dict[ObjectRef, str] = {}
    while True:
        try:
            existing = existing_objects.find_existing(
                check.cluster,
                [item for item in items if item.ref not in refused],
                check.before,
                check.kinds.unserved,
                check.options,
            )
        except errors.OwnedByOther as error:
            if not check.lenient:
                raise
            refusals = {
                r: f"belongs to {o} now" for r, o in error.owners.items()
            }
            refused.update(refusals)
        else:
            return existing, refused


def _unchanged(ref: ObjectRef, live: Mapping[ObjectRef, LiveObject]) -> bool:
    return ref in live and live[ref].unchanged is not None


def _reason(ref: ObjectRef, error: errors.Error) -> str:
    return error.sentence().removeprefix(f"{ref}: ")
