"""Acquire, renew and release the Lease of an instance."""

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
from tacker_k8s_cr.state import record_secrets

KIND = GroupKind("coordination.k8s.io", "Lease")

TERM = 15.0
"""Seconds that a lock lasts after it was last renewed."""


def ref(instance: str, namespace: str) -> ObjectRef:
    return ObjectRef(
        KIND.group, KIND.kind, namespace, record_names.PREFIX + instance
    )


@dataclasses.dataclass(frozen=True)
class AcquiredLease:
    """A Lease that this process holds, and the duration of its write."""

    lease: Manifest
    seconds: float


def acquire(
    cluster: Cluster, instance: str, namespace: str, deadline: Deadline
) -> AcquiredLease:
    """Acquire the Lease. Raises OperationInProgress if its holder renews it.

    A watch shows whether the holder renews it, and a server that is behind the
    others shows none of its renewals. The write is refused then, and the next
    read shows what the watch did not.
    """
    lease_ref = ref(instance, namespace)
    manager = objects.MANAGER + instance
    holder_id = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"
    expired: Manifest | None = None
    while True:
        lease = cluster.get(lease_ref)
        if (
            expired
            and lease
            and holder(lease)
            and _spec(lease) != _spec(expired)
        ):
            raise errors.OperationInProgress(instance, holder(lease))
        try:
            if lease and holder(lease):
                if not _is_expired(cluster, lease, instance, deadline):
                    continue
                expired = lease
            started = deadline.now
            if lease is None:
                new = cluster.create(
                    new_lease(lease_ref, instance, holder_id), manager
                )
            else:
                new = cluster.replace(with_holder(lease, holder_id), manager)
            return AcquiredLease(new, deadline.now - started)
        except errors.Conflict:
            continue


def _spec(lease: Manifest) -> Mapping[str, object]:
    found: Mapping[str, object] = objects.field(lease, ("spec",), {})
    return found


def renewed_at(lease: Manifest) -> str:
    """Return the time that its last holder wrote to it."""
    return str(objects.field(lease, ("spec", "renewTime"), ""))


def _is_expired(
    cluster: Cluster, lease: Manifest, instance: str, deadline: Deadline
) -> bool:
    """Return whether the Lease has not been renewed for its term.

    False if it was released or deleted, so that it may be acquired. Raises
    OperationInProgress when its holder renews it.
    """
    name = lease["metadata"]["name"]
    labelled = record_names.LABEL in objects.labels(lease)
    selector = record_secrets.selector(instance) if labelled else ""
    namespace = lease["metadata"]["namespace"]
    watch = Watch(KIND, namespace, selector, frozenset({name}))
    last_version = lease["metadata"]["resourceVersion"]
    limit = deadline.at_most(TERM)
    with cluster.watch([watch]) as session:
        while not limit.expired:
            for update in session.next_events(limit.remaining):
                obj = _find_lease(name, update)
                if obj is None:
                    continue
                if not obj or not holder(obj):
                    return False
                if obj["metadata"]["resourceVersion"] != last_version:
                    raise errors.OperationInProgress(instance, holder(obj))
    if deadline.expired:
        raise errors.OperationInProgress(instance, holder(lease))
    return True


def _find_lease(name: str, update: WatchUpdate) -> Manifest | None:
    """Return the object as found; empty if deleted, None for others."""
    if isinstance(update, WatchEvent):
        if update.obj["metadata"]["name"] != name:
            return None
        return {} if update.deleted else update.obj
    listed = [obj for obj in update.objs if obj["metadata"]["name"] == name]
    return listed[0] if listed else {}


def holder(lease: Manifest) -> str:
    return str(objects.field(lease, ("spec", "holderIdentity"), ""))


def new_lease(lease_ref: ObjectRef, instance: str, holder_id: str) -> Manifest:
    return with_holder(
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
        holder_id,
    )


def with_holder(lease: Manifest, holder_id: str) -> Manifest:
    """Return the Lease, renewed by this holder; empty to release it."""
    now = datetime.datetime.now(datetime.timezone.utc)
    spec = {
        **objects.field(lease, ("spec",), {}),
        "holderIdentity": holder_id,
        "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    return {**lease, "spec": spec}
