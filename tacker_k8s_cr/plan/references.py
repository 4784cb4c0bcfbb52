"""References between the objects of a package."""

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
    """Return by object those that it refers to by kind and name.

    A Cluster also refers to every object that belongs to it.
    """
    known: dict[tuple[str, str, str], set[ObjectRef]] = defaultdict(set)
    members: dict[tuple[str, str], set[ObjectRef]] = defaultdict(set)
    for ref, manifest in manifests.items():
        authored = ObjectRef.of(manifest)
        known[authored.kind, authored.namespace, authored.name].add(ref)
        members[authored.namespace, _cluster(manifest)].add(ref)
    found = {}
    for ref, manifest in manifests.items():
        authored = ObjectRef.of(manifest)
        referenced = {
            target
            for kind, namespace, name in _named_references(
                manifest.get("spec")
            )
            for target in known.get(
                (kind, namespace or authored.namespace, name), ()
            )
        }
        if ref.group_kind == CLUSTER:
            referenced |= members.get(
                (authored.namespace, authored.name), set()
            )
            class_key = "ClusterClass", authored.namespace, _class(manifest)
            referenced |= known.get(class_key, set())
        if referenced := referenced - {ref}:
            found[ref] = frozenset(referenced)
    return found


def _cluster(manifest: Manifest) -> str:
    """Return the Cluster that an object belongs to; empty for none."""
    named = objects.field(manifest, ("spec", "clusterName"))
    label = objects.labels(manifest).get(contract.CLUSTER_NAME, "")
    return str(named or label)


def _class(manifest: Manifest) -> str:
    """Return the ClusterClass of a Cluster, in either contract version."""
    topology = objects.field(manifest, ("spec", "topology"), {})
    named = objects.field(topology, ("classRef", "name"))
    return str(named or objects.field(topology, ("class",), ""))


def _named_references(value: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the references in a manifest: kind, namespace and name."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _named_references(item)
    if not isinstance(value, Mapping):
        return
    kind, name = value.get("kind"), value.get("name")
    if isinstance(kind, str) and isinstance(name, str):
        namespace = value.get("namespace")
        yield kind, namespace if isinstance(namespace, str) else "", name
    for item in value.values():
        yield from _named_references(item)
