"""The Lease of an instance: taking it, and what is written to it."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import datetime
import os
import socket
import uuid

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Changed
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import Observation
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import record

KIND = GroupKind("coordination.k8s.io", "Lease")

TERM = 15.0
"""Seconds that a lock lasts after it was last renewed."""


def ref(instance: str, namespace: str) -> ObjectRef:
    return ObjectRef(KIND.group, KIND.kind, namespace, record.NAME + instance)


@dataclasses.dataclass(frozen=True)
class Taken:
    """A Lease with us as its holder, and the seconds that its write took."""

    lease: Manifest
    seconds: float


def taken(
    cluster: Cluster, instance: str, namespace: str, deadline: Deadline
) -> Taken:
    """Take the Lease. Raises Busy when somebody renews it.

    Whether the holder renews it is seen by a watch, and a server that is
    behind the others shows none of its renewals. The write is refused then,
    and the next read shows what the watch did not.
    """
    lease_ref = ref(instance, namespace)
    manager = objects.MANAGER + instance
    us = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"
    still: Manifest | None = None
    while True:
        lease = cluster.get(lease_ref)
        if still and lease and holder(lease) and _spec(lease) != _spec(still):
            raise errors.Busy(instance, holder(lease))
        try:
            if lease and holder(lease):
                if not _stands_still(cluster, lease, instance, deadline):
                    continue
                still = lease
            begun = deadline.now
            if lease is None:
                new = cluster.create(made(lease_ref, instance, us), manager)
            else:
                new = cluster.replace(held(lease, us), manager)
            return Taken(new, deadline.now - begun)
        except errors.Outdated:
            continue


def _spec(lease: Manifest) -> Mapping[str, object]:
    found: Mapping[str, object] = objects.field(lease, ("spec",), {})
    return found


def renewed_at(lease: Manifest) -> str:
    """Return the time that its last holder wrote to it."""
    return str(objects.field(lease, ("spec", "renewTime"), ""))


def _stands_still(
    cluster: Cluster, lease: Manifest, instance: str, deadline: Deadline
) -> bool:
    """Whether nobody renews the lease for its term.

    False if it was given back or is gone, so that it may be taken. Raises
    Busy when somebody has it.
    """
    name = lease["metadata"]["name"]
    labelled = record.RECORD in objects.labels(lease)
    selector = record.selector(instance) if labelled else ""
    place = lease["metadata"]["namespace"]
    watch = Watch(KIND, place, selector, frozenset({name}))
    seen = lease["metadata"]["resourceVersion"]
    limit = deadline.sooner(TERM)
    with cluster.watching([watch]) as watching:
        while not limit.passed:
            for found in watching.take(limit.left):
                obj = _shown(name, found)
                if obj is None:
                    continue
                if not obj or not holder(obj):
                    return False
                if obj["metadata"]["resourceVersion"] != seen:
                    raise errors.Busy(instance, holder(obj))
    if deadline.passed:
        raise errors.Busy(instance, holder(lease))
    return True


def _shown(name: str, found: Observation) -> Manifest | None:
    """The object as it was found; empty if it is gone, None for others."""
    if isinstance(found, Changed):
        if found.obj["metadata"]["name"] != name:
            return None
        return {} if found.gone else found.obj
    named = [obj for obj in found.objs if obj["metadata"]["name"] == name]
    return named[0] if named else {}


def holder(lease: Manifest) -> str:
    return str(objects.field(lease, ("spec", "holderIdentity"), ""))


def made(lease_ref: ObjectRef, instance: str, us: str) -> Manifest:
    return held(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": KIND.kind,
            "metadata": {
                "name": lease_ref.name,
                "namespace": lease_ref.namespace,
                "labels": {record.RECORD: instance},
            },
            "spec": {"leaseDurationSeconds": int(TERM)},
        },
        us,
    )


def held(lease: Manifest, us: str) -> Manifest:
    """The Lease, renewed by this holder; empty to give it back."""
    now = datetime.datetime.now(datetime.timezone.utc)
    spec = {
        **objects.field(lease, ("spec",), {}),
        "holderIdentity": us,
        "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    return {**lease, "spec": spec}
