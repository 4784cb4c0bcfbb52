"""One operation on an instance at a time: a Lease that its holder renews."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import datetime
import logging
import os
import socket
import threading
import uuid

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import record
from tacker_k8s_cr.cluster.protocol import Changed
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef

LOG = logging.getLogger(__name__)

LEASE = GroupKind("coordination.k8s.io", "Lease")

TERM = 15.0
"""Seconds that a lock lasts after it was last renewed."""

RENEWAL = 5.0
"""Seconds between renewals."""

MARGIN = 5.0
"""Seconds of a lock that must be left for a request to start."""


def lease_ref(instance: str, namespace: str) -> ObjectRef:
    return ObjectRef(
        LEASE.group, LEASE.kind, namespace, record.NAME + instance
    )


class Lock:
    """A Lease that we hold, renewed by a thread of its own.

    How old a lock is we judge by our own clock, since we last saw it
    change: clocks of two machines need not agree.
    """

    def __init__(self, cluster: Cluster, lease: Manifest, deadline: Deadline):
        self._cluster = cluster.until(Deadline.never(deadline.clock))
        self._lease = lease
        self._clock = deadline.clock
        self._renewed = self._clock()
        self._why = ""
        self._erased = False
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._renew, name="tacker-k8s-cr lock", daemon=True
        )

    @property
    def instance(self) -> str:
        return objects.labels(self._lease)[record.RECORD]

    def guard(self) -> None:
        """Raise LockLost unless enough of the lock is left for a request."""
        if self._why:
            raise errors.LockLost(self.instance, self._why)
        left = self._renewed + TERM - self._clock()
        if left < MARGIN:
            raise errors.LockLost(
                self.instance, f"not renewed for {TERM - left:.0f} s"
            )

    def start(self) -> None:
        self._thread.start()

    def retire(self) -> None:
        """Let the Lease go with the lock: the instance is no more."""
        self._erased = True

    def release(self) -> None:
        """Give the lock back."""
        self._ended.set()
        self._thread.join()
        if self._why:
            return
        ref = ObjectRef.of(self._lease)
        brief = self._cluster.until(Deadline.after(TERM, self._clock))
        with contextlib.suppress(errors.ClusterError):
            if self._erased:
                brief.delete(ref, objects.uid(self._lease))
            else:
                brief.replace(_held(self._lease, ""), _manager(self._lease))

    def _renew(self) -> None:
        while not self._ended.wait(RENEWAL):
            held = self._lease["spec"]["holderIdentity"]
            limit = Deadline(self._renewed + TERM, self._clock)
            if limit.passed:
                self._why = "it could not be renewed in time"
                return
            begun = self._clock()
            try:
                self._lease = self._cluster.until(limit).replace(
                    _held(self._lease, held), _manager(self._lease)
                )
                self._renewed = begun
            except errors.Outdated:
                self._why = "somebody else took it"
                return
            except errors.ClusterError as error:
                LOG.warning("%s: not renewed: %s", self.instance, error)


@contextlib.contextmanager
def locked(
    cluster: Cluster, instance: str, namespace: str, deadline: Deadline
) -> Iterator[Lock]:
    """Hold the instance's lock for as long as the context lasts.

    Raises Busy when somebody renews it. A lock whose holder died is ours
    after its term; that takes up to 15 seconds.
    """
    lease = _taken(cluster, instance, namespace, deadline)
    lock = Lock(cluster, lease, deadline)
    lock.start()
    try:
        yield lock
    finally:
        lock.release()


def _taken(
    cluster: Cluster, instance: str, namespace: str, deadline: Deadline
) -> Manifest:
    ref = lease_ref(instance, namespace)
    manager = objects.MANAGER + instance
    us = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"
    while True:
        lease = cluster.get(ref)
        try:
            if lease is None:
                return cluster.create(_lease(ref, instance, us), manager)
            holder = objects.field(lease, ("spec", "holderIdentity"), "")
            if not holder or _stands_still(cluster, lease, deadline):
                return cluster.replace(_held(lease, us), manager)
        except errors.Outdated:
            continue
        raise errors.Busy(instance, holder)


def _stands_still(
    cluster: Cluster, lease: Manifest, deadline: Deadline
) -> bool:
    """Whether nobody renews or releases the lease for its term."""
    ref = ObjectRef.of(lease)
    watch = Watch(
        LEASE,
        ref.namespace,
        record.selector(objects.labels(lease).get(record.RECORD, "")),
        frozenset({ref.name}),
    )
    seen = lease["metadata"]["resourceVersion"]
    limit = deadline.sooner(TERM)
    with cluster.watching([watch]) as watching:
        while not limit.passed:
            for found in watching.take(limit.left):
                listed = (
                    (found.obj,) if isinstance(found, Changed) else found.objs
                )
                for obj in listed:
                    version = objects.field(
                        obj, ("metadata", "resourceVersion")
                    )
                    if ObjectRef.of(obj) == ref and version != seen:
                        return False
    return not deadline.passed


def _manager(lease: Manifest) -> str:
    return objects.MANAGER + objects.labels(lease)[record.RECORD]


def _lease(ref: ObjectRef, instance: str, holder: str) -> Manifest:
    return _held(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": LEASE.kind,
            "metadata": {
                "name": ref.name,
                "namespace": ref.namespace,
                "labels": {record.RECORD: instance},
            },
            "spec": {"leaseDurationSeconds": int(TERM)},
        },
        holder,
    )


def _held(lease: Manifest, holder: str) -> Manifest:
    now = datetime.datetime.now(datetime.timezone.utc)
    spec = {
        **lease["spec"],
        "holderIdentity": holder,
        "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    return {**lease, "spec": spec}
