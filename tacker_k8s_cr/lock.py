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
from tacker_k8s_cr.cluster.protocol import Observation
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

RETRY = 1.0
"""Seconds between renewals after one that the server did not answer."""

ATTEMPT = 10.0
"""Seconds for one renewal."""

MARGIN = 5.0
"""Seconds of a lock that must be left for a request to start."""

PATIENCE = 5.0
"""Seconds that a request waits for the renewal of a lock that is too old."""


def lease_ref(instance: str, namespace: str) -> ObjectRef:
    return ObjectRef(
        LEASE.group, LEASE.kind, namespace, record.NAME + instance
    )


class Lock:
    """A Lease that we hold, renewed by a thread of its own.

    How old a lock is we judge by our own clock, since we last saw it
    change: clocks of two machines need not agree. A lock that is past its
    term is not lost yet: a Lease that is still ours when it is renewed was
    taken by nobody in between.
    """

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        lease: Manifest,
        deadline: Deadline,
    ):
        self.instance = instance
        self._manager = objects.MANAGER + instance
        self._cluster = cluster.until(Deadline.never(deadline.clock))
        self._lease = lease
        self._us = _holder(lease)
        self._deadline = deadline
        self._clock = deadline.clock
        self._renewed = self._clock()
        self._why = ""
        self._erased = False
        self._ended = False
        # The thread waits for its turn, and who is about to write for it.
        self._turn = threading.Event()
        self._tried = threading.Condition()
        self._thread = threading.Thread(
            target=self._keep, name="tacker-k8s-cr lock", daemon=True
        )

    @property
    def limit(self) -> Deadline:
        """The operation's deadline, as long as the lock is ours.

        A cluster until it asks ``guard`` before each attempt of a request,
        so that none is repeated without the lock.
        """
        return Limit(self, self._deadline)

    def check(self) -> None:
        """Raise LockLost if somebody took the lock.

        It may be past its term: enough for who only waits.
        """
        if self._why:
            raise errors.LockLost(self.instance, self._why)

    def guard(self) -> None:
        """Raise LockLost unless enough of the lock is left for a request.

        Of a lock that nobody could renew, the next renewal is waited for,
        for a moment: the server may just be back.
        """
        if not self._enough:
            self._turn.set()
            limit = self._deadline.sooner(PATIENCE)
            with self._tried:
                self._tried.wait_for(
                    lambda: self._enough or self._why, limit.left
                )
        self.check()
        if not self._enough:
            age = self._clock() - self._renewed
            raise errors.LockLost(
                self.instance, f"not renewed for {age:.0f} s"
            )

    def start(self) -> None:
        self._thread.start()

    def retire(self) -> None:
        """Let the Lease go with the lock: the instance is no more."""
        self._erased = True

    def release(self) -> None:
        """Give the lock back."""
        self._ended = True
        self._turn.set()
        self._thread.join()
        if self._why:
            return
        brief = self._cluster.until(Deadline.after(TERM, self._clock))
        with contextlib.suppress(errors.Error):
            try:
                self._give_back(brief, self._lease)
            except errors.Outdated:
                # Perhaps by a renewal of ours whose answer was lost.
                lease = brief.get(ObjectRef.of(self._lease))
                if lease and _holder(lease) == self._us:
                    self._give_back(brief, lease)

    def _give_back(self, cluster: Cluster, lease: Manifest) -> None:
        if self._erased:
            cluster.delete(ObjectRef.of(lease), objects.uid(lease))
        else:
            cluster.replace(_held(lease, ""), self._manager)

    @property
    def _enough(self) -> bool:
        left = self._renewed + TERM - self._clock()
        return not self._why and left >= MARGIN

    def _keep(self) -> None:
        """Renew it, until it is given back or taken."""
        pause = RENEWAL
        while not self._why:
            self._turn.wait(pause)
            self._turn.clear()
            if self._ended:
                return
            try:
                pause = RENEWAL if self._renew() else 0.0
            except errors.Error as error:
                LOG.warning("%s: not renewed: %s", self.instance, error)
                pause = RETRY
            with self._tried:
                self._tried.notify_all()

    def _renew(self) -> bool:
        """Whether it is done; if not, there is something new to try."""
        begun = self._clock()
        brief = self._cluster.until(Deadline.after(ATTEMPT, self._clock))
        try:
            self._lease = brief.replace(
                _held(self._lease, self._us), self._manager
            )
        except errors.Outdated:
            return self._seen(brief, begun)
        self._renewed = begun
        return True

    def _seen(self, cluster: Cluster, begun: float) -> bool:
        """Find out what became of the Lease since we last saw it."""
        ref = ObjectRef.of(self._lease)
        lease = cluster.get(ref)
        if lease is not None:
            holder = _holder(lease)
            if holder == self._us:
                self._lease = lease
            else:
                self._why = f"it went to {holder or 'somebody else'}"
            return False
        if begun > self._renewed + TERM:
            # Who took it may have ended the instance, and the Lease.
            self._why = "its Lease is gone"
            return False
        new = _lease(ref, self.instance, self._us)
        try:
            self._lease = cluster.create(new, self._manager)
        except errors.Outdated:
            return False
        except (errors.NotYet, errors.Rejected, errors.Forbidden) as error:
            self._why = f"its Lease is gone: {error}"
            return False
        self._renewed = begun
        return True


class Limit(Deadline):
    """A deadline that raises LockLost where the lock is no more."""

    _lock: Lock

    def __init__(self, lock: Lock, deadline: Deadline):
        super().__init__(deadline.at, deadline.clock)
        object.__setattr__(self, "_lock", lock)  # it is frozen

    @property
    def left(self) -> float:
        self._lock.guard()
        return super().left

    @property
    def passed(self) -> bool:
        self._lock.guard()
        return super().passed


@contextlib.contextmanager
def locked(
    cluster: Cluster, instance: str, namespace: str, deadline: Deadline
) -> Iterator[Lock]:
    """Hold the instance's lock for as long as the context lasts.

    Raises Busy when somebody renews it. A lock whose holder died is ours
    after its term; that takes up to 15 seconds.
    """
    lease = _taken(cluster, instance, namespace, deadline)
    lock = Lock(cluster, instance, lease, deadline)
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
            if not _holder(lease) or _stands_still(
                cluster, lease, instance, deadline
            ):
                return cluster.replace(_held(lease, us), manager)
        except errors.Outdated:
            continue


def _stands_still(
    cluster: Cluster, lease: Manifest, instance: str, deadline: Deadline
) -> bool:
    """Whether nobody renews the lease for its term.

    False if it was given back or is gone, so that it may be taken. Raises
    Busy when somebody has it.
    """
    ref = ObjectRef.of(lease)
    labelled = record.RECORD in objects.labels(lease)
    selector = record.selector(instance) if labelled else ""
    watch = Watch(LEASE, ref.namespace, selector, frozenset({ref.name}))
    seen = lease["metadata"]["resourceVersion"]
    limit = deadline.sooner(TERM)
    with cluster.watching([watch]) as watching:
        while not limit.passed:
            for found in watching.take(limit.left):
                obj = _shown(ref, found)
                if obj is None:
                    continue
                if not obj or not _holder(obj):
                    return False
                if obj["metadata"]["resourceVersion"] != seen:
                    raise errors.Busy(instance, _holder(obj))
    if deadline.passed:
        raise errors.Busy(instance, _holder(lease))
    return True


def _shown(ref: ObjectRef, found: Observation) -> Manifest | None:
    """The object as it was found; empty if it is gone, None for others."""
    if isinstance(found, Changed):
        if ObjectRef.of(found.obj) != ref:
            return None
        return {} if found.gone else found.obj
    named = [obj for obj in found.objs if ObjectRef.of(obj) == ref]
    return named[0] if named else {}


def _holder(lease: Manifest) -> str:
    return str(objects.field(lease, ("spec", "holderIdentity"), ""))


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
