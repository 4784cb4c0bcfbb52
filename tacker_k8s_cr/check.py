"""Look at the whole of a package before the first write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import re
from typing import TypeVar

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import ownership
from tacker_k8s_cr import plan
from tacker_k8s_cr import record
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.errors import Error
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.plan import Live
from tacker_k8s_cr.plan import Placed

ONE_BY_ONE = 50
"""Objects of a kind up to which each is asked for by name; more: listed."""

OLDEST = (1, 25)
"""Kubernetes that we support; server-side field validation came with it."""


def version(cluster: Cluster) -> None:
    """Refuse a server that is too old."""
    found = cluster.version()
    numbers = re.match(r"v?(\d+)\.(\d+)", found)
    if numbers and tuple(int(n) for n in numbers.groups()) < OLDEST:
        raise errors.RequestInvalid(
            f"the API server {cluster.server} is Kubernetes {found}; "
            f"v{OLDEST[0]}.{OLDEST[1]} or newer is needed"
        )


@dataclasses.dataclass(frozen=True)
class Kinds:
    """How the kinds of a package are served, or will be.

    :param namespaced: by kind, whether its objects lie in a namespace.
    :param subresources: by kind, such as ``status`` and ``scale``.
    :param later: kinds that the package itself brings and that are not
        served yet.
    """

    namespaced: Mapping[GroupKind, bool]
    subresources: Mapping[GroupKind, frozenset[str]]
    later: frozenset[GroupKind]


def kinds(cluster: Cluster, documents: Sequence[Document]) -> Kinds:
    """Find every kind of a package. Raises KindUnknown for all that lack."""
    brought = plan.brought(document.manifest for document in documents)
    wheres: dict[tuple[GroupKind, str], list[str]] = defaultdict(list)
    for document in documents:
        _, version = objects.split_api_version(document.manifest["apiVersion"])
        key = GroupKind.of(document.manifest), version
        wheres[key].append(document.where)
    namespaced = {}
    subresources = {}
    later = set()
    unknown = []
    # One request for a group at a time; kinds of one group share its answer.
    for (kind, version), where in sorted(wheres.items()):
        try:
            resource = cluster.resource(kind, version)
        except errors.KindUnknown as error:
            if kind in brought and version in brought[kind].versions:
                namespaced[kind] = brought[kind].namespaced
                subresources[kind] = brought[kind].subresources
                later.add(kind)
            else:
                unknown.append(
                    errors.KindUnknown(kind, version, error.served, where)
                )
            continue
        namespaced[kind] = resource.namespaced
        subresources[kind] = resource.subresources
    if unknown:
        first, *also = unknown
        first.also = tuple(also)
        raise first
    return Kinds(namespaced, subresources, frozenset(later))


def namespaces(cluster: Cluster, items: Sequence[Placed]) -> frozenset[str]:
    """The namespaces of a package that are not there yet.

    Raises NamespaceAbsent for those that the package does not bring.
    """
    wheres: dict[str, list[str]] = defaultdict(list)
    for item in items:
        if item.ref.namespace:
            wheres[item.ref.namespace].append(item.where)
    brought = {i.ref.name for i in items if i.ref.group_kind == plan.NAMESPACE}
    absent = frozenset(
        name
        for name, found in _results(
            cluster.each(
                lambda name: cluster.get_metadata(
                    ObjectRef("", "Namespace", "", name)
                ),
                sorted(wheres),
            )
        )
        if found is None
    )
    if absent - brought:
        raise errors.NamespaceAbsent(
            {name: wheres[name] for name in absent - brought}
        )
    return absent


@dataclasses.dataclass(frozen=True)
class Owners:
    """What of a package is there already.

    :param live: objects that are the instance's.
    :param shared: objects of others that are just as the package wants.
    """

    live: Mapping[ObjectRef, Live]
    shared: frozenset[ObjectRef]


def owners(
    cluster: Cluster,
    items: Sequence[Placed],
    instance: str,
    owned: Mapping[ObjectRef, str],
    later: Collection[GroupKind],
    adopted: Collection[ObjectRef] = (),
) -> Owners:
    """Find whose the objects are that are there already.

    :param owned: UIDs that the inventory holds.
    :param later: kinds that are not served yet, so have no objects.
    :param adopted: objects to take over, whoever has them.

    Raises Owned, naming every object of somebody else and that somebody.
    """
    wanted = [item for item in items if item.ref.group_kind not in later]
    live = {}
    others = {}
    alive: dict[str, bool] = {}
    for ref, obj in _metadata(cluster, [item.ref for item in wanted]):
        mine = owned.get(ref) == objects.uid(obj)
        if mine or ref in adopted or ownership.ours(obj, instance):
            live[ref] = _live(obj)
            continue
        other = objects.labels(obj).get(objects.INSTANCE)
        if other and other != instance:
            if other not in alive:
                alive[other] = record.alive(cluster, other)
            if not alive[other]:
                live[ref] = _live(obj)
                continue
        others[ref] = obj
    foreign = [item for item in wanted if item.ref in others]
    shared = frozenset(
        item.ref
        for item, same in _results(
            cluster.each(lambda i: _shared(cluster, i, instance), foreign)
        )
        if same
    )
    taken = {
        ref: ownership.owner(obj)
        for ref, obj in others.items()
        if ref not in shared
    }
    if taken:
        raise errors.Owned(taken)
    return Owners(live, shared)


def _live(obj: Manifest) -> Live:
    version = objects.field(obj, ("metadata", "resourceVersion"), "")
    return Live(objects.uid(obj), version)


def _metadata(
    cluster: Cluster, refs: Sequence[ObjectRef]
) -> Iterator[tuple[ObjectRef, Manifest]]:
    """Metadata of those of the objects that are there."""
    by_place: dict[tuple[GroupKind, str], list[ObjectRef]] = defaultdict(list)
    for ref in refs:
        by_place[ref.group_kind, ref.namespace].append(ref)
    single: list[ObjectRef] = []
    for (kind, namespace), some in by_place.items():
        if len(some) <= ONE_BY_ONE:
            single.extend(some)
            continue
        wanted = set(some)
        try:
            listed = tuple(cluster.list_metadata(kind, namespace))
        except errors.Forbidden:
            single.extend(some)
            continue
        for obj in listed:
            ref = ObjectRef.of(obj)
            if ref in wanted:
                yield ref, obj
    for ref, found in _results(cluster.each(cluster.get_metadata, single)):
        if found is not None:
            yield ref, found


def _shared(cluster: Cluster, item: Placed, instance: str) -> bool:
    """Whether our apply would change nothing but our label."""
    live = cluster.get(item.ref)
    if live is None:
        return False
    try:
        would = cluster.apply(
            item.manifest, objects.MANAGER + instance, dry_run=True
        )
    except errors.ClusterError:
        return False
    return ownership.same(live, would.obj)


def left_by_crash(
    cluster: Cluster, inventory: Inventory
) -> dict[ObjectRef, str]:
    """UIDs of what was written after the journal, and before a crash.

    Only what the journal announced, and what bears our label and our
    manager's Apply entry, is taken for ours.
    """
    doubtful = [
        ref for ref in inventory.journal.pending if ref not in inventory.owned
    ]
    return {
        ref: objects.uid(obj)
        for ref, obj in _results(cluster.each(cluster.get_metadata, doubtful))
        if obj is not None and ownership.ours(obj, inventory.instance)
    }


def dry_run(
    cluster: Cluster,
    items: Sequence[Placed],
    instance: str,
    live: Mapping[ObjectRef, Live],
    *,
    later: Collection[GroupKind],
    absent: Collection[str],
    force: bool = False,
) -> frozenset[ObjectRef]:
    """Let the server check every object; nothing is written.

    Returns the objects for which that is not possible yet, since their
    kind or namespace, or what a webhook asks for, comes with the package.
    Raises Refused, or the one refusal.
    """
    early = [
        item
        for item in items
        if item.ref.group_kind not in later
        and item.ref.namespace not in absent
    ]
    not_yet = {item.ref for item in items} - {item.ref for item in early}
    refusals = []
    for item, outcome in cluster.each(
        lambda item: cluster.apply(
            item.manifest,
            objects.MANAGER + instance,
            uid=live[item.ref].uid if item.ref in live else "",
            force=force,
            dry_run=True,
        ),
        early,
    ):
        if isinstance(outcome, errors.NotYet):
            not_yet.add(item.ref)
        elif isinstance(outcome, errors.ClusterError):
            refusals.append(outcome)
        elif isinstance(outcome, Error):
            raise outcome
    if len(refusals) == 1:
        raise refusals[0]
    if refusals:
        raise errors.Refused(_worst_first(refusals))
    return frozenset(not_yet)


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


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def _results(
    pairs: Iterable[tuple[_Item, _Result | Error]],
) -> Iterator[tuple[_Item, _Result]]:
    """Items with their results; the first error is raised."""
    for item, outcome in pairs:
        if isinstance(outcome, Error):
            raise outcome
        yield item, outcome
