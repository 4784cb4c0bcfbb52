"""Let the server check objects without writing them: a dry run."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math

from tacker_k8s_cr.kube.protocol import ApplyResponse
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import conflict_strategy
from tacker_k8s_cr.plan.order import Order
from tacker_k8s_cr.plan.placement import PlacedManifest
from tacker_k8s_cr.plan.plan import LiveObject


@dataclasses.dataclass(frozen=True)
class DryRunResult:
    """The server's results for the objects that it was to check.

    :param not_yet: objects for which that is not possible yet, since their
        kind or namespace, or what a webhook requires, comes with the package.
    :param would: the results of the dry run, for the requested objects.
    """

    not_yet: frozenset[ObjectRef]
    refusals: Mapping[ObjectRef, errors.ClusterError]
    predicted: Mapping[ObjectRef, Manifest] = dataclasses.field(
        default_factory=dict
    )

    def without(self, refs: Collection[ObjectRef]) -> DryRunResult:
        """With these not refused."""
        left = {r: e for r, e in self.refusals.items() if r not in refs}
        return dataclasses.replace(self, refusals=left)

    def check(self) -> None:
        """Raise Refused, or the one refusal, if there is any."""
        found = tuple(self.refusals.values())
        if len(found) == 1:
            raise found[0]
        if found:
            refused = errors.DryRunFailed(_worst_first(found))
            refused.late = all(error.late for error in found)
            raise refused


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """What the server does not have yet, and what other instances have.

    :param later: kinds that are not served yet.
    :param absent: namespaces that do not exist yet.
    :param waiting: objects that depend on objects which do not exist yet. A
        denial by admission is not final for them.
    :param brought: ``names`` of all objects of the package.
    :param givers: other instances whose fields this one takes over, by object.
    """

    later: Collection[GroupKind] = ()
    absent: Collection[str] = ()
    waiting: Collection[ObjectRef] = ()
    brought: Collection[tuple[str, str]] = ()
    givers: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)


NOTHING = Surroundings()


def dry_run(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    instance: str,
    live: Mapping[ObjectRef, LiveObject],
    around: Surroundings = NOTHING,
    *,
    field_conflicts: str = conflict_strategy.FAIL,
    keep: Callable[[ObjectRef], bool] = lambda ref: False,
) -> DryRunResult:
    """Let the server check every object; nothing is written.

    :param field_conflicts: what to do about fields of other field managers.
    :param keep: which objects' predicted content is returned.
    """
    early = [
        item
        for item in items
        if item.ref.group_kind not in around.later
        and item.ref.namespace not in around.absent
    ]
    not_yet = {item.ref for item in items} - {item.ref for item in early}
    refusals: dict[ObjectRef, errors.ClusterError] = {}
    would: dict[ObjectRef, Manifest] = {}

    def tried(item: PlacedManifest) -> ApplyResponse:
        uid = live[item.ref].uid if item.ref in live else ""
        way = conflict_strategy.strategy_for(item.manifest, field_conflicts)
        giver = around.givers.get(item.ref, "")

        def send(manifest: Manifest, force: bool) -> ApplyResponse:
            return cluster.apply(
                manifest,
                objects.MANAGER + instance,
                uid=uid,
                force=force,
                dry_run=True,
            )

        def taking(manifest: Manifest, force: bool) -> ApplyResponse:
            try:
                return send(manifest, force)
            except errors.FieldConflict as error:
                if {*error.fields.values()} != {objects.MANAGER + giver}:
                    raise
                return send(manifest, True)

        return conflict_strategy.apply_with_strategy(
            taking if giver else send,
            item.manifest,
            way if uid else conflict_strategy.FAIL,
            ".".join(live[item.ref].replicas_path) if uid else "",
        )

    for item, outcome in cluster.map_parallel(tried, early):
        if isinstance(outcome, Error):
            outcome = _final(
                item.ref,
                outcome,
                item.ref in around.waiting,
                around.brought,
            )
        if isinstance(outcome, errors.DependencyMissing):
            not_yet.add(item.ref)
        elif isinstance(outcome, errors.ClusterError):
            refusals[item.ref] = outcome
        elif isinstance(outcome, Error):
            raise outcome
        elif keep(item.ref):
            would[item.ref] = outcome.obj
    return DryRunResult(frozenset(not_yet), refusals, would)


def _final(
    ref: ObjectRef,
    error: Error,
    waits: bool,
    brought: Collection[tuple[str, str]],
) -> Error:
    """Interpret the result of a dry run, given what is still to be applied.

    :param waits: the object depends on objects that do not exist yet.
    :param brought: ``names`` of the package's objects.
    """
    if isinstance(error, errors.KindNotServed):
        # Every kind is known by now, or announced.
        return errors.DependencyMissing(ref, error.sentence())
    if isinstance(error, errors.Rejected) and error.denied and waits:
        return errors.DependencyMissing(ref, error.message)
    if isinstance(error, errors.DependencyMissing):
        return unless_absent(ref, error, brought)
    return error


def names(refs: Iterable[ObjectRef]) -> frozenset[tuple[str, str]]:
    """Return kinds and names, as in ``DependencyMissing.missing``."""
    found = set()
    for ref in refs:
        found.add((ref.kind, ref.name))
        found.add((ref.kind, f"{ref.namespace}/{ref.name}"))
    return frozenset(found)


def unless_absent(
    ref: ObjectRef,
    error: errors.DependencyMissing,
    brought: Collection[tuple[str, str]],
) -> errors.ClusterError:
    """Return the error, or a refusal if the package cannot resolve it.

    :param brought: ``names`` of the package's objects.
    """
    kind, _ = error.missing
    if not kind or error.missing in brought:
        return error
    return errors.Rejected(ref, 403, "Forbidden", error.why)


def _worst_first(
    refusals: Iterable[errors.ClusterError],
) -> list[errors.ClusterError]:
    """What concerns the whole server first, once; then object by object."""
    general: dict[str, errors.ClusterError] = {}
    single = []
    for error in refusals:
        if isinstance(error, errors.Unreachable | errors.Unauthenticated):
            general[str(error)] = error
        else:
            single.append(error)
    return [*general.values(), *sorted(single, key=str)]


def blocked_by_missing(
    items: Sequence[PlacedManifest], order: Order, live: Collection[ObjectRef]
) -> frozenset[ObjectRef]:
    """Return objects that depend on others which do not exist yet."""
    new = {item.ref for item in items} - set(live)
    first = min((order.wave(ref) for ref in new), default=math.inf)
    return frozenset(
        item.ref
        for item in items
        if order.needs.get(item.ref, frozenset()) & new
        or order.wave(item.ref) > first
    )
