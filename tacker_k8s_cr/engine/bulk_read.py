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

ListScope = tuple[GroupKind, str]
"""What one list covers: a kind and a namespace (empty for cluster scope)."""

Judged = TypeVar("Judged")


def read_metadata(
    cluster: Cluster, refs: Iterable[ObjectRef]
) -> Iterator[tuple[ObjectRef, Manifest]]:
    """Return the metadata of the objects that exist."""
    single: list[ObjectRef] = []
    for (kind, namespace), scope_refs in _group_by_scope(refs).items():
        if len(scope_refs) <= ONE_BY_ONE:
            single.extend(scope_refs)
            continue
        wanted = set(scope_refs)
        try:
            listed = tuple(cluster.list_metadata(kind, namespace))
        except errors.Forbidden:
            single.extend(scope_refs)
            continue
        for obj in listed:
            ref = ObjectRef.of(obj)
            if ref in wanted:
                yield ref, obj
    for ref, obj_metadata in results_or_raise(
        cluster.map_parallel(cluster.get_metadata, single)
    ):
        if obj_metadata is not None:
            yield ref, obj_metadata


def read_instance_objects(
    cluster: Cluster,
    manifests: Mapping[ObjectRef, Manifest],
    instance: str,
    judge: Callable[[ObjectRef, Manifest], Judged | None],
) -> dict[ObjectRef, Judged]:
    """Judge the objects that have the label of an instance, listing each kind.

    Only one page of a list is in memory at a time, besides the results.
    Objects that do not exist or have lost the label, and kinds that may not
    be listed, are left out.

    :param manifests: of the objects to judge.
    :param judge: returns what to keep of an object; None to leave it out.
    """
    selector = f"{objects.INSTANCE}={instance}"

    def judge_scope(scope: ListScope) -> dict[ObjectRef, Judged]:
        unread = {ref: manifests[ref] for ref in by_scope[scope]}
        page_size = _page_size(unread.values())
        found: dict[ObjectRef, Judged] = {}
        with contextlib.suppress(errors.Forbidden, errors.KindNotServed):
            for obj in cluster.list_objects(*scope, selector, page=page_size):
                ref = ObjectRef.of(obj)
                if unread.pop(ref, None) is None:
                    continue
                judged = judge(ref, obj)
                if judged is not None:
                    found[ref] = judged
                if not unread:  # a further page would have other objects
                    break
        return found

    by_scope = _group_by_scope(manifests)
    results = results_or_raise(cluster.map_parallel(judge_scope, by_scope))
    return {ref: one for _, found in results for ref, one in found.items()}


def _page_size(manifests: Collection[Manifest]) -> int:
    """Return how many such objects to hold in memory at a time.

    The size is estimated from a few of them; live objects are up to three
    times as large, and ten times as large in Python.
    """
    sample = itertools.islice(manifests, 0, None, 1 + len(manifests) // SAMPLE)
    sizes = [len(json.dumps(manifest, default=dict)) for manifest in sample]
    average = sum(sizes) / len(sizes)
    return max(1, min(PAGE, int(PAGE_BYTES / average)))


def _group_by_scope(
    refs: Iterable[ObjectRef],
) -> Mapping[ListScope, list[ObjectRef]]:
    by_scope: dict[ListScope, list[ObjectRef]] = defaultdict(list)
    for ref in refs:
        by_scope[ref.group_kind, ref.namespace].append(ref)
    return by_scope
