"""Let the server check objects without writing them: a dry run."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.applying import conflicts
from tacker_k8s_cr.cluster.protocol import Applied
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.errors import Error
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning.order import Order
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.planning.plan import Live


@dataclasses.dataclass(frozen=True)
class Checked:
    """What the server said of objects that it was to check.

    :param not_yet: objects for which that is not possible yet, since their
        kind or namespace, or what a webhook asks for, comes with the
        package.
    :param would: objects as they would be, of those that were asked for.
    """

    not_yet: frozenset[ObjectRef]
    refusals: Mapping[ObjectRef, errors.ClusterError]
    would: Mapping[ObjectRef, Manifest] = dataclasses.field(
        default_factory=dict
    )

    def without(self, refs: Collection[ObjectRef]) -> Checked:
        """With these not refused."""
        left = {r: e for r, e in self.refusals.items() if r not in refs}
        return dataclasses.replace(self, refusals=left)

    def check(self) -> None:
        """Raise Refused, or the one refusal, if there is any."""
        found = tuple(self.refusals.values())
        if len(found) == 1:
            raise found[0]
        if found:
            refused = errors.Refused(_worst_first(found))
            refused.late = all(error.late for error in found)
            raise refused


def dry_run(
    cluster: Cluster,
    items: Sequence[Placed],
    instance: str,
    live: Mapping[ObjectRef, Live],
    *,
    later: Collection[GroupKind],
    absent: Collection[str],
    conflict: str = conflicts.FAIL,
    waiting: Collection[ObjectRef] = (),
    brought: Collection[tuple[str, str]] = (),
    keep: Callable[[ObjectRef], bool] = lambda ref: False,
    givers: Mapping[ObjectRef, str] | None = None,
) -> Checked:
    """Let the server check every object; nothing is written.

    :param conflict: what to do about fields of other field managers.
    :param waiting: objects that depend on objects which do not exist yet. A
        denial by admission is not final for them.
    :param brought: ``names`` of all objects of the package.
    :param keep: which objects' looks are of interest.
    :param givers: other instances whose fields this one takes over, by object.
    """
    early = [
        item
        for item in items
        if item.ref.group_kind not in later
        and item.ref.namespace not in absent
    ]
    not_yet = {item.ref for item in items} - {item.ref for item in early}
    refusals: dict[ObjectRef, errors.ClusterError] = {}
    would: dict[ObjectRef, Manifest] = {}

    def tried(item: Placed) -> Applied:
        uid = live[item.ref].uid if item.ref in live else ""
        way = conflicts.way(item.manifest, conflict)
        giver = (givers or {}).get(item.ref, "")

        def send(manifest: Manifest, force: bool) -> Applied:
            return cluster.apply(
                manifest,
                objects.MANAGER + instance,
                uid=uid,
                force=force,
                dry_run=True,
            )

        def taking(manifest: Manifest, force: bool) -> Applied:
            try:
                return send(manifest, force)
            except errors.Conflict as error:
                if {*error.fields.values()} != {objects.MANAGER + giver}:
                    raise
                return send(manifest, True)

        return conflicts.sent(
            taking if giver else send,
            item.manifest,
            way if uid else conflicts.FAIL,
            ".".join(live[item.ref].count) if uid else "",
        )

    for item, outcome in cluster.each(tried, early):
        if isinstance(outcome, Error):
            outcome = _final(item.ref, outcome, item.ref in waiting, brought)
        if isinstance(outcome, errors.NotYet):
            not_yet.add(item.ref)
        elif isinstance(outcome, errors.ClusterError):
            refusals[item.ref] = outcome
        elif isinstance(outcome, Error):
            raise outcome
        elif keep(item.ref):
            would[item.ref] = outcome.obj
    return Checked(frozenset(not_yet), refusals, would)


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
    if isinstance(error, errors.KindUnknown):
        # Every kind is known by now, or announced.
        return errors.NotYet(ref, error.sentence())
    if isinstance(error, errors.Rejected) and error.denied and waits:
        return errors.NotYet(ref, error.message)
    if isinstance(error, errors.NotYet):
        return unless_absent(ref, error, brought)
    return error


def names(refs: Iterable[ObjectRef]) -> frozenset[tuple[str, str]]:
    """Return kinds and names of objects, as in ``NotYet.missing``."""
    found = set()
    for ref in refs:
        found.add((ref.kind, ref.name))
        found.add((ref.kind, f"{ref.namespace}/{ref.name}"))
    return frozenset(found)


def unless_absent(
    ref: ObjectRef, error: errors.NotYet, brought: Collection[tuple[str, str]]
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


def waiting(
    items: Sequence[Placed], order: Order, live: Collection[ObjectRef]
) -> frozenset[ObjectRef]:
    """Objects that come after others which are not there yet."""
    new = {item.ref for item in items} - set(live)
    first = min((order.wave(ref) for ref in new), default=math.inf)
    return frozenset(
        item.ref
        for item in items
        if order.needs.get(item.ref, frozenset()) & new
        or order.wave(item.ref) > first
    )
