"""Reads what the invariants compare, from a server without faults."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.state import leases
from tacker_k8s_cr.state import record_secrets
from tacker_k8s_cr.state import serialization
from tacker_k8s_cr.state import store
from tools.soak import invariants
from tools.soak import packages
from tools.soak.invariants import Observation
from tools.soak.model import Instance
from tools.soak.model import RecordedState

OTHERS = "example.org/soak-others"
"""Label on the objects of other managers; its value is of one soak."""

OTHER_KINDS = (
    GroupKind("", "ConfigMap"),
    GroupKind("", "Secret"),
    GroupKind("apps", "Deployment"),
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"),
)


def observe(cluster: Cluster, instance: Instance) -> Observation:
    """Read all that the invariants of an instance are about."""
    name, namespace = instance.name, instance.namespace
    refs = {
        packages.placed(manifest, namespace)
        for version in packages.VERSIONS
        for manifest in packages.manifests(instance.form, version, name)
    }
    live = {ref: obj for ref in refs if (obj := cluster.get(ref))}
    numbers = {
        f"{ref.kind}/{ref.name}": int(obj["spec"].get("replicas", 1))
        for ref, obj in live.items()
        if ref.kind in packages.SCALABLE
    }
    entry = store.read(cluster, name, namespace)
    lease_ref = leases.ref(name, namespace)
    lease = cluster.get(lease_ref)
    pieces = cluster.list_metadata(
        record_secrets.SECRET, namespace, record_secrets.selector(name)
    )
    kept = {
        ObjectRef("", "Secret", namespace, obj["metadata"]["name"])
        for obj in pieces
    }
    selector = f"{objects.INSTANCE}={name}"
    labelled = {
        ref: objects.uid(obj)
        for kind in sorted({ref.group_kind for ref in refs})
        for ref, obj in _listed(cluster, kind, namespace, selector)
    }
    observation = Observation(
        state=RecordedState(numbers=numbers),
        record=frozenset(kept | ({lease_ref} if lease else set())),
        holder=leases.holder(lease) if lease else "",
        labelled=labelled,
        live=live,
        others=others(cluster, namespace),
    )
    return (
        observation
        if entry is None
        else _with_record(observation, instance, entry)
    )


def others(cluster: Cluster, namespace: str) -> dict[ObjectRef, str]:
    """Return the objects of other managers, with a digest of each."""
    selector = f"{OTHERS}={soak_of(namespace)}"
    return {
        ref: invariants.digest(obj)
        for kind in OTHER_KINDS
        for ref, obj in _listed(cluster, kind, namespace, selector)
    }


def soak_of(name: str) -> str:
    """Return the soak that has made an instance or a namespace."""
    return name.rpartition("-")[0]


def _listed(
    cluster: Cluster, kind: GroupKind, namespace: str, selector: str
) -> Iterator[tuple[ObjectRef, Manifest]]:
    where = "" if kind.kind in packages.CLUSTER_SCOPED else namespace
    try:
        for obj in cluster.list_objects(kind, where, selector):
            yield ObjectRef.of(obj), obj
    except errors.KindNotServed:
        return


def _with_record(
    observation: Observation,
    instance: Instance,
    entry: record_secrets.StoredRecord,
) -> Observation:
    name, namespace = instance.name, instance.namespace
    text = base64.b64decode(entry.index["data"]["head"]).decode()
    head = record_secrets.secret_ref(name, namespace)
    named = {head, leases.ref(name, namespace)} | {
        ObjectRef("", "Secret", namespace, f"{head.name}.{piece}")
        for piece in serialization.chunk_names(text)
    }
    inventory = entry.inventory
    before = (
        inventory.previous_package.digest if inventory.previous_package else ""
    )

    def version(digest: str) -> str:
        return packages.version_of(instance.form, name, digest)

    found = RecordedState(
        inventory.phase.value,
        version(inventory.digest),
        version(before) if before else "",
        observation.state.numbers,
    )
    return Observation(
        state=found,
        owned=dict(inventory.owned),
        record=observation.record,
        named=frozenset(named),
        holder=observation.holder,
        labelled=observation.labelled,
        live=observation.live,
        others=observation.others,
    )
