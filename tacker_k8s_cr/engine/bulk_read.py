"""Read the objects of many references in few requests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import itertools
import json
from typing import TypeVar

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

ONE_BY_ONE = 50
"""Up to this many objects of a kind are read by name; more are listed."""

PAGE = 500
"""Maximum number of objects in a page."""

PAGE_BYTES = 4 * 1024 * 1024
"""Approximate maximum size in bytes of a page's manifests."""

SAMPLE = 20

Place = tuple[GroupKind, str]
"""What one list covers: a kind and a namespace (empty for cluster scope)."""

Found = TypeVar("Found")


def metadata(
    cluster: Cluster, refs: Iterable[ObjectRef]
) -> Iterator[tuple[ObjectRef, Manifest]]:
    """Return the metadata of the objects that exist."""
    single: list[ObjectRef] = []
    for (kind, namespace), some in _by_place(refs).items():
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
    for ref, found in results_or_raise(
        cluster.map_parallel(cluster.get_metadata, single)
    ):
        if found is not None:
            yield ref, found


def of_instance(
    cluster: Cluster,
    manifests: Mapping[ObjectRef, Manifest],
    instance: str,
    judge: Callable[[ObjectRef, Manifest], Found | None],
) -> dict[ObjectRef, Found]:
    """Judge the objects that have the label of an instance, listing each kind.

    Only one page of a list is in memory at a time, besides the results.
    Objects that do not exist or have lost the label, and kinds that may not
    be listed, are left out.

    :param manifests: of the objects to judge.
    :param judge: returns what to keep of an object; None to leave it out.
    """
    selector = f"{objects.INSTANCE}={instance}"

    def listed(place: Place) -> dict[ObjectRef, Found]:
        left = {ref: manifests[ref] for ref in by_place[place]}
        page = _page(left.values())
        found: dict[ObjectRef, Found] = {}
        with contextlib.suppress(errors.Forbidden, errors.KindNotServed):
            for obj in cluster.list_objects(*place, selector, page=page):
                ref = ObjectRef.of(obj)
                if left.pop(ref, None) is None:
                    continue
                judged = judge(ref, obj)
                if judged is not None:
                    found[ref] = judged
                if not left:  # a further page would have other objects
                    break
        return found

    by_place = _by_place(manifests)
    places = results_or_raise(cluster.map_parallel(listed, by_place))
    return {ref: one for _, found in places for ref, one in found.items()}


def _page(manifests: Collection[Manifest]) -> int:
    """Return how many such objects to hold in memory at a time.

    The size is estimated from a few of them; live objects are up to three
    times as large, and ten times as large in Python.
    """
    some = itertools.islice(manifests, 0, None, 1 + len(manifests) // SAMPLE)
    sizes = [len(json.dumps(manifest, default=dict)) for manifest in some]
    average = sum(sizes) / len(sizes)
    return max(1, min(PAGE, int(PAGE_BYTES / average)))


def _by_place(
    refs: Iterable[ObjectRef],
) -> Mapping[Place, list[ObjectRef]]:
    by_place: dict[Place, list[ObjectRef]] = defaultdict(list)
    for ref in refs:
        by_place[ref.group_kind, ref.namespace].append(ref)
    return by_place
