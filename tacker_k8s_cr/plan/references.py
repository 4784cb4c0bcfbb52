"""Which objects of a package others of it cannot do without."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

CLUSTER = GroupKind(contract.GROUP, "Cluster")


def references(
    manifests: Mapping[ObjectRef, Manifest],
) -> dict[ObjectRef, frozenset[ObjectRef]]:
    """Return by object the others that it refers to by kind and name.

    A Cluster also needs every object that specifies that Cluster as its own.
    """
    known: dict[tuple[str, str, str], set[ObjectRef]] = defaultdict(set)
    members: dict[tuple[str, str], set[ObjectRef]] = defaultdict(set)
    for ref, manifest in manifests.items():
        place = ObjectRef.of(manifest)
        known[place.kind, place.namespace, place.name].add(ref)
        members[place.namespace, _cluster(manifest)].add(ref)
    found = {}
    for ref, manifest in manifests.items():
        place = ObjectRef.of(manifest)
        others = {
            other
            for kind, namespace, name in _named(manifest.get("spec"))
            for other in known.get(
                (kind, namespace or place.namespace, name), ()
            )
        }
        if ref.group_kind == CLUSTER:
            others |= members.get((place.namespace, place.name), set())
            made_from = "ClusterClass", place.namespace, _class(manifest)
            others |= known.get(made_from, set())
        if others := others - {ref}:
            found[ref] = frozenset(others)
    return found


def _cluster(manifest: Manifest) -> str:
    """Return the Cluster that an object belongs to; empty for none."""
    named = objects.field(manifest, ("spec", "clusterName"))
    label = objects.labels(manifest).get(contract.CLUSTER_NAME, "")
    return str(named or label)


def _class(manifest: Manifest) -> str:
    """The ClusterClass of a Cluster, in both versions of the contract."""
    topology = objects.field(manifest, ("spec", "topology"), {})
    named = objects.field(topology, ("classRef", "name"))
    return str(named or objects.field(topology, ("class",), ""))


def _named(value: Any) -> Iterator[tuple[str, str, str]]:
    """What a part of a manifest names: kind, namespace and name."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _named(item)
    if not isinstance(value, Mapping):
        return
    kind, name = value.get("kind"), value.get("name")
    if isinstance(kind, str) and isinstance(name, str):
        namespace = value.get("namespace")
        yield kind, namespace if isinstance(namespace, str) else "", name
    for item in value.values():
        yield from _named(item)
