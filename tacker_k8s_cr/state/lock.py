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
"""Seconds between renewals after one that the server did not answer."""

ATTEMPT = 10.0
"""Seconds for one renewal, at most."""

QUICK = 3.0
"""Seconds for the first attempt of one, unless the server is known to take
longer. Of several servers behind a balancer one may be silent; the next
attempt goes to another, before the lock is too old to write under it."""

MARGIN = 5.0
"""Seconds of a lock that must be left for a request to start."""

LAST = 3.0
"""Seconds for each last act with the lock, past the deadline too."""

BRIEF = 1.0
"""The same, where the server has just left another act without an answer."""

_LAST_ATTEMPTS = 3
"""To give the lock back."""

PATIENCE = 20.0
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
        taken: leases.Taken,
        deadline: Deadline,
    ):
        self.instance = instance
        self._manager = objects.MANAGER + instance
        self._cluster = cluster.with_deadline(Deadline.never(deadline.clock))
        self._lease = taken.lease
        self._us = leases.holder(taken.lease)
        self._deadline = deadline
        self._clock = deadline.clock
        self._renewed = self._clock() - taken.seconds
        self._limit = _attempt(taken.seconds)
        # When attempts began that got no answer, by the time they wrote.
        self._unanswered: dict[str, float] = {}
        self._why = ""
        self._refusal: errors.Unauthenticated | None = None
        self._erased = False
        self._ended = False
        self._silent = False
        # The thread waits for its turn, and who is about to write for it.
        self._turn = threading.Event()
        self._tried = threading.Condition()
        self._thread = threading.Thread(
            # With the context of who locks, which a log line needs.
            target=contextvars.copy_context().run,
            args=(self._keep,),
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
        if self._why:
            raise errors.LockLost(self.instance, self._why)
        refusal = self._refusal
        if refusal and self._clock() > self._renewed + leases.TERM:
            # Not the same error: who catches it adds to it.
            raise dataclasses.replace(refusal)

    def require_margin(self) -> None:
        """Raise LockLost unless enough of the lock is left for a request.

        If the lock could not be renewed, wait briefly for the next renewal:
        the server may have just recovered.
        """
        if not self._enough:
            self._hurry(self._deadline.at_most(PATIENCE).remaining)
        self.check()
        if not self._enough:
            age = self._clock() - self._renewed
            raise errors.LockLost(
                self.instance, f"not renewed for {age:.0f} s"
            )

    def verify_held(self) -> None:
        """Raise LockLost if another holder is known to have the lock.

        For an error that may only be the effect of another operation.
        """
        if not self._enough:
            self._hurry(LAST)
        if self._why:
            raise errors.LockLost(self.instance, self._why)

    def _hurry(self, seconds: float) -> None:
        """Have it renewed now, and wait for what comes of that."""
        self._refusal = None
        self._turn.set()
        with self._tried:
            self._tried.wait_for(
                lambda: self._enough or self._why or self._refusal, seconds
            )

    @property
    def final_seconds(self) -> float:
        """Seconds for a last act: less if the server answers nothing."""
        return LAST if self._enough and not self._silent else BRIEF

    def mark_unreachable(self) -> None:
        """Let the last acts be brief: the server answers nothing."""
        self._silent = True

    def start(self) -> None:
        self._thread.start()

    def delete_on_release(self) -> None:
        """Let the Lease go with the lock: the instance is no more."""
        self._erased = True

    def release(self) -> None:
        """Give the lock back."""
        self._ended = True
        self._turn.set()
        # A renewal without an answer continues in its thread: it finds a Lease
        # with another holder, and ends.
        self._thread.join(
            max(self.final_seconds, min(ATTEMPT, self._deadline.remaining))
        )
        if self._why:
            return
        seconds = max(
            self.final_seconds, min(leases.TERM, self._deadline.remaining)
        )
        end = Deadline.after(seconds, self._clock)
        for attempt in range(_LAST_ATTEMPTS):
            # Another server may answer the next one, as for a renewal.
            limit = self._limit if attempt < _LAST_ATTEMPTS - 1 else ATTEMPT
            try:
                self._last_act(self._cluster.with_deadline(end.at_most(limit)))
            except errors.Error as error:
                why = error
                if isinstance(error, (errors.Unavailable, errors.Unreachable)):
                    continue
            else:
                return
            break
        LOG.warning("%s: the lock was not given back: %s", self.instance, why)

    def _last_act(self, cluster: Cluster) -> None:
        try:
            self._give_back(cluster, self._lease)
        except errors.Conflict:
            # Perhaps by a renewal of this process whose answer was lost.
            lease = cluster.get(ObjectRef.of(self._lease))
            if lease and leases.holder(lease) == self._us:
                self._give_back(cluster, lease)

    def _give_back(self, cluster: Cluster, lease: Manifest) -> None:
        if self._erased:
            cluster.delete(ObjectRef.of(lease), objects.uid(lease))
        else:
            cluster.replace(leases.renewed(lease, ""), self._manager)

    @property
    def _enough(self) -> bool:
        left = self._renewed + leases.TERM - self._clock()
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
                self._refusal = None
            except errors.Error as error:
                LOG.warning("%s: not renewed: %s", self.instance, error)
                pause = RETRY
                if isinstance(error, errors.Unauthenticated):
                    self._refusal = error
            with self._tried:
                self._tried.notify_all()

    def _renew(self) -> bool:
        """Whether it is done; if not, there is something new to try."""
        begun = self._clock()
        brief = self._cluster.with_deadline(
            Deadline.after(self._limit, self._clock)
        )
        new = leases.renewed(self._lease, self._us)
        try:
            self._lease = brief.replace(new, self._manager)
        except errors.Conflict:
            return self._seen(brief, begun)
        except (errors.Unavailable, errors.Unreachable):
            self._unanswered[leases.renewed_at(new)] = begun
            self._limit = min(ATTEMPT, 2 * self._limit)
            raise
        self._answered(begun)
        self._limit = _attempt(self._clock() - begun)
        return True

    def _answered(self, begun: float) -> None:
        self._renewed = begun
        self._unanswered.clear()

    def _seen(self, cluster: Cluster, begun: float) -> bool:
        """Find out what became of the Lease since we last saw it."""
        ref = ObjectRef.of(self._lease)
        lease = cluster.get(ref)
        if lease is not None:
            holder = leases.holder(lease)
            if holder != self._us:
                self._why = f"it is held by {holder or 'another holder'}"
                return False
            self._lease = lease
            # By an attempt of this process whose answer was lost.
            renewed = self._unanswered.get(leases.renewed_at(lease))
            if renewed is None:
                return False
            self._answered(renewed)
            return True
        if begun > self._renewed + leases.TERM:
            # Who took it may have ended the instance, and the Lease.
            self._why = "its Lease is gone"
            return False
        if self._ended:
            return False
        new = leases.new_lease(ref, self.instance, self._us)
        try:
            self._lease = cluster.create(new, self._manager)
        except errors.Conflict:
            return False
        except (
            errors.DependencyMissing,
            errors.Rejected,
            errors.Forbidden,
        ) as error:
            self._why = f"its Lease is gone: {error}"
            return False
        self._answered(begun)
        return True


def _attempt(seconds: float) -> float:
    """Return the limit for an attempt where the last took so long."""
    return min(ATTEMPT, max(QUICK, 3 * seconds))


class LockDeadline(Deadline):
    """A deadline that raises LockLost where the lock is no more."""

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
    taken = leases.acquire(cluster, instance, namespace, deadline)
    lock = LeaseLock(cluster, instance, taken, deadline)
    lock.start()
    try:
        yield lock
    finally:
        lock.release()
