"""Check the manifests of a package against existing objects."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.engine import dry_run
from tacker_k8s_cr.engine import find_unchanged
from tacker_k8s_cr.engine import kubernetes_versions
from tacker_k8s_cr.engine import preflight
from tacker_k8s_cr.engine import preserve_replicas
from tacker_k8s_cr.engine import recreation
from tacker_k8s_cr.kinds.base import Registry
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
from tacker_k8s_cr.plan.plan import LiveObject


@dataclasses.dataclass(frozen=True)
class CheckedPackage:
    """What a package has met.

    :param items: what is to be applied, with the numbers that it keeps.
    :param not_yet: objects that the server could not check yet.
    :param refused: what was left out, where that was asked for: why.
    :param order: in which the objects come, workers after control planes.
    :param recreated: what has to go to be made again: why.
    :param would: objects as they would be, of those that were asked for.
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
    :param found: how the kinds of the package are served.
    :param settled: objects that get the replica count of their manifest,
        whatever they have.
    :param lenient: leave out what the server refuses, rather than raise.
    :param recreate: objects that may be created again, beside those of the
        options.
    :param keep: which objects' predicted content is returned.
    """

    cluster: Cluster
    before: Inventory
    registry: Registry
    found: preflight.KindResolution
    options: Options
    settled: Collection[ObjectRef] = ()
    lenient: bool = False
    recreate: Collection[ObjectRef] = ()
    keep: Callable[[ObjectRef], bool] = lambda ref: False


def check_against_live(
    check: LiveCheck, items: Sequence[PlacedManifest], order: Order
) -> CheckedPackage:
    """Compare manifests with the objects that exist; nothing is written."""
    cluster, before, registry = check.cluster, check.before, check.registry
    found, options, settled = check.found, check.options, check.settled
    known = find_unchanged.compare_live(
        cluster,
        [item for item in items if item.ref.group_kind not in found.unserved],
        before,
        registry,
        lambda item, obj: preserve_replicas.preserve_replicas(
            item, obj, registry, found.subresources, settled
        ),
    )
    absent = preflight.find_missing_namespaces(
        cluster, items, before.namespace, {r.namespace for r in known}
    )
    rest = tuple(item for item in items if item.ref not in known)
    theirs, refused = _theirs(check, rest)
    gifts = {ref: gift.source for ref, gift in before.transferred_in.items()}
    givers = {**gifts, **theirs.taken}
    out = refused.keys() | theirs.shared
    numbered = {
        item.ref: item
        for item in (
            *(item for item, _ in known.values()),
            *preserve_replicas.with_live_replicas(
                cluster,
                [item for item in rest if item.ref not in out],
                registry,
                theirs.live,
                found.subresources,
                settled,
                givers,
            ),
        )
    }
    items = tuple(numbered[i.ref] for i in items if i.ref in numbered)
    live = preserve_replicas.with_replica_paths(
        [item for item in items if item.ref not in settled],
        registry,
        {**theirs.live, **{ref: one for ref, (_, one) in known.items()}},
        found.subresources,
    )
    live = find_unchanged.select_unchanged(items, live, resend=options.resend)
    theirs = dataclasses.replace(theirs, live=live)
    if not check.lenient:
        views = kubernetes_versions.read_version_objects(
            cluster, items, theirs.live
        )
        kubernetes_versions.check_versions(cluster, items, views)
        order = kubernetes_versions.control_planes_first(order, items, views)
    not_yet: frozenset[ObjectRef] = frozenset()
    recreated: dict[ObjectRef, str] = {}
    would: Mapping[ObjectRef, Manifest] = {}
    allowed = theirs.live.keys() & {
        *recreation.select_recreatable(items, options.recreate, registry),
        *check.recreate,
    }
    if options.dry_run or allowed:
        checked = dry_run.dry_run(
            cluster,
            [
                item
                for item in items
                if item.ref not in theirs.terminating
                and not _unchanged(item.ref, live)
                and (options.dry_run or item.ref in allowed)
            ],
            before.instance,
            theirs.live,
            dry_run.DryRunContext(
                found.not_sendable,
                absent,
                dry_run.blocked_by_missing(items, order, theirs.live),
                dry_run.names_of(item.ref for item in items),
                givers,
            ),
            field_conflicts=options.field_conflicts,
            keep_predicted=check.keep,
        )
        recreated = recreation.find_recreate_reasons(
            cluster, items, before.instance, checked.refusals, allowed
        )
        checked = checked.without(recreated)
        if not check.lenient:
            checked.check_refusals()
        told = {r: _reason(r, error) for r, error in checked.refusals.items()}
        refused.update(told)
        items = tuple(item for item in items if item.ref not in told)
        not_yet, would = checked.not_yet, checked.predicted
    return CheckedPackage(
        items, theirs, not_yet, refused, order, recreated, would
    )


def _theirs(
    check: LiveCheck, items: Sequence[PlacedManifest]
) -> tuple[ExistingObjects, dict[ObjectRef, str]]:
    """Find the owners of the objects, and with lenient what is refused."""
    refused: dict[ObjectRef, str] = {}
    while True:
        try:
            theirs = existing_objects.find_existing(
                check.cluster,
                [item for item in items if item.ref not in refused],
                check.before,
                check.found.unserved,
                check.options,
            )
        except errors.OwnedByOther as error:
            if not check.lenient:
                raise
            told = {r: f"belongs to {o} now" for r, o in error.owners.items()}
            refused.update(told)
        else:
            return theirs, refused


def _unchanged(ref: ObjectRef, live: Mapping[ObjectRef, LiveObject]) -> bool:
    return ref in live and live[ref].unchanged is not None


def _reason(ref: ObjectRef, error: errors.Error) -> str:
    return error.sentence().removeprefix(f"{ref}: ")
