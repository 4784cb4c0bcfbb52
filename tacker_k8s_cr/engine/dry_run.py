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
from tacker_k8s_cr.plan.steps import LiveObject


@dataclasses.dataclass(frozen=True)
class DryRunResult:
    """The server's results for the objects that it was to check.

    :param not_yet: objects for which that is not possible yet, since their
        kind or namespace, or what a webhook requires, comes with the package.
    :param predicted: the objects that the dry run returned, where requested.
    """

    not_yet: frozenset[ObjectRef]
    refusals: Mapping[ObjectRef, errors.ClusterError]
    predicted: Mapping[ObjectRef, Manifest] = dataclasses.field(
        default_factory=dict
    )

    def without(self, refs: Collection[ObjectRef]) -> DryRunResult:
        """Return the result without the refusals of these objects."""
        remaining = {r: e for r, e in self.refusals.items() if r not in refs}
        return dataclasses.replace(self, refusals=remaining)

    def check_refusals(self) -> None:
        """Raise DryRunFailed, or the only refusal, if there is any."""
        found = tuple(self.refusals.values())
        if len(found) == 1:
            raise found[0]
        if found:
            refused = errors.DryRunFailed(_sort_refusals(found))
            refused.deadline_passed = all(
                error.deadline_passed for error in found
            )
            raise refused


@dataclasses.dataclass(frozen=True)
class DryRunContext:
    """Kinds and objects that do not exist yet, and pending transfers.

    :param unserved: kinds that are not served yet.
    :param missing_namespaces: namespaces that do not exist yet.
    :param waiting: objects that depend on objects which do not exist yet. A
        denial by admission is not final for them.
    :param packaged: ``names_of`` all objects of the package.
    :param transfer_sources: by object, the instance that transfers it to this
        one.
    """

    unserved: Collection[GroupKind] = ()
    missing_namespaces: Collection[str] = ()
    waiting: Collection[ObjectRef] = ()
    packaged: Collection[tuple[str, str]] = ()
    transfer_sources: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )


EMPTY_CONTEXT = DryRunContext()


def dry_run(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    instance: str,
    live: Mapping[ObjectRef, LiveObject],
    context: DryRunContext = EMPTY_CONTEXT,
    *,
    field_conflicts: str = conflict_strategy.FAIL,
    keep_predicted: Callable[[ObjectRef], bool] = lambda ref: False,
) -> DryRunResult:
    """Let the server check every object; nothing is written.

    :param field_conflicts: what to do about fields of other field managers.
    :param keep_predicted: which objects' predicted content is returned.
    """
    checkable = [
        item
        for item in items
        if item.ref.group_kind not in context.unserved
        and item.ref.namespace not in context.missing_namespaces
    ]
    not_yet = {item.ref for item in items} - {item.ref for item in checkable}
    refusals: dict[ObjectRef, errors.ClusterError] = {}
    predicted: dict[ObjectRef, Manifest] = {}

    def check_item(item: PlacedManifest) -> ApplyResponse:
        uid = live[item.ref].uid if item.ref in live else ""
        strategy = conflict_strategy.strategy_for(
            item.manifest, field_conflicts
        )
        transfer_source = context.transfer_sources.get(item.ref, "")

        def send(manifest: Manifest, force: bool) -> ApplyResponse:
            return cluster.apply(
                manifest,
                objects.MANAGER + instance,
                uid=uid,
                force=force,
                dry_run=True,
            )

        def send_transfer(manifest: Manifest, force: bool) -> ApplyResponse:
            try:
                return send(manifest, force)
            except errors.FieldConflict as error:
                if {*error.fields.values()} != {
                    objects.MANAGER + transfer_source
                }:
                    raise
                return send(manifest, True)

        return conflict_strategy.apply_with_strategy(
            send_transfer if transfer_source else send,
            item.manifest,
            strategy if uid else conflict_strategy.FAIL,
            ".".join(live[item.ref].replicas_path) if uid else "",
        )

    for item, outcome in cluster.map_parallel(check_item, checkable):
        if isinstance(outcome, Error):
            outcome = _interpret_error(
                item.ref,
                outcome,
                item.ref in context.waiting,
                context.packaged,
            )
        if isinstance(outcome, errors.DependencyMissing):
            not_yet.add(item.ref)
        elif isinstance(outcome, errors.ClusterError):
            refusals[item.ref] = outcome
        elif isinstance(outcome, Error):
            raise outcome
        elif keep_predicted(item.ref):
            predicted[item.ref] = outcome.obj
    return DryRunResult(frozenset(not_yet), refusals, predicted)


def _interpret_error(
    ref: ObjectRef,
    error: Error,
    is_waiting: bool,
    packaged: Collection[tuple[str, str]],
) -> Error:
    """Interpret the result of a dry run, given what is still to be applied.

    :param is_waiting: the object depends on objects that do not exist yet.
    :param packaged: ``names_of`` the package's objects.
    """
    if isinstance(error, errors.KindNotServed):
        # Every kind is served by now, or expected.
        return errors.DependencyMissing(ref, error.sentence())
    if (
        isinstance(error, errors.Rejected)
        and error.by_admission
        and is_waiting
    ):
        return errors.DependencyMissing(ref, error.message)
    if isinstance(error, errors.DependencyMissing):
        return refuse_if_unresolvable(ref, error, packaged)
    return error


def names_of(refs: Iterable[ObjectRef]) -> frozenset[tuple[str, str]]:
    """Return kinds and names, as in ``DependencyMissing.missing``."""
    names = set()
    for ref in refs:
        names.add((ref.kind, ref.name))
        names.add((ref.kind, f"{ref.namespace}/{ref.name}"))
    return frozenset(names)


def refuse_if_unresolvable(
    ref: ObjectRef,
    error: errors.DependencyMissing,
    packaged: Collection[tuple[str, str]],
) -> errors.ClusterError:
    """Return the error, or a refusal if the package cannot resolve it.

    :param packaged: ``names`` of the package's objects.
    """
    kind, _ = error.missing
    if not kind or error.missing in packaged:
        return error
    return errors.Rejected(ref, 403, "Forbidden", error.why)


def _sort_refusals(
    refusals: Iterable[errors.ClusterError],
) -> list[errors.ClusterError]:
    """Return errors of the whole server first, once each; then the others."""
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
