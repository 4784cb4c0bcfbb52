"""Hold the manifests of a package against what is there already."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr.applying import check
from tacker_k8s_cr.applying import keeping
from tacker_k8s_cr.applying import owners
from tacker_k8s_cr.applying import recreating
from tacker_k8s_cr.applying import trial
from tacker_k8s_cr.applying import unsent
from tacker_k8s_cr.applying import upgrading
from tacker_k8s_cr.applying.owners import Owners
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.planning.order import Order
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.planning.plan import Live


@dataclasses.dataclass(frozen=True)
class Met:
    """What a package has met.

    :param items: what is to be applied, with the numbers that it keeps.
    :param not_yet: objects that the server could not check yet.
    :param refused: what was left out, where that was asked for: why.
    :param order: in which the objects come, workers after control planes.
    :param recreated: what has to go to be made again: why.
    :param would: objects as they would be, of those that were asked for.
    """

    items: tuple[Placed, ...]
    owners: Owners
    not_yet: frozenset[ObjectRef]
    refused: Mapping[ObjectRef, str]
    order: Order
    recreated: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )
    would: Mapping[ObjectRef, Manifest] = dataclasses.field(
        default_factory=dict
    )


def met(
    cluster: Cluster,
    items: Sequence[Placed],
    before: Inventory,
    registry: Registry,
    order: Order,
    found: check.Kinds,
    options: Options,
    settled: Collection[ObjectRef] = (),
    *,
    lenient: bool = False,
    recreate: Collection[ObjectRef] = (),
    keep: Callable[[ObjectRef], bool] = lambda ref: False,
) -> Met:
    """The manifests against what is there.

    :param settled: objects that get the number of their manifest, whatever
        they have.
    :param recreate: what may be made again, beside what the options say.
    :param keep: of which objects it is of interest how they would be.
    :param lenient: leave out what cannot be, rather than refuse it all.
    """
    known = unsent.looked_at(
        cluster,
        [item for item in items if item.ref.group_kind not in found.later],
        before,
        registry,
        lambda item, obj: keeping.kept(
            item, obj, registry, found.subresources, settled
        ),
    )
    absent = check.namespaces(
        cluster, items, before.namespace, {r.namespace for r in known}
    )
    rest = tuple(item for item in items if item.ref not in known)
    theirs, refused = _theirs(
        cluster, rest, before, found, options, lenient=lenient
    )
    gifts = {ref: gift.giver for ref, gift in before.taken.items()}
    givers = {**gifts, **theirs.taken}
    out = refused.keys() | theirs.shared
    numbered = {
        item.ref: item
        for item in (
            *(item for item, _ in known.values()),
            *keeping.carried(
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
    live = keeping.counted(
        [item for item in items if item.ref not in settled],
        registry,
        {**theirs.live, **{ref: one for ref, (_, one) in known.items()}},
        found.subresources,
    )
    live = unsent.settled(items, live, resend=options.resend)
    theirs = dataclasses.replace(theirs, live=live)
    if not lenient:
        views = upgrading.views(cluster, items, theirs.live)
        upgrading.check(cluster, items, views)
        order = upgrading.ordered(order, items, views)
    not_yet: frozenset[ObjectRef] = frozenset()
    recreated: dict[ObjectRef, str] = {}
    would: Mapping[ObjectRef, Manifest] = {}
    allowed = theirs.live.keys() & {
        *recreating.named(items, options.recreate, registry),
        *recreate,
    }
    if options.dry_run or allowed:
        checked = trial.dry_run(
            cluster,
            [
                item
                for item in items
                if item.ref not in theirs.going
                and not _unchanged(item.ref, live)
                and (options.dry_run or item.ref in allowed)
            ],
            before.instance,
            theirs.live,
            later=found.not_yet,
            absent=absent,
            conflict=options.conflict,
            waiting=trial.waiting(items, order, theirs.live),
            brought=trial.names(item.ref for item in items),
            keep=keep,
            givers=givers,
        )
        recreated = recreating.needed(
            cluster, items, before.instance, checked.refusals, allowed
        )
        checked = checked.without(recreated)
        if not lenient:
            checked.check()
        told = {r: _reason(r, error) for r, error in checked.refusals.items()}
        refused.update(told)
        items = tuple(item for item in items if item.ref not in told)
        not_yet, would = checked.not_yet, checked.would
    return Met(items, theirs, not_yet, refused, order, recreated, would)


def _theirs(
    cluster: Cluster,
    items: Sequence[Placed],
    before: Inventory,
    found: check.Kinds,
    options: Options,
    *,
    lenient: bool,
) -> tuple[Owners, dict[ObjectRef, str]]:
    """Find whose the objects are; with lenient also what is refused: why."""
    refused: dict[ObjectRef, str] = {}
    while True:
        try:
            theirs = owners.found(
                cluster,
                [item for item in items if item.ref not in refused],
                before.instance,
                before.home,
                before.owned,
                found.later,
                options.adopt,
                options.take_from,
                sharing=before.shared,
            )
        except errors.Owned as error:
            if not lenient:
                raise
            told = {r: f"belongs to {o} now" for r, o in error.owners.items()}
            refused.update(told)
        else:
            return theirs, refused


def _unchanged(ref: ObjectRef, live: Mapping[ObjectRef, Live]) -> bool:
    return ref in live and live[ref].unchanged is not None


def _reason(ref: ObjectRef, error: errors.Error) -> str:
    return error.sentence().removeprefix(f"{ref}: ")
