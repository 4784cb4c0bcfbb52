"""The Lease of an instance: taking it, and what is written to it."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import datetime
import os
import socket
import uuid

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchEvent
from tacker_k8s_cr.kube.protocol import WatchUpdate
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.state import store

KIND = GroupKind("coordination.k8s.io", "Lease")

TERM = 15.0
"""Seconds that a lock lasts after it was last renewed."""


def ref(instance: str, namespace: str) -> ObjectRef:
    return ObjectRef(
        KIND.group, KIND.kind, namespace, record_names.PREFIX + instance
    )


@dataclasses.dataclass(frozen=True)
class Taken:
    """A Lease with us as its holder, and the seconds that its write took."""

    lease: Manifest
    seconds: float


def acquire(
    cluster: Cluster, instance: str, namespace: str, deadline: Deadline
) -> Taken:
    """Acquire the Lease. Raises OperationInProgress if its holder renews it.

    A watch shows whether the holder renews it, and a server that is behind the
    others shows none of its renewals. The write is refused then, and the next
    read shows what the watch did not.
    """
    lease_ref = ref(instance, namespace)
    manager = objects.MANAGER + instance
    us = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"
    still: Manifest | None = None
    while True:
        lease = cluster.get(lease_ref)
        if still and lease and holder(lease) and _spec(lease) != _spec(still):
            raise errors.OperationInProgress(instance, holder(lease))
        try:
            if lease and holder(lease):
                if not _stands_still(cluster, lease, instance, deadline):
                    continue
                still = lease
            begun = deadline.now
            if lease is None:
                new = cluster.create(
                    new_lease(lease_ref, instance, us), manager
                )
            else:
                new = cluster.replace(renewed(lease, us), manager)
            return Taken(new, deadline.now - begun)
        except errors.Conflict:
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
    """Return whether the Lease has not been renewed for its term.

    False if it was released or deleted, so that it may be acquired. Raises
    Busy when another holder has it.
    """
    name = lease["metadata"]["name"]
    labelled = record_names.LABEL in objects.labels(lease)
    selector = store.selector(instance) if labelled else ""
    place = lease["metadata"]["namespace"]
    watch = Watch(KIND, place, selector, frozenset({name}))
    seen = lease["metadata"]["resourceVersion"]
    limit = deadline.at_most(TERM)
    with cluster.watch([watch]) as watching:
        while not limit.expired:
            for found in watching.next_events(limit.remaining):
                obj = _shown(name, found)
                if obj is None:
                    continue
                if not obj or not holder(obj):
                    return False
                if obj["metadata"]["resourceVersion"] != seen:
                    raise errors.OperationInProgress(instance, holder(obj))
    if deadline.expired:
        raise errors.OperationInProgress(instance, holder(lease))
    return True


def _shown(name: str, found: WatchUpdate) -> Manifest | None:
    """Return the object as found; empty if deleted, None for others."""
    if isinstance(found, WatchEvent):
        if found.obj["metadata"]["name"] != name:
            return None
        return {} if found.deleted else found.obj
    named = [obj for obj in found.objs if obj["metadata"]["name"] == name]
    return named[0] if named else {}


def holder(lease: Manifest) -> str:
    return str(objects.field(lease, ("spec", "holderIdentity"), ""))


def new_lease(lease_ref: ObjectRef, instance: str, us: str) -> Manifest:
    return renewed(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": KIND.kind,
            "metadata": {
                "name": lease_ref.name,
                "namespace": lease_ref.namespace,
                "labels": {record_names.LABEL: instance},
            },
            "spec": {"leaseDurationSeconds": int(TERM)},
        },
        us,
    )


def renewed(lease: Manifest, us: str) -> Manifest:
    """The Lease, renewed by this holder; empty to give it back."""
    now = datetime.datetime.now(datetime.timezone.utc)
    spec = {
        **objects.field(lease, ("spec",), {}),
        "holderIdentity": us,
        "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    return {**lease, "spec": spec}
