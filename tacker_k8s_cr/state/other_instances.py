"""Other instances: whether they exist, and which shared objects they use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.state import record_secrets
from tacker_k8s_cr.state import serialization


def has_record(
    cluster: Cluster, instance: str, except_namespace: str = ""
) -> bool:
    """Whether an instance has a record, in any namespace.

    True where listing Secrets is forbidden: an object is never adopted from an
    owner that may exist.

    :param except_namespace: a namespace that does not count.
    """
    try:
        found = cluster.list_metadata(
            record_secrets.SECRET, "", record_secrets.selector(instance)
        )
        # A chunk without its index was written after the record was deleted.
        return any(
            ref.name == record_names.PREFIX + instance
            and ref.namespace != except_namespace
            for ref in map(ObjectRef.of, found)
        )
    except errors.Forbidden:
        return True


def terminating_record(cluster: Cluster, instance: str) -> str:
    """Return where the record of a terminating instance is, as a text.

    With the time of the last write: a stuck terminate writes nothing. Empty
    for an instance that is not known to be terminating.
    """
    try:
        found = cluster.list_metadata(
            record_secrets.SECRET, "", record_secrets.selector(instance)
        )
        for obj in found:
            if objects.annotation(obj, record_secrets.TERMINATING):
                where = ObjectRef.of(obj).namespace
                written = ownership.last_write_time(obj)
                last = f", last written at {written}" if written else ""
                return f"its record is in namespace {where}{last}"
    except errors.Forbidden:
        pass
    return ""


def record_namespaces(cluster: Cluster, instance: str) -> tuple[str, ...]:
    """Return the namespaces that have a record of an instance.

    Empty where listing Secrets is forbidden.
    """
    try:
        found = cluster.list_metadata(
            record_secrets.SECRET, "", record_secrets.selector(instance)
        )
        refs = tuple(map(ObjectRef.of, found))
    except errors.Forbidden:
        return ()
    namespaces = {
        r.namespace for r in refs if r.name == record_names.PREFIX + instance
    }
    return tuple(sorted(namespaces))


def sharing_instances(
    cluster: Cluster,
    instance: str,
    refs: Collection[ObjectRef],
    home: str = "",
) -> Mapping[ObjectRef, frozenset[str]]:
    """Return by object the other instances that share it.

    A terminating instance counts as using nothing. Where listing the Secrets
    of all namespaces is forbidden, those of the objects and of the owner's
    record are listed.

    :param instance: the owner, whose own record does not count.
    :param home: the namespace of that record.
    """
    if not refs:
        return {}
    found: dict[ObjectRef, set[str]] = defaultdict(set)
    by_digest: dict[str, ObjectRef] = {}
    namespaces = {ref.namespace for ref in refs} | {home}
    for obj in _records(cluster, namespaces - {""}):
        ref = ObjectRef.of(obj)
        other = objects.labels(obj)[record_names.LABEL]
        if other == instance or ref.name != record_names.PREFIX + other:
            continue  # its own index, or a chunk
        digests = objects.annotation(obj, record_secrets.SHARES)
        if digests and not by_digest:  # most instances share nothing
            by_digest = {serialization.digest(ref): ref for ref in refs}
        for digest in by_digest.keys() & (digests or "").split():
            found[by_digest[digest]].add(other)
    return {ref: frozenset(names) for ref, names in found.items()}


def _records(cluster: Cluster, namespaces: Collection[str]) -> list[Manifest]:
    """Return the metadata of the record Secrets of all instances."""
    try:
        return list(
            cluster.list_metadata(
                record_secrets.SECRET, "", record_names.LABEL
            )
        )
    except errors.Forbidden:
        listed: list[Manifest] = []
        for namespace in namespaces:
            try:
                listed += cluster.list_metadata(
                    record_secrets.SECRET, namespace, record_names.LABEL
                )
            except errors.Forbidden:
                continue
    return listed


def shared_refs(
    cluster: Cluster,
    instance: str,
    refs: Collection[ObjectRef],
    home: str = "",
) -> dict[ObjectRef, str]:
    """Return the objects that other instances share, with a description."""
    return {
        ref: "used by the instance"
        + ("s " if len(names) > 1 else " ")
        + ", ".join(sorted(names))
        for ref, names in sharing_instances(
            cluster, instance, refs, home
        ).items()
    }
