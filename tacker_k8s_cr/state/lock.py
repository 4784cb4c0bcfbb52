"""One operation on an instance at a time: a Lease that its holder renews."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import contextvars
import dataclasses
import logging
import threading

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.state import leases

LOG = logging.getLogger(__name__)

RENEWAL = 5.0
"""Seconds between renewals."""

RETRY = 1.0
"""Seconds until the next renewal after one without a response."""

ATTEMPT = 10.0
"""Seconds for one renewal, at most."""

FIRST_ATTEMPT = 3.0
"""Seconds for the first attempt of a renewal, unless the server is known to
take longer. Of several servers behind a balancer one may be silent; the next
attempt goes to another, before the lock is too old to write under it."""

MARGIN = 5.0
"""Seconds that must remain of a lock for a request to start."""

FINAL_SECONDS = 3.0
"""Seconds for each final write with the lock, also after the deadline."""

FINAL_SECONDS_UNREACHABLE = 1.0
"""The same, if the server has just not answered another request."""

_RELEASE_ATTEMPTS = 3
"""Attempts to release the lock."""

MARGIN_TIMEOUT = 20.0
"""Seconds that a request waits for the renewal of a lock that is too old."""


class LeaseLock:
    """A Lease that this process holds, renewed by a separate thread.

    The age of a lock is measured on the local clock, since its last observed
    change: clocks of two machines need not agree. A lock that is past its term
    is not lost yet: if the Lease still has this holder at the next renewal, no
    other holder acquired it in between.
    """

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        acquired: leases.AcquiredLease,
        deadline: Deadline,
    ):
        self.instance = instance
        self._manager = objects.MANAGER + instance
        self._cluster = cluster.with_deadline(Deadline.never(deadline.clock))
        self._lease = acquired.lease
        self._holder_id = leases.holder(acquired.lease)
        self._deadline = deadline
        self._clock = deadline.clock
        self._renewed = self._clock() - acquired.seconds
        self._limit = _attempt_limit(acquired.seconds)
        # Start of each attempt without a response, by the time that it wrote.
        self._unanswered: dict[str, float] = {}
        self._lost_reason = ""
        self._refusal: errors.Unauthenticated | None = None
        self._delete_lease = False
        self._released = False
        self._unreachable = False
        # The thread waits for the first event, a writer for the second.
        self._wake = threading.Event()
        self._attempted = threading.Condition()
        self._thread = threading.Thread(
            # With the context of the caller, which a log line needs.
            target=contextvars.copy_context().run,
            args=(self._renew_until_released,),
            name="tacker-k8s-cr lock",
            daemon=True,
        )

    @property
    def limit(self) -> Deadline:
        """Return the operation's deadline, bound to this lock.

        A cluster with this deadline calls ``guard`` before each attempt of a
        request, so that none is repeated without the lock.
        """
        return LockDeadline(self, self._deadline)

    def check(self) -> None:
        """Raise LockLost if another holder acquired the lock.

        It may be past its term: sufficient while only waiting, unless the
        credential is refused by then, which waiting cannot resolve.
        """
        if self._lost_reason:
            raise errors.LockLost(self.instance, self._lost_reason)
        refusal = self._refusal
        if refusal and self._clock() > self._renewed + leases.TERM:
            # A copy of the error, since callers add to it.
            raise dataclasses.replace(refusal)

    def require_margin(self) -> None:
        """Raise LockLost unless enough of the lock is left for a request.

        If the lock could not be renewed, wait briefly for the next renewal:
        the server may have just recovered.
        """
        if not self._has_margin:
            self._renew_now(self._deadline.at_most(MARGIN_TIMEOUT).remaining)
        self.check()
        if not self._has_margin:
            age = self._clock() - self._renewed
            raise errors.LockLost(
                self.instance, f"not renewed for {age:.0f} s"
            )

    def verify_held(self) -> None:
        """Raise LockLost if another holder is known to have the lock.

        For an error that may only be the effect of another operation.
        """
        if not self._has_margin:
            self._renew_now(FINAL_SECONDS)
        if self._lost_reason:
            raise errors.LockLost(self.instance, self._lost_reason)

    def _renew_now(self, seconds: float) -> None:
        """Renew it now, and wait for the result."""
        self._refusal = None
        self._wake.set()
        with self._attempted:
            self._attempted.wait_for(
                lambda: self._has_margin or self._lost_reason or self._refusal,
                seconds,
            )

    @property
    def final_seconds(self) -> float:
        """Seconds for a final write: fewer if the server does not respond."""
        return (
            FINAL_SECONDS
            if self._has_margin and not self._unreachable
            else FINAL_SECONDS_UNREACHABLE
        )

    def mark_unreachable(self) -> None:
        """Shorten the final writes: the server does not respond."""
        self._unreachable = True

    def start(self) -> None:
        self._thread.start()

    def delete_on_release(self) -> None:
        """Delete the Lease with the lock: the instance no longer exists."""
        self._delete_lease = True

    def release(self) -> None:
        """Release the lock."""
        self._released = True
        self._wake.set()
        # A renewal without a response continues in its thread: it finds a
        # Lease with another holder, and ends.
        self._thread.join(
            max(self.final_seconds, min(ATTEMPT, self._deadline.remaining))
        )
        if self._lost_reason:
            return
        seconds = max(
            self.final_seconds, min(leases.TERM, self._deadline.remaining)
        )
        end = Deadline.after(seconds, self._clock)
        for attempt in range(_RELEASE_ATTEMPTS):
            # Another server may answer the next attempt, as for a renewal.
            limit = self._limit if attempt < _RELEASE_ATTEMPTS - 1 else ATTEMPT
            try:
                self._release_once(
                    self._cluster.with_deadline(end.at_most(limit))
                )
            except errors.Error as error:
                failure = error
                if isinstance(error, (errors.Unavailable, errors.Unreachable)):
                    continue
            else:
                return
            break
        LOG.warning(
            "%s: the lock was not released: %s", self.instance, failure
        )

    def _release_once(self, cluster: Cluster) -> None:
        try:
            self._release_lease(cluster, self._lease)
        except errors.Conflict:
            # Perhaps by a renewal of this process whose response was lost.
            lease = cluster.get(ObjectRef.of(self._lease))
            if lease and leases.holder(lease) == self._holder_id:
                self._release_lease(cluster, lease)

    def _release_lease(self, cluster: Cluster, lease: Manifest) -> None:
        if self._delete_lease:
            cluster.delete(ObjectRef.of(lease), objects.uid(lease))
        else:
            cluster.replace(leases.with_holder(lease, ""), self._manager)

    @property
    def _has_margin(self) -> bool:
        remaining = self._renewed + leases.TERM - self._clock()
        return not self._lost_reason and remaining >= MARGIN

    def _renew_until_released(self) -> None:
        """Renew it until it is released or lost."""
        pause = RENEWAL
        while not self._lost_reason:
            self._wake.wait(pause)
            self._wake.clear()
            if self._released:
                return
            try:
                pause = RENEWAL if self._renew() else 0.0
                self._refusal = None
            except errors.Error as error:
                LOG.warning("%s: not renewed: %s", self.instance, error)
                pause = RETRY
                if isinstance(error, errors.Unauthenticated):
                    self._refusal = error
            with self._attempted:
                self._attempted.notify_all()

    def _renew(self) -> bool:
        """Return whether it was renewed; if not, try again at once."""
        started = self._clock()
        limited = self._cluster.with_deadline(
            Deadline.after(self._limit, self._clock)
        )
        new = leases.with_holder(self._lease, self._holder_id)
        try:
            self._lease = limited.replace(new, self._manager)
        except errors.Conflict:
            return self._reread(limited, started)
        except (errors.Unavailable, errors.Unreachable):
            self._unanswered[leases.renewed_at(new)] = started
            self._limit = min(ATTEMPT, 2 * self._limit)
            raise
        self._note_renewal(started)
        self._limit = _attempt_limit(self._clock() - started)
        return True

    def _note_renewal(self, started: float) -> None:
        self._renewed = started
        self._unanswered.clear()

    def _reread(self, cluster: Cluster, started: float) -> bool:
        """Read the Lease, which has changed since it was last read."""
        ref = ObjectRef.of(self._lease)
        lease = cluster.get(ref)
        if lease is not None:
            holder = leases.holder(lease)
            if holder != self._holder_id:
                self._lost_reason = (
                    f"it is held by {holder or 'another holder'}"
                )
                return False
            self._lease = lease
            # By an attempt of this process whose response was lost.
            renewed = self._unanswered.get(leases.renewed_at(lease))
            if renewed is None:
                return False
            self._note_renewal(renewed)
            return True
        if started > self._renewed + leases.TERM:
            # Another holder may have terminated the instance and deleted it.
            self._lost_reason = "its Lease was deleted"
            return False
        if self._released:
            return False
        new = leases.new_lease(ref, self.instance, self._holder_id)
        try:
            self._lease = cluster.create(new, self._manager)
        except errors.Conflict:
            return False
        except (
            errors.DependencyMissing,
            errors.Rejected,
            errors.Forbidden,
        ) as error:
            self._lost_reason = f"its Lease was deleted: {error}"
            return False
        self._note_renewal(started)
        return True


def _attempt_limit(seconds: float) -> float:
    """Return the limit for an attempt where the last took so long."""
    return min(ATTEMPT, max(FIRST_ATTEMPT, 3 * seconds))


class LockDeadline(Deadline):
    """A deadline that raises LockLost once the lock is lost."""

    _lock: LeaseLock

    def __init__(self, lock: LeaseLock, deadline: Deadline):
        super().__init__(deadline.at, deadline.clock)
        object.__setattr__(self, "_lock", lock)  # it is frozen

    @property
    def remaining(self) -> float:
        self._lock.require_margin()
        return super().remaining

    @property
    def expired(self) -> bool:
        self._lock.require_margin()
        return super().expired


@contextlib.contextmanager
def locked(
    cluster: Cluster, instance: str, namespace: str, deadline: Deadline
) -> Iterator[LeaseLock]:
    """Hold the instance's lock for as long as the context lasts.

    Raises OperationInProgress if another holder renews it. A lock whose holder
    died can be acquired after its term; that takes up to 15 seconds.
    """
    acquired = leases.acquire(cluster, instance, namespace, deadline)
    lock = LeaseLock(cluster, instance, acquired, deadline)
    lock.start()
    try:
        yield lock
    finally:
        lock.release()
